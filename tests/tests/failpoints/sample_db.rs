//! Each effect of a database's life is once the last that a manager performs: create, snapshot, upgrade, way back, delete,
//! restore. Whatever can be seen afterwards is as if none had died.

use api::sample_db::{SampleDB, SampleDBStatus, UpgradeResult};
use api::sample_db_snapshot::{SampleDBSnapshot, SnapshotReason};
use e2e::namespace::Namespace;
use e2e::sample_db::{Database, Files, UNREADABLE, Writer, namespace};
use kube::api::{DeleteParams, PropagationPolicy};
use serde_json::json;

use crate::manager::Manager;

mod left;
mod scenario;

use scenario::{Effects, dying_after_each};

/// Counts how often the initial configuration ran.
const INIT: &str = "create table if not exists ran (n serial primary key); insert into ran default values;";
const FILL: &str = "create table notes as select a, md5(a::text) b from generate_series(1, 2000) a";
const SUM: &str = "select count(*), md5(string_agg(a::text || b, ',' order by a)) from notes";
const RAN: &str = "select count(*) from ran";

/// Waits until an upgrade has ended; returns the status.
async fn ended(db: Database<'_>, to: &str, result: UpgradeResult) -> SampleDBStatus {
    let over = |db: Option<&SampleDB>| {
        let status = db?.status.as_ref()?;
        let to = status.upgrade.to.as_deref().is_some_and(|of| of.starts_with(to));
        (to && status.upgrade.step.is_none() && status.upgrade.result == Some(result)).then(|| status.clone())
    };
    db.ns.until::<SampleDB, _>(db.name, &format!("an upgrade to {to} that ends {result:?}"), over).await
}

/// All that is applied for a database of that name before its server starts, and after.
fn ground(of: Effects<'_>, name: &str) -> Vec<String> {
    vec![
        of.apply("SampleDB", name),
        of.act("CreateSecret(System)"),
        of.act("CreateSecret(App)"),
        of.apply("PersistentVolumeClaim", &format!("data-{name}-0")),
        of.apply("ConfigMap", &format!("{name}-configuration")),
        of.apply("ConfigMap", &format!("{name}-connection")),
        of.apply("Service", &format!("{name}-pods")),
        of.apply("Service", &format!("{name}-rw")),
        of.apply("StatefulSet", name),
        of.apply("PersistentVolumeClaim", &format!("{name}-snapshots")),
    ]
}

#[tokio::test]
async fn a_life() {
    let mut ns = namespace("failpoints-sdb").await;
    ns.be_alone().await;
    let (of, manager) = (Effects(&ns.name), Manager::new(&ns.client));
    let script = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "sql" }, "data": { "once.sql": INIT },
    });
    ns.apply(&script.to_string()).await;
    let db = Database { ns: &ns, name: "shop" };

    println!("create");
    let mut effects = ground(of, "shop");
    effects.extend([of.create("Job", "shop-init"), of.delete("Job", "shop-init")]);
    let spec = "{engine: {version: '15.18'}, backup: {immediate: false}, \
                init: {sqlFrom: [{configMapKeyRef: {name: sql, key: once.sql}}]}}";
    let create = async {
        Database::apply(&ns, "shop", spec).await;
    };
    dying_after_each((&ns, &manager), &effects, create, db.serves()).await;
    left::claims_alone(&ns, &["data-shop-0", "shop-snapshots"]).await;
    assert_eq!(db.asks(RAN).await, "1", "what initialises it runs once");
    db.asks(FILL).await;
    let sum = db.asks(SUM).await;

    println!("a snapshot on demand");
    let effects = [
        of.apply("SampleDBSnapshot", "by-hand"),
        of.create("Job", "by-hand-backup"),
        of.create("Job", "by-hand-verify"),
        of.delete("Job", "by-hand-backup"),
        of.delete("Job", "by-hand-verify"),
    ];
    dying_after_each((&ns, &manager), &effects, db.order("by-hand", ""), db.verified("by-hand")).await;
    left::claims_alone(&ns, &["data-shop-0", "shop-snapshots"]).await;
    assert_eq!(left::verified(&ns, "shop", SnapshotReason::Manual).await, ["by-hand"]);

    let writer = Writer::start(db).await;
    minor(&manager, db).await;
    writer.writes(5).await;
    let (rows, pause) = writer.verdict().await;
    println!("  {rows} rows, none lost; no row for {pause:.1?}");
    major(&manager, db).await;
    writer.writes(5).await;
    let (rows, pause) = writer.verdict().await;
    println!("  {rows} rows, none lost; no row for {pause:.1?}");
    assert_eq!((db.asks(SUM).await, db.asks(RAN).await), (sum.clone(), "1".to_owned()));
    // One before each of the two.
    assert_eq!(left::verified(&ns, "shop", SnapshotReason::PreUpgrade).await.len(), 2);

    let last = deletion(&manager, db).await;
    restore(&manager, &ns, &last, &sum).await;
    removal(&manager, &ns, &last).await;
}

async fn minor(manager: &Manager, db: Database<'_>) {
    println!("15.18 to 15.20");
    let of = Effects(&db.ns.name);
    let effects = [
        of.create("Job", "shop-check"),
        of.create_some("SampleDBSnapshot", "shop-pre-"),
        of.create_some("Job", "shop-pre-"),
        of.apply("StatefulSet", "shop"),
        of.delete("Pod", "shop-0"),
        of.create("Job", "shop-upgrade-15-20"),
        of.delete("Job", "shop-check"),
        of.delete("Job", "shop-upgrade-15-20"),
    ];
    let change = db.patch(json!({ "engine": { "version": "15.20" } }));
    let end = ended(db, "15.20", UpgradeResult::Completed);
    let status = dying_after_each((db.ns, manager), &effects, change, end).await;
    assert_eq!((status.engine.running.as_deref(), status.engine.previous.as_deref()), (Some("15.20"), Some("15.18")));
    db.serves().await;
    left::claims_alone(db.ns, &["data-shop-0", "shop-snapshots"]).await;
}

async fn major(manager: &Manager, db: Database<'_>) {
    println!("15.20 to 17.12");
    let of = Effects(&db.ns.name);
    let effects = [
        of.create("Job", "shop-check"),
        of.create_some("SampleDBSnapshot", "shop-pre-"),
        of.apply("PersistentVolumeClaim", "data-shop-17"),
        of.apply("StatefulSet", "shop-17"),
        of.create("Job", "shop-upgrade-17-12"),
        of.apply("Service", "shop-rw"),
        of.act("AllowConnections"),
        of.delete("StatefulSet", "shop"),
        of.create("Job", "shop-finish-17-12"),
        of.delete("Job", "shop-check"),
        of.delete("Job", "shop-finish-17-12"),
        of.delete("Job", "shop-upgrade-17-12"),
    ];
    let change = db.patch(json!({ "engine": { "version": "17" } }));
    let end = ended(db, "17.12", UpgradeResult::Completed);
    let status = dying_after_each((db.ns, manager), &effects, change, end).await;
    assert_eq!(status.engine.running.as_deref(), Some("17.12"));
    assert_eq!(status.storage.claim.as_deref(), Some("data-shop-17"));
    db.serves().await;
    left::claims_alone(db.ns, &["data-shop-0", "data-shop-17", "shop-snapshots"]).await;
}

/// What is done once nothing runs of a database that is being deleted.
fn end_of(of: Effects<'_>, name: &str, claims: &[&str]) -> Vec<String> {
    let last = format!("{name}-final-");
    let mut effects = vec![
        of.create_some("SampleDBSnapshot", &last),
        of.apply_some("SampleDBSnapshot", &last),
        of.create_some("Job", &last),
        of.create_some("Job", &last),
    ];
    effects.extend(claims.iter().map(|claim| of.delete("PersistentVolumeClaim", claim)));
    effects.extend([of.act("DeleteSecret(App)"), of.act("DeleteSecret(System)"), of.apply("SampleDB", name)]);
    effects
}

/// Returns the name of the final snapshot.
async fn deletion(manager: &Manager, db: Database<'_>) -> String {
    println!("deletion, in the foreground");
    let effects = end_of(Effects(&db.ns.name), "shop", &["data-shop-0", "data-shop-17"]);
    dying_after_each((db.ns, manager), &effects, db.delete(PropagationPolicy::Foreground), db.is_deleted()).await;
    left::nothing_of(db.ns, "shop").await;
    left::claims_alone(db.ns, &["shop-snapshots"]).await;
    let last = left::verified(db.ns, "shop", SnapshotReason::Final).await;
    assert_eq!(last.len(), 1, "{last:?}");
    last[0].clone()
}

async fn restore(manager: &Manager, ns: &Namespace, last: &str, sum: &str) {
    println!("restore");
    let (of, again) = (Effects(&ns.name), Database { ns, name: "again" });
    let effects = [
        of.apply("StatefulSet", "again"),
        of.create("Job", "again-restore"),
        of.create("Job", "again-init"),
        of.delete("Job", "again-init"),
        of.delete("Job", "again-restore"),
    ];
    let spec = format!("{{bootstrap: {{fromSnapshot: {{name: {last}}}}}, backup: {{immediate: false}}}}");
    let create = async {
        Database::apply(ns, "again", &spec).await;
    };
    dying_after_each((ns, manager), &effects, create, again.serves()).await;
    left::claims_alone(ns, &["again-snapshots", "data-again-0", "shop-snapshots"]).await;
    assert_eq!((again.asks(SUM).await, again.asks(RAN).await), (sum.to_owned(), "1".to_owned()));
    // It wrote until the server was stopped.
    let acknowledged = ns.kubectl(&["logs", "shop-writer", "--tail=-1"]).await.ok();
    let acknowledged = acknowledged.lines().filter_map(|line| Some(line.split_once(' ')?.1.to_owned()));
    let found = again.asks("select n from written").await;
    let found: std::collections::BTreeSet<&str> = found.lines().collect();
    let lost: Vec<String> = acknowledged.filter(|row| !found.contains(row.as_str())).collect();
    assert!(lost.is_empty() && !found.is_empty(), "acknowledged rows are lost: {lost:?}");

    println!("deletion, of which only the pod is left");
    manager.rests().await;
    orphan_the_pod(ns, "again").await;
    again.delete(PropagationPolicy::Background).await;
    let effects = [of.delete("Pod", "again-0"), of.delete("PersistentVolumeClaim", "data-again-0")];
    dying_after_each((ns, manager), &effects, async {}, again.is_deleted()).await;
    left::nothing_of(ns, "again").await;
    assert_eq!(left::verified(ns, "again", SnapshotReason::Final).await.len(), 1);
}

/// A snapshot is deleted with its own files, and no others.
async fn removal(manager: &Manager, ns: &Namespace, last: &str) {
    println!("deletion of a snapshot");
    let of = Effects(&ns.name);
    let effects = [of.create("Job", "by-hand-prune"), of.apply("SampleDBSnapshot", "by-hand")];
    let delete = async {
        let how = DeleteParams::default();
        ns.api::<SampleDBSnapshot>().delete("by-hand", &how).await.expect("it can be deleted");
    };
    dying_after_each((ns, manager), &effects, delete, ns.until_deleted::<SampleDBSnapshot>("by-hand")).await;
    let files = Files::of(ns, "shop-snapshots").await.snapshots().await;
    assert!(files.len() == 3 && files.iter().any(|name| name == last), "{files:?}");
    assert!(files.iter().all(|name| name != "by-hand"), "{files:?}");
}

async fn orphan_the_pod(ns: &Namespace, name: &str) {
    drop(ns.kubectl(&["delete", "statefulset", name, "--cascade=orphan"]).await.ok());
}

#[tokio::test]
async fn the_way_back() {
    let mut ns = namespace("failpoints-sdb-back").await;
    ns.be_alone().await;
    let spec = "{engine: {version: '15'}, backup: {immediate: false}, upgrade: {snapshotBefore: false}}";
    let db = Database::apply(&ns, "shop", spec).await;
    db.serves().await;
    db.asks(FILL).await;
    db.asks(UNREADABLE).await;
    let sum = db.asks(SUM).await;
    let (of, manager, writer) = (Effects(&ns.name), Manager::new(&ns.client), Writer::start(db).await);

    println!("15.20 to 17.12, which does not take the rows, and back");
    let effects = [
        of.create("Job", "shop-check"),
        of.apply("PersistentVolumeClaim", "data-shop-17"),
        of.apply("StatefulSet", "shop-17"),
        of.create("Job", "shop-upgrade-17-12"),
        // And back.
        of.delete("Job", "shop-check"),
        of.delete("Job", "shop-upgrade-17-12"),
        of.act("AllowConnections"),
        of.delete("StatefulSet", "shop-17"),
        of.delete("PersistentVolumeClaim", "data-shop-17"),
    ];
    let change = db.patch(json!({ "engine": { "version": "17" } }));
    let end = ended(db, "17", UpgradeResult::RolledBack);
    let status = dying_after_each((&ns, &manager), &effects, change, end).await;
    let message = status.upgrade.message.unwrap_or_default();
    assert!(message.contains("violates check constraint"), "{message}");
    writer.writes(5).await;
    let (rows, pause) = writer.verdict().await;
    println!("  {rows} rows, none lost; no row for {pause:.1?}");
    assert!(db.asks("show server_version").await.starts_with("15.20"));
    assert_eq!(db.asks(SUM).await, sum);
    left::claims_alone(&ns, &["data-shop-0", "shop-snapshots"]).await;

    println!("deletion, in the background");
    // The final snapshot is verified by restoring it, which these rows prevent.
    db.asks("drop table aaa, zzz").await;
    let effects = [of.create_some("SampleDBSnapshot", "shop-final-"), of.delete("StatefulSet", "shop")];
    dying_after_each((&ns, &manager), &effects, db.delete(PropagationPolicy::Background), db.is_deleted()).await;
    left::nothing_of(&ns, "shop").await;
    assert_eq!(left::verified(&ns, "shop", SnapshotReason::Final).await.len(), 1);
}
