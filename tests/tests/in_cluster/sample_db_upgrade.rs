//! From one release to another while a client writes, and back if that fails.

use std::time::Duration;

use api::ConditionStatus::{False, True};
use api::sample_db::{SampleDB, UpgradeResult};
use e2e::erasing::erase_status_with_retries;
use e2e::objects::ManagedKind;
use e2e::patience::{Bar, Moment};
use e2e::sample_db::{Database, UNREADABLE, Writer, namespace, until_event};
use k8s_openapi::api::apps::v1::StatefulSet;
use k8s_openapi::api::core::v1::PersistentVolumeClaim;
use serde_json::{Value, json};

/// What a copy by a lesser role than the superuser would miss.
const CONTENT: &str = "
    create extension pgcrypto;
    create table guarded as select a, md5(a::text) b from generate_series(1, 20000) a;
    alter table guarded enable row level security;
    alter table guarded force row level security;
    create policy even on guarded using (a % 2 = 0);
    select lo_from_bytea(4711, convert_to('a large object', 'UTF8'));
    create sequence numbers start 41;
    select nextval('numbers')";
const ROLE: &str = "create role reporter login password 'se''cret'; grant select on guarded to reporter";
/// The longest time without a written row; scripts/bench-sampledb measures the promise.
const PAUSE: Bar = Bar::work(Duration::from_secs(60));
const SUM: &str = "select count(*), md5(string_agg(a::text || b, ',' order by a)) from guarded";

/// Waits until an upgrade has ended; returns the status.
async fn ended(db: Database<'_>, to: &str, result: UpgradeResult) -> api::sample_db::SampleDBStatus {
    let what = format!("an upgrade to {to} that ends {result:?}");
    db.ns
        .until::<SampleDB, _>(db.name, &what, |db| {
            let status = db?.status.as_ref()?;
            let over =
                status.upgrade.step.is_none() && status.upgrade.to.as_deref().is_some_and(|of| of.starts_with(to));
            (over && status.upgrade.result == Some(result)).then(|| status.clone())
        })
        .await
}

fn downtime(status: &api::sample_db::SampleDBStatus) -> Duration {
    let downtime = status.upgrade.downtime_milliseconds.and_then(|downtime| u64::try_from(downtime).ok());
    Duration::from_millis(downtime.expect("a time"))
}

#[tokio::test]
async fn a_minor_release_then_a_major_one_lose_nothing_and_say_how_long_it_took() {
    let ns = namespace("sdb-upgrade").await;
    let db = Database::apply(&ns, "shop", "{engine: {version: '15.18'}, backup: {immediate: false}}").await;
    db.serves().await;
    db.asks(CONTENT).await;
    db.superuser_asks(ROLE).await;
    let before = db.superuser_asks(SUM).await;
    let (writer, begun) = (Writer::start(db).await, Moment::now());

    db.patch(json!({ "engine": { "version": "15.20" } })).await;
    let status = ended(db, "15.20", UpgradeResult::Completed).await;
    assert_eq!((status.engine.running.as_deref(), status.engine.previous.as_deref()), (Some("15.20"), Some("15.18")));
    writer.writes(5).await;
    let (rows, pause) = writer.verdict().await;
    println!("15.18 to 15.20: {rows} rows, none lost; no row for {pause:?}, reported {:?}", downtime(&status));
    let held = PAUSE.holds("the longest time without a row", pause, begun.passed().slowness());
    held.unwrap_or_else(|missed| panic!("{missed}"));

    db.patch(json!({ "engine": { "version": "17" } })).await;
    let status = ended(db, "17.12", UpgradeResult::Completed).await;
    assert_eq!(status.engine.running.as_deref(), Some("17.12"));
    assert_eq!(status.storage.claim.as_deref(), Some("data-shop-17"));
    assert_eq!(status.primary.as_deref(), Some("shop-17-0"));
    ns.until_deleted::<StatefulSet>("shop").await;
    writer.writes(5).await;
    let (rows, pause) = writer.verdict().await;
    println!("15.20 to 17.12: {rows} rows, none lost; no row for {pause:?}, reported {:?}", downtime(&status));
    assert_eq!(db.superuser_asks(SUM).await, before, "under row-level security too");
    assert_eq!(db.asks("select convert_from(lo_get(4711), 'UTF8')").await, "a large object");
    assert_eq!(db.asks("select nextval('numbers')").await, "42");
    assert_eq!(db.asks("select length(digest('x', 'sha256'))").await, "32");
    let uri = "postgresql://reporter:se%27cret@shop-rw/app";
    assert_eq!(db.psql(uri, "select current_user").await, "reporter");
    db.says("UpToDate", True, "Current").await;

    // Were status believed, an empty volume of the default name would now be the database.
    erase_status_with_retries(&ns, "sampledb/shop").await;
    until_event(&ns, "shop", "StatusRestored").await;
    let seen = db.serves().await.status.expect("a status");
    assert_eq!((seen.storage.claim, seen.storage.claim_uid), (status.storage.claim, status.storage.claim_uid));
    assert_eq!(db.superuser_asks(SUM).await, before);

    // The old volume is kept, and deleted when its time is over.
    ns.get::<PersistentVolumeClaim>("data-shop-0").await;
    assert!(seen.storage.previous_claim_until.is_some());
}

/// If an upgrade is rejected or fails, the old version serves, and nothing is lost; then the operator does what the spec says
/// next.
async fn fails(db: Database<'_>, spec: Value, why: &str) {
    let writer = Writer::start(db).await;
    db.patch(spec).await;
    let status = ended(db, "17", UpgradeResult::RolledBack).await;
    let message = status.upgrade.message.clone().unwrap_or_default();
    println!("an upgrade that fails says: {message}");
    assert!(message.contains(why), "{message}");
    writer.writes(5).await;
    let (rows, pause) = writer.verdict().await;
    println!("  {rows} rows, none lost; no row for {pause:?}");
    assert!(db.asks("show server_version").await.starts_with("15.20"));
    let seen = db.serves().await;
    assert!(
        seen.condition("Stalled").is_some_and(|stalled| stalled.reason.as_str() == "UpgradeFailed"),
        "{:?}",
        seen.status
    );
    db.says("UpToDate", False, "UpgradeFailed").await;
    db.ns.until_deleted::<PersistentVolumeClaim>("data-shop-17").await;
    db.patch(json!({ "engine": { "version": "15", "image": null } })).await;
    db.says("UpToDate", True, "Current").await;
}

const OLD: &str = "{engine: {version: '15'}, backup: {immediate: false}, upgrade: {snapshotBefore: false}}";

#[tokio::test]
async fn a_missing_image_blocks_no_client() {
    let ns = namespace("sdb-no-image").await;
    let db = Database::apply(&ns, "shop", OLD).await;
    db.serves().await;
    let image = json!({ "engine": { "version": null, "image": "localhost/nowhere/postgres:17.12" } });
    fails(db, image, "cannot be pulled").await;
}

#[tokio::test]
async fn parameters_that_the_new_version_does_not_know_are_reported() {
    let ns = namespace("sdb-unknown").await;
    let db = Database::apply(&ns, "shop", OLD).await;
    db.serves().await;
    db.asks("create view removed_since as select buffers_backend from pg_stat_bgwriter").await;
    fails(db, json!({ "engine": { "version": "17" } }), "buffers_backend").await;
}

/// The operator starts it next to the old one, which keeps serving.
#[tokio::test]
async fn a_new_server_that_does_not_start_blocks_no_client() {
    let ns = namespace("sdb-no-start").await;
    let spec = OLD.replace("version: '15'", "version: '15', parameters: {vacuum_defer_cleanup_age: '0'}");
    let db = Database::apply(&ns, "shop", &spec).await;
    db.serves().await;
    fails(db, json!({ "engine": { "version": "17" } }), "vacuum_defer_cleanup_age").await;
}

/// The server accepts the definitions but not the rows, which shows only when no client can write any more.
#[tokio::test]
async fn rows_that_cannot_be_copied_bring_the_old_version_back() {
    let ns = namespace("sdb-unreadable").await;
    let db = Database::apply(&ns, "shop", OLD).await;
    db.serves().await;
    db.asks(UNREADABLE).await;
    fails(db, json!({ "engine": { "version": "17" } }), "violates check constraint").await;
}

#[tokio::test]
async fn a_copy_whose_pod_is_killed_is_rolled_back() {
    let ns = namespace("sdb-killed-copy").await;
    let db = Database::apply(&ns, "shop", OLD).await;
    db.serves().await;
    db.asks("create table big as select a, md5(a::text) b from generate_series(1, 300000) a").await;
    let writer = Writer::start(db).await;
    db.patch(json!({ "engine": { "version": "17" } })).await;
    ns.until::<SampleDB, ()>("shop", "writers to be blocked", |db| {
        let status = db?.status.as_ref()?;
        (status.ready.as_deref() == Some("0/1")).then_some(())
    })
    .await;
    let killed = ns
        .kubectl(&[
            "delete",
            "pods",
            "--selector=batch.kubernetes.io/job-name=shop-upgrade-17-12",
            "--grace-period=0",
            "--force",
        ])
        .await;
    println!("{}", killed.stdout.trim());
    let status = ns
        .until::<SampleDB, _>("shop", "an upgrade that has ended", |db| {
            let status = db?.status.as_ref()?;
            status.upgrade.result.filter(|_| status.upgrade.step.is_none()).map(|_| status.clone())
        })
        .await;
    println!("a copy whose pod was killed: {:?}", status.upgrade);
    writer.writes(5).await;
    writer.verdict().await;
    assert_eq!(db.asks("select count(*) from big").await, "300000");
}

#[tokio::test]
async fn impossible_targets_are_reported_and_nothing_is_done() {
    let ns = namespace("sdb-refused").await;
    let db = Database::apply(&ns, "shop", OLD).await;
    db.serves().await;
    for (version, reason) in [("13", "DowngradeRefused"), ("15.18", "DowngradeRefused"), ("16", "VersionUnknown")] {
        db.patch(json!({ "engine": { "version": version } })).await;
        let message = db.says("Stalled", True, reason).await;
        println!("{version}: {message}");
        db.says("UpToDate", False, reason).await;
        assert!(db.asks("show server_version").await.starts_with("15.20"));
    }
    db.patch(json!({ "engine": { "version": "17" }, "upgrade": { "policy": "Manual" } })).await;
    db.says("UpToDate", False, "UpgradeAvailable").await;
    assert!(db.asks("show server_version").await.starts_with("15.20"));
}
