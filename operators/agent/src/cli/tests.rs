//! Command lines, right and wrong.

use super::*;
use crate::postgres::version::Version;

const MEMBER: &str = "--name c-0 --peer-url http://c-0.c:2380 --data-dir /data";

fn parsed(line: &str) -> Result<Command, String> {
    parse(std::iter::once("agent").chain(line.split_whitespace()).map(OsString::from))
}

fn refusal(line: &str) -> String {
    parsed(line).unwrap_err()
}

#[test]
fn reads_a_wait() {
    let line = format!("etcd-wait {MEMBER} --expect=join --peers-url http://c:2380 --dns-timeout 5 --install /agent");
    let Ok(Command::EtcdWait(options)) = parsed(&line) else { panic!() };
    assert_eq!(options.member.subject().name, "c-0");
    assert_eq!(options.member.expect, Expect::Join);
    assert_eq!(options.member.peers_url.unwrap().host, "c");
    assert_eq!(options.dns_timeout, Some(Duration::from_secs(5)));
    assert_eq!(options.install, Some("/agent".into()));
}

#[test]
fn no_dns_timeout_is_for_ever() {
    for flag in ["", "--dns-timeout 0"] {
        let Ok(Command::EtcdWait(options)) = parsed(&format!("etcd-wait {MEMBER} --expect new {flag}")) else {
            panic!()
        };
        assert_eq!(options.dns_timeout, None);
    }
}

#[test]
fn what_follows_the_dashes_is_etcds() {
    let line = format!("etcd-run {MEMBER} --expect data --state /state -- etcd --name=x --help -- y");
    let Ok(Command::EtcdRun(options)) = parsed(&line) else { panic!() };
    assert_eq!(options.command, ["etcd", "--name=x", "--help", "--", "y"]);
    assert_eq!((options.state, options.limits), (PathBuf::from("/state"), Planned::default()));
    let limits = "--reserve 1000 --quota=2000 --snapshot-count 3 --state";
    let Ok(Command::EtcdRun(options)) = parsed(&line.replace("--state", limits)) else { panic!() };
    let planned = Planned { reserve: Some(1000), quota: Some(2000), snapshot_count: Some(3) };
    assert_eq!((options.limits, options.volume_port), (planned, None));
    let Ok(Command::EtcdRun(options)) = parsed(&line.replace("--state", "--volume-port=7 --state")) else { panic!() };
    assert_eq!(options.volume_port, Some(7));
    assert!(refusal(&line.replace("--state", "--quota much --state")).contains("--quota much: "));
}

#[test]
fn reads_what_a_keeper_is_told() {
    let Ok(Command::EtcdKeep(keep)) = parsed("etcd-keep --data-dir /v/data --reserve=5 --beside 1") else { panic!() };
    assert_eq!(keep, Keep { data_dir: "/v/data".into(), reserve: 5, beside: 1, release: false, volume_port: None });
    let line = "etcd-keep --data-dir /d --reserve=5 --beside 1 --release";
    assert!(matches!(parsed(line), Ok(Command::EtcdKeep(keep)) if keep.release));
    let line = "etcd-keep --data-dir /d --reserve=5 --beside 1 --volume-port 2382";
    assert!(matches!(parsed(line), Ok(Command::EtcdKeep(keep)) if keep.volume_port == Some(2382)));
    for (line, why) in [
        ("etcd-keep --reserve 5 --beside 1", "--data-dir is missing"),
        ("etcd-keep --data-dir /d --beside 1", "--reserve is missing"),
        ("etcd-keep --data-dir /d --reserve 5", "--beside is missing"),
        ("etcd-keep --data-dir /d --reserve 5 --beside me", "--beside me: "),
    ] {
        assert!(refusal(line).contains(why), "{line}");
    }
}

#[test]
fn each_verb_has_help() {
    for line in
        ["--help", "-h", "install --help", "etcd-wait -h", "etcd-wait --help", "etcd-run --help", "etcd-keep --help"]
    {
        assert!(matches!(parsed(line), Ok(Command::Say(text)) if text.contains("Usage: agent")), "{line}");
    }
    assert!(matches!(parsed("--version"), Ok(Command::Say(text)) if text.starts_with("agent ")));
}

#[test]
fn each_verb_about_postgres_has_help() {
    for verb in ["prepare", "run", "dump", "basebackup", "verify", "restore", "init", "prune", "upgrade", "finish"] {
        for flag in ["--help", "-h"] {
            let said = parsed(&format!("pg-{verb} {flag}"));
            assert!(
                matches!(said, Ok(Command::Say(text)) if text.contains(&format!("Usage: agent pg-{verb} "))),
                "{verb}"
            );
        }
    }
}

fn verb(line: &str) -> Verb {
    let Ok(Command::Postgres(verb)) = parsed(line) else { panic!("{line}") };
    verb
}

#[test]
fn reads_what_postgres_verbs_are_told() {
    let Verb::Prepare(prepare) = verb("pg-prepare --pgdata /v/d --major 15 --configuration /c --initialise --owner u")
    else {
        panic!()
    };
    assert!(prepare.initialise && prepare.access.is_none() && prepare.from.is_none());
    let Verb::Init(init) = verb("pg-init --database d --owner o --secret-sql a --sql b --secret-sql c") else {
        panic!()
    };
    let files: Vec<_> = init.files.iter().map(|file| (file.path.to_str().unwrap(), file.secret)).collect();
    assert_eq!((files.as_slice(), init.ledger_key.as_str()), (&[("a", true), ("b", false), ("c", true)][..], "init"));
    let Verb::Dump(dump) = verb("pg-dump --to /s/n --database a --database b --offline /d --parameter jit=on") else {
        panic!()
    };
    assert_eq!((dump.databases.len(), dump.jobs, dump.compression), (2, 1, None));
    assert_eq!(dump.offline.unwrap().parameters, [("jit".into(), "on".into())]);
    let Verb::Run(run) = verb("pg-run --pgdata /d -- -c --x=y --help") else { panic!() };
    assert_eq!((run.arguments, run.reserve), (["-c", "--x=y", "--help"].map(Into::into).to_vec(), None));
    let Verb::Run(run) = verb("pg-run --pgdata /d --reserve 5 --configuration=/c") else { panic!() };
    assert_eq!((run.reserve, run.configuration), (Some(5), Some("/c".into())));
    let line = "pg-upgrade --to 10.0.0.9 --major 17 --room 5 --from-system-identifier 7 --jobs 2 --database a";
    let Verb::Upgrade(upgrade) = verb(line) else { panic!() };
    assert_eq!((upgrade.to.as_str(), upgrade.room), ("10.0.0.9", Some(5)));
    assert_eq!((upgrade.major, upgrade.jobs, upgrade.from_system_identifier.as_deref()), (17, 2, Some("7")));
    let Verb::Finish(finish) = verb("pg-finish --major") else { panic!() };
    assert!(finish.major && finish.jobs == 1);
    assert!(matches!(verb("pg-version"), Verb::Version(Version { user: None, scratch: None, .. })));
    let Verb::Ready(ready) = verb("pg-ready --wait 3") else { panic!() };
    assert_eq!((ready.wait.as_secs(), ready.reserve), (3, None));
    let Verb::Ready(ready) = verb("pg-ready --pgdata /d --reserve 5") else { panic!() };
    assert_eq!(ready.reserve, Some(("/d".into(), 5)));
    let Verb::Prepare(prepare) = verb("pg-prepare --pgdata /v/d --major 15 --configuration /c --reset-password") else {
        panic!()
    };
    assert!(prepare.reset_password);
    let Verb::Restore(restore) = verb("pg-restore --snapshot /s/n --as other") else { panic!() };
    assert_eq!(restore.name.as_deref(), Some("other"));
}

#[test]
fn says_what_is_wrong_with_what_postgres_verbs_are_told() {
    for (line, why) in [
        ("pg-prepare --pgdata /d --configuration /c", "--major is missing"),
        ("pg-prepare --pgdata /d --pgdata /e", "--pgdata is given twice"),
        ("pg-prepare --pgdata /d --configuration /c --major 15 --access open --closed", "--access open: it must be"),
        ("pg-dump --to s/n", "--to s/n: it must be /folder/name"),
        ("pg-dump --to /s/n.partial", "it must be /folder/name"),
        ("pg-dump --to /s/..", "it must be /folder/name"),
        ("pg-dump --to /s/n --jobs 0", "--jobs must be 1 or more"),
        ("pg-dump --to /s/n --compression 10", "--compression must be 0 to 9"),
        ("pg-dump --to /s/n --offline /d --parameter x", "--parameter: it must be name=value"),
        ("pg-verify --snapshot /s/n", "needs --scratch"),
        ("pg-init --database d", "--owner is missing"),
        ("pg-upgrade --major 17", "--to is missing"),
        ("pg-upgrade --to 10.0.0.9", "--major is missing"),
        ("pg-finish --all", "there is no flag --all"),
        ("pg-run -- -c", "--pgdata is missing"),
        ("pg-prune --dir /s --color", "there is no flag --color"),
    ] {
        let refused = refusal(line);
        assert!(refused.contains(why), "{line}: {refused}");
    }
}

#[test]
fn says_what_is_wrong_with_a_command_line() {
    let wait = |more: &str| refusal(&format!("etcd-wait {MEMBER} {more}"));
    assert_eq!(refusal(""), "agent: there is no verb; agent --help lists them");
    assert_eq!(refusal("etcd-walk"), "agent: there is no verb etcd-walk; agent --help lists them");
    assert_eq!(
        wait("--expect new --wait"),
        "agent etcd-wait: there is no flag --wait; agent etcd-wait --help lists its flags"
    );
    assert!(wait("--expect= extra").contains("extra"), "it says nothing: a member that has been in use");
    assert!(wait("--expect old").contains("--expect old: it must be new, join or data"));
    assert!(wait("--expect join").contains("--expect join needs --peers-url"));
    assert!(wait("").contains("--expect is missing"));
    assert!(wait("--expect new --dns-timeout soon").contains("--dns-timeout soon: "));
    assert!(wait("--expect new --peer-url https://c:1").contains("TLS is not supported yet"));
    assert!(wait("--expect new extra").contains("extra"));
    assert!(refusal("etcd-wait --expect new").contains("--name is missing"));
    assert!(refusal(&format!("etcd-run {MEMBER} --expect new -- etcd")).contains("--state is missing"));
    assert!(refusal(&format!("etcd-run {MEMBER} --expect new --state /s")).contains("there is no command after --"));
    assert!(refusal("install").contains("there is no directory"));
    assert!(refusal("install a b").contains('b'));
}
