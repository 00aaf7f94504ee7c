//! Thirty random databases in one SampleDB: the same after a verified snapshot and its restore, and after an upgrade from 15 to 17.

use std::process::{Command, Output, Stdio};
use std::time::Duration;

use api::ConditionStatus::True;
use api::sample_db::{SampleDB, SampleDBStatus, UpgradeResult};
use api::sample_db_snapshot::{SampleDBSnapshot, SampleDBSnapshotStatus, SnapshotPhase, VerificationPhase};
use e2e::namespace::Namespace;
use e2e::objects::{ManagedKind, serves};
use e2e::sample_db::{Database, namespace};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::Pod;
use random_databases::{Dice, Server, allow_connections, closed, contents, difference, make, make_roles};
use serde_json::json;

const DATABASES: usize = 30;
/// How long a snapshot, a restore or an upgrade of so many may take.
const DATABASE_TIMEOUT: Duration = Duration::from_secs(20 * 60);
const READER: &str = "reader";

/// Runs programs of the newer version: what they write of both servers can be compared.
async fn start_reader(ns: &Namespace) {
    let pod = json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": { "name": READER },
        "spec": {
            "terminationGracePeriodSeconds": 0,
            "automountServiceAccountToken": false,
            "securityContext": {
                "runAsNonRoot": true, "runAsUser": 999, "runAsGroup": 999, "seccompProfile": { "type": "RuntimeDefault" },
            },
            "containers": [{
                "name": "shell", "image": "docker.io/library/postgres:17.12", "command": ["sleep", "infinity"],
                "securityContext": { "allowPrivilegeEscalation": false, "capabilities": { "drop": ["ALL"] } },
            }],
        },
    });
    ns.apply(&pod.to_string()).await;
    ns.until::<Pod, ()>(READER, "a pod that reads", |pod| pod.is_some_and(serves).then_some(())).await;
}

/// The server of a SampleDB, as the superuser reaches it from the reader.
struct Source<'a> {
    ns: &'a Namespace,
    host: String,
    password: String,
}

impl<'a> Source<'a> {
    async fn of(db: Database<'a>) -> Self {
        // The Service leads to a new server a moment after the status says so.
        db.ns.eventually("the superuser to get in", || db.try_superuser_asks("select 1")).await;
        Self { ns: db.ns, host: format!("{}-rw", db.name), password: db.secret("system", "password").await }
    }

    fn run(&self, program: &str, options: &[&str], database: &str) -> Command {
        let quoted = database.replace('\\', "\\\\").replace('\'', "\\'");
        let (host, password) = (&self.host, &self.password);
        let mut command = Command::new("kubectl");
        command.args(["--namespace", &self.ns.name, "exec", READER, "--", program]).args(options).arg(format!(
            "--dbname=host={host} user=postgres password={password} connect_timeout=30 options='-c statement_timeout=0' \
             dbname='{quoted}'"
        ));
        command.stdin(Stdio::null());
        command
    }
}

impl Server for Source<'_> {
    fn psql(&self, database: &str, texts: &[String]) -> Output {
        let mut psql = self.run("psql", &["--no-psqlrc", "--quiet", "--no-align", "--tuples-only"], database);
        psql.args(texts.iter().map(|text| format!("--command={text}"))).output().expect("kubectl can be run")
    }

    fn pg_dump(&self, database: &str, options: &[&str]) -> Output {
        self.run("pg_dump", options, database).output().expect("kubectl can be run")
    }
}

/// Waits until a snapshot is verified, or is found to be of no use.
async fn verified(db: Database<'_>, name: &str) -> SampleDBSnapshotStatus {
    db.order(name, "").await;
    let judged = |snapshot: Option<&SampleDBSnapshot>| {
        let status = snapshot?.status.as_ref()?;
        let over = matches!(status.verification.phase, Some(VerificationPhase::Passed | VerificationPhase::Failed));
        (over || status.phase == Some(SnapshotPhase::Failed)).then(|| status.clone())
    };
    let status = db.ns.until_within(DATABASE_TIMEOUT, name, "a snapshot that is verified", judged).await;
    assert_eq!(status.verification.phase, Some(VerificationPhase::Passed), "{status:#?}");
    assert!(status.not_covered.is_empty(), "nothing of this is left out: {:?}", status.not_covered);
    status
}

/// Waits until an upgrade has ended that began at another time than the one before.
async fn ended(db: Database<'_>, before: Option<Timestamp>) -> SampleDBStatus {
    let over = |db: Option<&SampleDB>| {
        let status = db?.status.as_ref()?;
        let upgrade = &status.upgrade;
        let of_now = upgrade.started_at.is_some() && upgrade.started_at != before;
        (of_now && upgrade.step.is_none() && upgrade.result.is_some()).then(|| status.clone())
    };
    db.ns.until_within(DATABASE_TIMEOUT, db.name, "an upgrade that has ended", over).await
}

/// Databases that take no connections are named, and refused: they are opened as the message says, and closed again later.
async fn upgraded(db: Database<'_>, source: &Source<'_>) {
    let closed = closed(source);
    db.patch(json!({ "engine": { "version": "17" } })).await;
    let mut status = ended(db, None).await;
    if !closed.is_empty() {
        let message = status.upgrade.message.clone().unwrap_or_default();
        println!("{} databases take no connections: {message}", closed.len());
        assert_eq!(status.upgrade.result, Some(UpgradeResult::RolledBack), "{message}");
        assert!(message.contains("accepts no connections"), "{message}");
        let named = |name: &String| message.contains(&name.replace('"', "\"\""));
        assert!(closed.iter().any(named), "{message} names one of {closed:?}");
        closed.iter().for_each(|name| allow_connections(source, name, true));
        // It is tried again once the spec has another generation.
        db.patch(json!({ "upgrade": { "keepPreviousVolumeFor": "25h" } })).await;
        status = ended(db, status.upgrade.started_at).await;
    }
    assert_eq!(status.upgrade.result, Some(UpgradeResult::Completed), "{:#?}", status.upgrade);
    assert!(status.upgrade.not_covered.is_empty(), "nothing is left behind: {:?}", status.upgrade.not_covered);
    println!("{}", status.upgrade.message.unwrap_or_default());
    db.serves().await;
    let now = Source::of(db).await;
    assert!(now.sql("postgres", "SHOW server_version").starts_with("17."));
    closed.iter().for_each(|name| allow_connections(&now, name, false));
}

/// Waits until a SampleDB is filled and serves, or says why it never will.
async fn restored(db: Database<'_>) {
    let over = |db: Option<&SampleDB>| {
        let stalled = db?.condition("Stalled").filter(|stalled| stalled.status == True);
        match stalled {
            Some(stalled) => Some(Err(format!("{}: {}", stalled.reason, stalled.message))),
            None => db?.is_ready().then_some(Ok(())),
        }
    };
    let outcome = db.ns.until_within(DATABASE_TIMEOUT, db.name, "a database that was restored", over).await;
    outcome.unwrap_or_else(|why| panic!("{} is not restored: {why}", db.name));
}

#[tokio::test]
#[ignore = "scripts/test --all long: thirty databases, each read four times, dumped, restored and copied"]
async fn thirty_random_databases_stay_what_they_are() {
    let (ns, mut dice) = (namespace("sdb-random").await, Dice::new(seed::rng!()));
    let small = "storage: {size: 4Gi}, backup: {immediate: false}";
    let spec = format!("{{engine: {{version: '15'}}, {small}, upgrade: {{snapshotBefore: false}}}}");
    let db = Database::apply(&ns, "shop", &spec).await;
    start_reader(&ns).await;
    db.serves().await;
    let source = Source::of(db).await;
    make_roles(&source);
    let stories: Vec<String> = (0..DATABASES).map(|number| make(&source, &mut dice, number)).collect();
    let before = contents(&source);
    println!("created: {}", before.totals);
    // In addition to the random ones, there are the application's and the server's own.
    assert_eq!(before.totals.databases, DATABASES + 2);

    let snapshot = verified(db, "whole").await;
    let (tables, rows) = (snapshot.verification.tables, snapshot.verification.rows);
    println!("verified: {tables:?} tables, {rows:?} rows, {:?}", snapshot.size);
    assert_eq!(difference(&before, &contents(&source), &stories), None, "a snapshot changes nothing");

    upgraded(db, &source).await;
    let after = contents(&Source::of(db).await);
    println!("upgraded from 15 to 17: {}", after.totals);
    assert_eq!(difference(&before, &after, &stories), None, "after the upgrade");

    let from = format!("{{engine: {{version: '15'}}, {small}, bootstrap: {{fromSnapshot: {{name: whole}}}}}}");
    let again = Database::apply(&ns, "again", &from).await;
    restored(again).await;
    let after = contents(&Source::of(again).await);
    println!("restored into another 15: {}", after.totals);
    assert_eq!(difference(&before, &after, &stories), None, "after the restore");
}
