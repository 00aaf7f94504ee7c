//! The argv of each command, as the operators of all releases so far have rendered it.

#![expect(clippy::unwrap_used, reason = "a test fails where it is surprised")]

use std::path::PathBuf;

use agent_protocol::{
    AccessRules, AgentCommand, BucketArgs, Command, EtcdKeep, EtcdRun, EtcdWait, Expect, Install, Jobs, MemberArgs,
    Offline, PgBasebackup, PgDownload, PgDump, PgFinish, PgInit, PgPrepare, PgPrune, PgReady, PgRestore, PgRun,
    PgSurvey, PgUpgrade, PgUpload, PgVerify, PgVersion, Seconds, SqlFile, SqlFiles, VerificationMode,
};
use std::time::Duration;

/// A command renders this argv, and this argv is that command.
#[track_caller]
fn is<C: AgentCommand>(of: fn(C) -> Command, command: C, line: &str) {
    let argv = command.argv();
    assert_eq!(argv.join(" "), line);
    assert_eq!(argv, line.split(' ').collect::<Vec<_>>());
    let parsed = Command::parse(std::iter::once("agent").chain(line.split(' '))).unwrap();
    assert_eq!(parsed, of(command));
}

fn some(text: &str) -> Option<String> {
    Some(text.to_owned())
}

fn path(text: &str) -> Option<PathBuf> {
    Some(text.into())
}

fn member(expect: Expect) -> MemberArgs {
    MemberArgs {
        name: "web-1".into(),
        peer_url: "http://web-1.web.shop.svc:2380".into(),
        peers_url: some("http://web.shop.svc:2380"),
        earlier_peers: Vec::new(),
        data_dir: "/var/etcd/data".into(),
        expect,
        peer_tls: None,
    }
}

const MEMBER: &str = "--name=web-1 --peer-url=http://web-1.web.shop.svc:2380 --peers-url=http://web.shop.svc:2380 --data-dir=/var/etcd/data";

#[test]
fn install() {
    is(
        Command::Install,
        Install { directory: "/multi-operator".into(), passwd: path("/multi-operator/passwd") },
        "install /multi-operator --passwd /multi-operator/passwd",
    );
}

#[test]
fn etcd() {
    let wait = |expect| EtcdWait {
        install: path("/multi-operator"),
        member: member(expect),
        dns_timeout: Seconds(Duration::from_secs(120)),
    };
    for (expect, text) in
        [(Expect::Join, "join"), (Expect::Data, "data"), (Expect::Variable, "$(MULTI_OPERATOR_START)")]
    {
        let line = format!("etcd-wait --install /multi-operator {MEMBER} --expect={text} --dns-timeout=120");
        is(Command::EtcdWait, wait(expect), &line);
    }
    let command = ["/usr/local/bin/etcd", "--name=web-1", "--", "--help"].map(str::to_owned).to_vec();
    let run = EtcdRun { state: "/multi-operator".into(), member: member(Expect::New), command, ..EtcdRun::default() };
    let etcd = "-- /usr/local/bin/etcd --name=web-1 -- --help";
    let line = format!("etcd-run --state /multi-operator {MEMBER} --expect=new {etcd}");
    is(Command::EtcdRun, run.clone(), &line);
    let limits = "--reserve=33554432 --volume-port=2382 --quota=285212672 --snapshot-count=213";
    let limited = EtcdRun {
        reserve: Some(33_554_432),
        volume_port: Some(2382),
        quota: Some(285_212_672),
        snapshot_count: Some(213),
        ..run
    };
    let line = format!("etcd-run --state /multi-operator {MEMBER} --expect=new {limits} {etcd}");
    is(Command::EtcdRun, limited, &line);
    let keep = EtcdKeep { data_dir: "/v/data".into(), reserve: 5, parent: 7, release: true, volume_port: Some(2382) };
    let line = "etcd-keep --data-dir /v/data --reserve=5 --beside=7 --release --volume-port=2382";
    is(Command::EtcdKeep, keep, line);
}

#[test]
fn of_a_server() {
    let prepare = PgPrepare {
        data: "/var/lib/postgresql/data/pgdata".into(),
        configuration: "/etc/sampledb".into(),
        major: 17,
        owner: some("u-1"),
        ..PgPrepare::default()
    };
    let line =
        "pg-prepare --pgdata /var/lib/postgresql/data/pgdata --configuration /etc/sampledb --major=17 --owner=u-1";
    let known = PgPrepare { system_identifier: some("7"), reset_password: true, ..prepare.clone() };
    is(Command::PgPrepare, known, &format!("{line} --system-identifier=7 --reset-password"));
    let copy = PgPrepare { initialise: true, access: AccessRules::Closed, ..prepare.clone() };
    is(Command::PgPrepare, copy, &format!("{line} --initialise --access=closed"));
    let restored = PgPrepare { initialise: true, from: path("/snapshots/one"), sha256: some("ab"), ..prepare };
    is(Command::PgPrepare, restored, &format!("{line} --initialise --from=/snapshots/one --sha256=ab"));
    let run = PgRun {
        data: "/var/lib/postgresql/data/pgdata".into(),
        reserve: Some(33_554_432),
        configuration: path("/etc/sampledb"),
        ..PgRun::default()
    };
    let line = "pg-run --pgdata /var/lib/postgresql/data/pgdata --reserve=33554432 --configuration=/etc/sampledb";
    is(Command::PgRun, run, line);
    let ready = PgReady { data: path("/data"), reserve: Some(5), ..PgReady::default() };
    is(Command::PgReady, ready.clone(), "pg-ready --pgdata /data --reserve=5");
    let ready = PgReady { wait: Seconds(Duration::from_secs(3)), ..ready };
    is(Command::PgReady, ready, "pg-ready --pgdata /data --reserve=5 --wait=3");
    let trial = PgVersion { scratch: path("/tmp"), user: Some(999), ..PgVersion::default() };
    is(Command::PgVersion, trial, "pg-version --start-in=/tmp --as-user=999");
    is(Command::PgVersion, PgVersion::default(), "pg-version");
}

#[test]
fn of_a_database() {
    let file = |path: &str, secret| SqlFile { path: path.into(), secret };
    let init = PgInit {
        database: "app".into(),
        owner: "app".into(),
        sql: SqlFiles(vec![
            file("/sql/0/init.sql", true),
            file("/sql/1/init.sql", false),
            file("/sql/2/init.sql", true),
        ]),
        ..PgInit::default()
    };
    let files = "--secret-sql=/sql/0/init.sql --sql=/sql/1/init.sql --secret-sql=/sql/2/init.sql";
    is(Command::PgInit, init, &format!("pg-init --database=app --owner=app {files}"));
}

#[test]
fn of_a_snapshot() {
    let dump = PgDump { to: "/snapshots/one".into(), ..PgDump::default() };
    is(Command::PgDump, dump.clone(), "pg-dump --to=/snapshots/one");
    let offline = Offline { data: "/data".into(), system_identifier: some("7"), ..Offline::default() };
    let dump = PgDump { offline: Some(offline), ..dump };
    is(Command::PgDump, dump, "pg-dump --to=/snapshots/one --offline=/data --system-identifier=7");
    let base = PgBasebackup { to: "/snapshots/one".into(), ..PgBasebackup::default() };
    is(Command::PgBasebackup, base, "pg-basebackup --to=/snapshots/one");
    let verify = PgVerify {
        snapshot: "/snapshots/one".into(),
        mode: VerificationMode::Checksum,
        scratch: path("/scratch"),
        sha256: some("ab"),
        ..PgVerify::default()
    };
    let line = "pg-verify --snapshot=/snapshots/one --mode=checksum --scratch=/scratch --sha256=ab";
    is(Command::PgVerify, verify.clone(), line);
    let restore = PgVerify { mode: VerificationMode::Restore, checks: path("/checks/checks.json"), ..verify };
    let line = "pg-verify --snapshot=/snapshots/one --mode=restore --scratch=/scratch --sha256=ab --checks=/checks/checks.json";
    is(Command::PgVerify, restore, line);
    let restore = PgRestore { snapshot: "/snapshots/one".into(), sha256: some("ab"), ..PgRestore::default() };
    is(Command::PgRestore, restore, "pg-restore --snapshot=/snapshots/one --sha256=ab");
    let prune = PgPrune { directory: "/snapshots".into(), names: vec!["one".into()], ..PgPrune::default() };
    is(Command::PgPrune, prune, "pg-prune --dir=/snapshots --name=one");
}

#[test]
fn copies_in_a_store() {
    let bucket = || BucketArgs {
        bucket: some("b/shop"),
        bucket_credentials: path("/bucket/credentials"),
        ..BucketArgs::default()
    };
    let upload = PgUpload {
        snapshot: "/snapshots/one".into(),
        sha256: some("ab"),
        bucket: bucket(),
        owner: "u-2".into(),
        earlier_owners: vec!["u-1".into()],
        owner_name: "n/shop".into(),
        database: "app".into(),
        verified: true,
    };
    is(
        Command::PgUpload,
        upload,
        "pg-upload --snapshot=/snapshots/one --sha256=ab --bucket=b/shop --bucket-credentials=/bucket/credentials --owner=u-2 \
         --earlier-owner=u-1 --owner-name=n/shop --database=app --verified",
    );
    let download = PgDownload { to: "/snapshots/one".into(), bucket: bucket() };
    is(
        Command::PgDownload,
        download,
        "pg-download --to=/snapshots/one --bucket=b/shop --bucket-credentials=/bucket/credentials",
    );
    let prune =
        PgPrune { directory: "/snapshots".into(), names: vec!["one".into()], bucket: bucket(), ..PgPrune::default() };
    is(
        Command::PgPrune,
        prune,
        "pg-prune --dir=/snapshots --name=one --bucket=b/shop --bucket-credentials=/bucket/credentials",
    );
}

#[test]
fn of_an_upgrade() {
    is(Command::PgSurvey, PgSurvey::default(), "pg-survey");
    let upgrade = PgUpgrade {
        to: "10.0.0.9".into(),
        major: 17,
        database: some("app"),
        jobs: Jobs(2),
        room: Some(5),
        from_system_identifier: some("7"),
        ..PgUpgrade::default()
    };
    let line = "pg-upgrade --to=10.0.0.9 --major=17 --database=app --jobs=2 --room=5 --from-system-identifier=7";
    is(Command::PgUpgrade, upgrade, line);
    is(Command::PgFinish, PgFinish::default(), "pg-finish");
    is(Command::PgFinish, PgFinish { major: true, ..PgFinish::default() }, "pg-finish --major");
}

#[test]
fn the_owner_is_found_in_any_argv() {
    assert_eq!(PgPrepare::owner_in(["pg-prepare", "--of-tomorrow", "--owner=u-1"]), Some("u-1"));
    assert_eq!(PgPrepare::owner_in(["pg-prepare"]), None);
}
