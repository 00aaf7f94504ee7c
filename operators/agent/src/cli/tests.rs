//! Command lines, right and wrong.

use agent_protocol::{EtcdKeep, VerificationMode};

use super::*;

const MEMBER: &str = "--name c-0 --peer-url http://c-0.c:2380 --data-dir /data";

fn parsed(line: &str) -> Result<Command, clap::Error> {
    Command::parse(std::iter::once("agent").chain(line.split_whitespace()))
}

/// What is wrong with a command line, in the line that the agent prints.
fn refusal(line: &str) -> String {
    let exit = match parsed(line) {
        Ok(Command::EtcdWait(options)) => WaitOptions::new(options).unwrap_err(),
        Ok(Command::EtcdRun(options)) => RunOptions::new(options).unwrap_err(),
        Ok(command) => panic!("{line}: {command:?}"),
        Err(error) => CliExit::Arguments(error),
    };
    let CliExit::Arguments(error) = exit else { panic!("{exit:?}") };
    let text = sentence(&error, line.split_whitespace().next());
    assert!(error.use_stderr() && !text.contains('\n'), "{text}");
    text
}

fn wait(line: &str) -> WaitOptions {
    let Ok(Command::EtcdWait(options)) = parsed(line) else { panic!("{line}") };
    WaitOptions::new(options).unwrap()
}

fn run(line: &str) -> RunOptions {
    let Ok(Command::EtcdRun(options)) = parsed(line) else { panic!("{line}") };
    RunOptions::new(options).unwrap()
}

#[test]
fn reads_a_wait() {
    let line = format!("etcd-wait {MEMBER} --expect=join --peers-url http://c:2380 --dns-timeout 5 --install /agent");
    let options = wait(&line);
    assert_eq!(options.member.identity().name, "c-0");
    assert_eq!(options.member.expect, Expect::Join);
    assert_eq!(options.member.peers_url.unwrap().host, "c");
    assert_eq!(options.dns_timeout, Some(Duration::from_secs(5)));
    assert_eq!(options.install, Some("/agent".into()));
}

#[test]
fn no_dns_timeout_is_for_ever() {
    for flag in ["", "--dns-timeout 0"] {
        assert_eq!(wait(&format!("etcd-wait {MEMBER} --expect new {flag}")).dns_timeout, None);
    }
}

#[test]
fn what_follows_the_dashes_is_etcds() {
    let line = format!("etcd-run {MEMBER} --expect data --state /state -- etcd --name=x --help -- y");
    let options = run(&line);
    assert_eq!(options.command, ["etcd", "--name=x", "--help", "--", "y"]);
    assert_eq!((options.state, options.limits), (PathBuf::from("/state"), VolumeLimits::default()));
    let options = run(&line.replace("--state", "--reserve 1000 --quota=2000 --snapshot-count 3 --state"));
    let planned = VolumeLimits { reserve: Some(1000), quota: Some(2000), snapshot_count: Some(3) };
    assert_eq!((options.limits, options.volume_port), (planned, None));
    assert_eq!(run(&line.replace("--state", "--volume-port=7 --state")).volume_port, Some(7));
    assert!(refusal(&line.replace("--state", "--quota much --state")).contains("'much' for '--quota"));
}

#[test]
fn reads_the_arguments_of_the_keeper() {
    let keep = EtcdKeep { data_dir: "/v/data".into(), reserve: 5, parent: 1, release: false, volume_port: None };
    for (more, keep) in [
        ("", keep.clone()),
        (" --release", EtcdKeep { release: true, ..keep.clone() }),
        (" --volume-port 2382", EtcdKeep { volume_port: Some(2382), ..keep }),
    ] {
        let line = format!("etcd-keep --data-dir /v/data --reserve=5 --beside 1{more}");
        assert_eq!(parsed(&line).unwrap(), Command::EtcdKeep(keep), "{line}");
    }
    for (line, why) in [
        ("etcd-keep --reserve 5 --beside 1", "--data-dir <DIRECTORY>"),
        ("etcd-keep --data-dir /d --beside 1", "--reserve <BYTES>"),
        ("etcd-keep --data-dir /d --reserve 5", "--beside <PID>"),
        ("etcd-keep --data-dir /d --reserve 5 --beside me", "'me' for '--beside <PID>'"),
    ] {
        assert!(refusal(line).contains(why), "{line}: {}", refusal(line));
    }
}

#[test]
fn each_command_has_help() {
    let of_postgres = [
        "prepare",
        "run",
        "ready",
        "dump",
        "basebackup",
        "verify",
        "restore",
        "init",
        "prune",
        "upgrade",
        "survey",
        "finish",
        "version",
    ];
    let commands = ["install", "etcd-wait", "etcd-run", "etcd-keep"].map(str::to_owned).into_iter();
    for command in commands.chain(of_postgres.map(|name| format!("pg-{name}"))) {
        for flag in ["--help", "-h"] {
            let help = parsed(&format!("{command} {flag}")).unwrap_err();
            let text = help.to_string();
            assert!(!help.use_stderr() && text.contains(&format!("Usage: agent {command} ")), "{text}");
        }
    }
    for line in ["--help", "-h"] {
        let help = parsed(line).unwrap_err();
        assert!(!help.use_stderr() && help.to_string().contains("Usage: agent"), "{help}");
    }
    assert!(parsed("--version").unwrap_err().to_string().starts_with("agent "));
}

#[test]
fn reads_the_arguments_of_commands_for_postgres() {
    let line = "pg-prepare --pgdata /v/d --major 15 --configuration /c --initialise --owner u --reset-password";
    let Ok(Command::PgPrepare(prepare)) = parsed(line) else { panic!() };
    assert!(prepare.initialise && prepare.from.is_none() && prepare.reset_password);
    assert_eq!((&*prepare.run, prepare.lock_timeout.as_secs()), ("/tmp".as_ref(), 30));
    let line = "pg-init --database d --owner o --secret-sql a --sql b --secret-sql c";
    let Ok(Command::PgInit(init)) = parsed(line) else { panic!() };
    let files: Vec<_> = init.sql.0.iter().map(|file| (file.path.to_str().unwrap(), file.secret)).collect();
    assert_eq!((files.as_slice(), init.ledger_key), (&[("a", true), ("b", false), ("c", true)][..], None));
    let line = "pg-dump --to /s/n --database a --database b --offline /d --parameter jit=on";
    let Ok(Command::PgDump(dump)) = parsed(line) else { panic!() };
    assert_eq!((dump.databases.len(), *dump.jobs, dump.compression), (2, 1, None));
    assert_eq!(dump.offline.unwrap().parameters, [("jit".into(), "on".into())]);
    let Ok(Command::PgRun(run)) = parsed("pg-run --pgdata /d -- -c --x=y --help") else { panic!() };
    assert_eq!((run.arguments, run.lock_timeout.as_secs()), (["-c", "--x=y", "--help"].map(Into::into).to_vec(), 60));
    let Ok(Command::PgVerify(verify)) = parsed("pg-verify --snapshot /s/n --scratch /t") else { panic!() };
    assert_eq!(verify.mode, VerificationMode::Restore);
    assert!(matches!(parsed("pg-restore --snapshot /s/n --as other"), Ok(Command::PgRestore(of)) if of.name.is_some()));
}

#[test]
fn reports_errors_in_the_arguments_of_commands_for_postgres() {
    for (line, why) in [
        ("pg-prepare --pgdata /d --configuration /c", "--major <NUMBER>"),
        ("pg-prepare --pgdata /d --pgdata /e", "--pgdata <DIRECTORY>' cannot be used multiple times"),
        ("pg-prepare --pgdata /d --configuration /c --major 15 --access open --closed", "--access open: it must be"),
        ("pg-dump --to s/n", "'s/n' for '--to <DIRECTORY/NAME>': it must be /directory/name"),
        ("pg-dump --to /s/n.partial", "it must be /directory/name"),
        ("pg-dump --to /s/..", "it must be /directory/name"),
        ("pg-dump --to /s/n --jobs 0", "it must be 1 or more"),
        ("pg-dump --to /s/n --compression 10", "10 is not in 0..=9"),
        ("pg-dump --to /s/n --offline /d --parameter x", "it must be name=value"),
        ("pg-dump --to /s/n --run-dir /r", "--offline <PGDATA>"),
        ("pg-dump --to /s/n --lock-timeout 5", "--offline <PGDATA>"),
        ("pg-verify --snapshot /s/n", "needs --scratch"),
        ("pg-init --database d", "--owner <ROLE>"),
        ("pg-upgrade --major 17", "--to <ADDRESS>"),
        ("pg-upgrade --to 10.0.0.9", "--major <NUMBER>"),
        ("pg-finish --all", "'--all'"),
        ("pg-run -- -c", "--pgdata <DIRECTORY>"),
        ("pg-prune --dir /s --color", "'--color'"),
    ] {
        let refused = refusal(line);
        assert!(refused.contains(why), "{line}: {refused}");
    }
}

#[test]
fn says_what_is_wrong_with_a_command_line() {
    let wait = |more: &str| refusal(&format!("etcd-wait {MEMBER} {more}"));
    assert_eq!(refusal(""), "agent: there is no command; agent --help lists them");
    assert!(refusal("etcd-walk").contains("'etcd-walk'"));
    assert_eq!(
        wait("--expect new --wait"),
        "agent etcd-wait: unexpected argument '--wait' found; agent --help lists the commands, and agent COMMAND --help their flags"
    );
    assert!(wait("--expect= extra").contains("extra"), "it says nothing: a member that has been in use");
    assert!(wait("--expect old").contains("it must be new, join or data"));
    assert!(wait("--expect $(MULTI_OPERATOR_START)").contains("the pod lacks that variable"));
    assert!(wait("--expect join").contains("--peers-url <URL>"));
    assert!(wait("").contains("--expect <new|join|data>"));
    assert!(wait("--expect new --dns-timeout soon").contains("'soon' for '--dns-timeout"));
    assert!(wait("--expect new --peer-url https://c:1").contains("with https, --peer-tls is required"));
    assert!(wait("--expect new extra").contains("extra"));
    assert!(refusal("etcd-wait --expect new").contains("--name <POD>"));
    assert!(refusal(&format!("etcd-run {MEMBER} --expect new -- etcd")).contains("--state <DIRECTORY>"));
    assert!(refusal(&format!("etcd-run {MEMBER} --expect new --state /s")).contains("ARGUMENT"));
    assert!(refusal("install").contains("<DIRECTORY>"));
    assert!(refusal("install a b").contains('b'));
}
