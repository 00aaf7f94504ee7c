//! Volumes of the default size, written to until writes are refused: nothing acknowledged is lost, the condition names the volume,
//! and it serves again once there is room.

use std::time::Duration;

use api::ConditionStatus::{False, True};
use api::etcd_cluster::EtcdCluster;
use e2e::etcd::{self, Etcd, ids};
use e2e::patience::{Bar, Moment};
use e2e::sample_db::{self, Database};
use kube::api::PropagationPolicy;
use serde_json::json;

/// How often each is filled.
const TIMES: usize = 3;
/// In which it serves again once there is room.
const SERVES_AGAIN: Bar = Bar::work(Duration::from_secs(60));

/// In which members' volumes are full: gigabytes are put into them.
const FILLS: Duration = Duration::from_secs(600);

/// The end of what an operator does by itself, once there is room.
fn in_time(begun: Moment) {
    let passed = begun.passed();
    let held = SERVES_AGAIN.holds("the time until it serves again", passed.real, passed.slowness());
    held.unwrap_or_else(|missed| panic!("{missed}"));
}

/// What StorageHealthy=False says of a database.
async fn reports(db: Database<'_>) -> String {
    let message = db
        .ns
        .until::<api::sample_db::SampleDB, String>(db.name, "StorageHealthy to be False", |db| {
            let storage = e2e::objects::ManagedKind::condition(db?, "StorageHealthy")?;
            (storage.status == False).then(|| format!("{}: {}", storage.reason, storage.message))
        })
        .await;
    assert!(message.contains("data-shop-0"), "it names the volume: {message}");
    message
}

/// Writes acknowledged rows, 50 MB at a time, until one is refused; returns how many were acknowledged so far.
async fn filled(db: Database<'_>, mut acknowledged: usize) -> usize {
    loop {
        let sql = format!(
            "with noise as (insert into heap select repeat(md5(random()::text), 40) from generate_series(1, 40000))
             insert into kept values ({})",
            acknowledged + 1
        );
        match db.try_asks(&sql).await {
            Ok(_) => acknowledged += 1,
            Err(refused) => {
                println!("row {} is refused: {}", acknowledged + 1, refused.trim());
                return acknowledged;
            }
        }
        assert!(acknowledged < 200, "a volume of 1Gi took {acknowledged} times 50 MB");
    }
}

#[tokio::test]
#[ignore = "scripts/test --all long: gigabytes are written"]
async fn a_database_of_the_default_size_serves_again_once_there_is_room() {
    let ns = sample_db::namespace("sdb-filled").await;
    let db = Database::apply(&ns, "shop", "{storage: {storageClassName: sized}, backup: {immediate: false}}").await;
    db.serves().await;
    db.asks("create table kept (n int primary key); create table heap (a text)").await;
    let mut acknowledged = 0;
    for time in 1..=TIMES {
        acknowledged = filled(db, acknowledged).await;
        println!("{time}: {}", reports(db).await);
        // What people do who have no larger volume: away with what is not needed, as soon as they get in.
        ns.eventually("space to be freed", || db.try_asks("truncate heap")).await;
        let begun = Moment::now();
        ns.eventually("a write", || db.try_asks("insert into heap values ('some')")).await;
        in_time(begun);
        let kept = db.asks("select count(*), max(n) from kept").await;
        assert_eq!(kept, format!("{acknowledged}|{acknowledged}"), "every acknowledged row");
    }
    db.says("StorageHealthy", True, "Sound").await;
    db.delete(PropagationPolicy::Background).await;
    db.is_deleted().await;
}

#[tokio::test]
#[ignore = "scripts/test --all long: gigabytes are written"]
async fn a_database_of_the_default_size_serves_again_once_it_is_resized() {
    let ns = sample_db::namespace("sdb-resized").await;
    let spec = "{storage: {storageClassName: sized-expandable}, backup: {immediate: false}}";
    let db = Database::apply(&ns, "shop", spec).await;
    db.serves().await;
    db.asks("create table kept (n int primary key); create table heap (a text)").await;
    let mut acknowledged = 0;
    // Twice as large each time: a member that is behind needs room for another member's database next to its own.
    for (time, size) in (1..).zip(["2Gi", "4Gi"]) {
        acknowledged = filled(db, acknowledged).await;
        println!("{time}: {}", reports(db).await);
        let begun = Moment::now();
        db.patch(json!({ "storage": { "size": size } })).await;
        ns.eventually("a write", || db.try_asks("insert into heap values ('some')")).await;
        in_time(begun);
        let kept = db.asks("select count(*), max(n) from kept").await;
        assert_eq!(kept, format!("{acknowledged}|{acknowledged}"), "every acknowledged row");
        // Nothing else restarts it, and its file system was measured when it was smaller.
        db.says("StorageHealthy", True, "Sound").await;
    }
    db.delete(PropagationPolicy::Background).await;
    db.is_deleted().await;
}

/// That all members that there were before serve again once their volumes have that size, with every acknowledged write.
async fn serves_again_at(etcd: &Etcd<'_>, size: &str, before: &EtcdCluster, writer: &etcd::Writer<'_>) {
    let begun = Moment::now();
    etcd.patch(json!({ "storage": { "size": size } })).await;
    let after = etcd.runs(3).await;
    in_time(begun);
    assert_eq!(ids(&after), ids(before), "no member was replaced");
    writer.writes(1).await;
    writer.verdict(&after).await;
}

#[tokio::test]
#[ignore = "scripts/test --all long: gigabytes are written"]
async fn an_etcd_cluster_of_the_default_size_serves_again_once_it_is_resized() {
    let ns = etcd::namespace("etcd-resized").await;
    let etcd = Etcd::apply(&ns, "web", "{size: 3, storage: {storageClassName: sized-expandable}}").await;
    let before = etcd.runs(3).await;
    let writer = etcd::Writer::with(&etcd, 100, 500_000).await;
    for (time, size) in (1..=TIMES).zip(["2Gi", "3Gi", "5Gi"]) {
        let full = ns.until_within::<EtcdCluster, _>(FILLS, etcd.name, "Stalled to be True, NoSpace", |cluster| {
            let stalled = e2e::objects::ManagedKind::condition(cluster?, "Stalled")?;
            (stalled.status == True && stalled.reason.as_str() == "NoSpace").then(|| stalled.message.clone())
        });
        println!("{time}: {}", full.await);
        serves_again_at(&etcd, size, &before, &writer).await;
    }
    writer.stop().await;
}

/// With a quota that the volumes have no room for: no alarm comes, etcd ends on each of them. It starts again with its reserve, and
/// refuses writes then.
#[tokio::test]
#[ignore = "scripts/test --all long: gigabytes are written"]
async fn an_etcd_cluster_whose_disks_are_full_serves_again_once_it_is_resized() {
    let ns = etcd::namespace("etcd-disks").await;
    let spec = "{size: 3, quota: 8Gi, storage: {storageClassName: sized-expandable}}";
    let etcd = Etcd::apply(&ns, "web", spec).await;
    let before = etcd.runs(3).await;
    let writer = etcd::Writer::with(&etcd, 100, 500_000).await;
    // Twice as large each time: a member that is behind needs room for another member's database next to its own.
    for (time, size) in (1..).zip(["2Gi", "4Gi"]) {
        let full = etcd.until("the volumes to be full", |cluster| {
            let stalled = e2e::objects::ManagedKind::condition(cluster, "Stalled")?;
            ["VolumeFull", "NoSpace"].contains(&&*stalled.reason).then(|| stalled.message.clone())
        });
        let message = full.await;
        println!("{time}: {message}");
        assert!(ids(&before).keys().any(|member| message.contains(member)), "it names the volume: {message}");
        let refused = || async {
            let health = e2e::objects::ManagedKind::condition(&etcd.now().await, "Available").map(|now| now.status);
            if health == Some(False) { Ok(()) } else { Err(format!("{health:?}")) }
        };
        ns.eventually("writes to be refused, since most members are full", refused).await;
        serves_again_at(&etcd, size, &before, &writer).await;
    }
    writer.stop().await;
}

#[tokio::test]
#[ignore = "scripts/test --all long: gigabytes are written"]
async fn an_etcd_cluster_of_the_default_size_serves_again_once_there_is_room() {
    let ns = etcd::namespace("etcd-filled").await;
    let etcd = Etcd::apply(&ns, "web", "{size: 3, storage: {storageClassName: sized}}").await;
    let before = etcd.runs(3).await;
    for time in 1..=TIMES {
        let writer = etcd::Writer::with(&etcd, 5, 500_000).await;
        let message = etcd.says("Stalled", True, "NoSpace").await;
        println!("{time}: {message}");
        let full = etcd.now().await;
        let verdict = writer.verdict(&full).await;
        assert!(verdict.acknowledged > 100, "{verdict:#?}");
        writer.stop().await;
        // As docs/etcd-cluster.md says.
        let members: Vec<String> = ids(&full).into_keys().collect();
        drop(etcd.etcdctl(&members[0], &["del", "--prefix", ""]).await.ok());
        let status = etcd.etcdctl(&members[0], &["endpoint", "status", "--write-out=json"]).await.ok();
        let status: serde_json::Value = serde_json::from_str(&status).expect("etcdctl prints JSON");
        let revision = status[0]["Status"]["header"]["revision"].to_string();
        let begun = Moment::now();
        drop(etcd.etcdctl(&members[0], &["compact", &revision]).await.ok());
        drop(etcd.etcdctl(&members[0], &["defrag", "--cluster"]).await.ok());
        let after = etcd.runs(3).await;
        in_time(begun);
        assert_eq!(ids(&after), ids(&before), "no member was replaced");
    }
}
