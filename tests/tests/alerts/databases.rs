//! Databases: their snapshots, their volumes, their upgrades.

use api::ConditionStatus::{False, True};
use api::sample_db_snapshot::SampleDBSnapshot;
use e2e::prometheus::{fires, is_silent, resolves};
use e2e::sample_db::{Database, Files, namespace};
use kube::api::DeleteParams;
use serde_json::json;

/// Rows of 64 bytes that do not compress.
fn noise(rows: u32) -> String {
    format!("create table noise as select md5(random()::text) || md5(random()::text) a from generate_series(1, {rows})")
}

#[tokio::test]
async fn a_snapshot_that_went_bad() {
    let ns = namespace("alerts-corrupt").await;
    let of_it = [("namespace", ns.name.as_str()), ("name", "shop")];
    let db = Database::apply(&ns, "shop", "{backup: {immediate: false}}").await;
    db.serves().await;
    db.asks(&noise(5000)).await;
    db.snapshot("first").await;
    is_silent("SampleDBVerificationFailed", &of_it).await;
    let files = Files::of(&ns, "shop-snapshots").await;
    let largest = "it=$(ls -S first-*/database-*/*.dat* | head -1)";
    files.script(&format!("{largest} && printf X | dd of=$it bs=1 seek=40 conv=notrunc status=none")).await;
    db.verified_again("first", "now").await;
    fires("SampleDBVerificationFailed", &of_it).await;
    db.snapshot("whole").await;
    resolves("SampleDBVerificationFailed", &of_it).await;
}

#[tokio::test]
async fn a_target_that_is_full() {
    let ns = namespace("alerts-full").await;
    let of_it = [("namespace", ns.name.as_str()), ("name", "shop")];
    // Volumes of this class get full.
    let spec = "{backup: {immediate: false, storage: {size: 9Mi, storageClassName: sized}}}";
    let db = Database::apply(&ns, "shop", spec).await;
    db.serves().await;
    db.asks(&noise(120_000)).await;
    db.snapshot("first").await;
    is_silent("SampleDBBackupFailed", &of_it).await;
    db.order("second", "").await;
    fires("SampleDBBackupFailed", &of_it).await;
    ns.api::<SampleDBSnapshot>().delete("first", &DeleteParams::default()).await.expect("it can be deleted");
    ns.until_deleted::<SampleDBSnapshot>("first").await;
    db.snapshot("third").await;
    resolves("SampleDBBackupFailed", &of_it).await;
}

#[tokio::test]
async fn snapshots_that_cannot_be_begun() {
    let ns = namespace("alerts-overdue").await;
    let of_it = [("namespace", ns.name.as_str()), ("name", "shop")];
    let db = Database::apply(&ns, "shop", "{backup: {schedule: '* * * * *'}}").await;
    db.says("BackupVerified", True, "Verified").await;
    is_silent("SampleDBBackupTooOld", &of_it).await;
    ns.apply("apiVersion: v1\nkind: ResourceQuota\nmetadata: {name: none}\nspec: {hard: {count/jobs.batch: '0'}}\n")
        .await;
    fires("SampleDBBackupOverdue", &of_it).await;
    fires("SampleDBBackupTooOld", &of_it).await;
    drop(ns.kubectl(&["delete", "resourcequota/none"]).await.ok());
    resolves("SampleDBBackupTooOld", &of_it).await;
    resolves("SampleDBBackupOverdue", &of_it).await;
}

#[tokio::test]
async fn a_schedule_that_asks_for_nothing() {
    let ns = namespace("alerts-schedule").await;
    let of_it = [("namespace", ns.name.as_str()), ("name", "shop")];
    let db = Database::apply(&ns, "shop", "{backup: {schedule: '0 0 1 1 *', timeZone: Mars/Olympus}}").await;
    db.says("BackupHealthy", False, "ScheduleInvalid").await;
    fires("SampleDBBackupTooOld", &of_it).await;
    db.patch(json!({ "backup": { "timeZone": "Etc/UTC" } })).await;
    resolves("SampleDBBackupTooOld", &of_it).await;
}

#[tokio::test]
async fn a_volume_that_fills_up() {
    let ns = namespace("alerts-volume").await;
    let of_it = [("namespace", ns.name.as_str()), ("name", "shop")];
    // The default class holds more than it says: nothing breaks here. A smaller volume is full with an empty database and the 32MB of
    // WAL that PostgreSQL keeps at least.
    let db = Database::apply(&ns, "shop", "{storage: {size: 128Mi}, backup: {immediate: false}}").await;
    db.serves().await;
    is_silent("SampleDBVolumeFilling", &of_it).await;
    db.asks(&noise(1_000_000)).await;
    fires("SampleDBVolumeFull", &of_it).await;
    fires("SampleDBVolumeFilling", &of_it).await;
    db.asks("drop table noise").await;
    resolves("SampleDBVolumeFull", &of_it).await;
}

#[tokio::test]
async fn a_volume_of_snapshots_that_fills_up() {
    let ns = namespace("alerts-snapshots").await;
    let of_it = [("namespace", ns.name.as_str()), ("name", "shop")];
    // The default class holds more than it says: nothing breaks here.
    let db = Database::apply(&ns, "shop", "{backup: {immediate: false, storage: {size: 4Mi}}}").await;
    db.serves().await;
    is_silent("SampleDBSnapshotVolumeFilling", &of_it).await;
    db.asks(&noise(120_000)).await;
    db.snapshot("first").await;
    fires("SampleDBSnapshotVolumeFilling", &of_it).await;
    db.asks("drop table noise").await;
    ns.api::<SampleDBSnapshot>().delete("first", &DeleteParams::default()).await.expect("it can be deleted");
    ns.until_deleted::<SampleDBSnapshot>("first").await;
    db.snapshot("second").await;
    resolves("SampleDBSnapshotVolumeFilling", &of_it).await;
}

#[tokio::test]
async fn a_database_that_cannot_start() {
    let ns = namespace("alerts-down").await;
    let of_it = [("namespace", ns.name.as_str()), ("name", "shop")];
    Database::apply(&ns, "shop", "{storage: {storageClassName: nowhere}, backup: {immediate: false}}").await;
    fires("SampleDBDown", &of_it).await;
    drop(ns.kubectl(&["delete", "sampledb/shop", "--wait=false"]).await.ok());
    resolves("SampleDBDown", &of_it).await;
}

#[tokio::test]
async fn an_upgrade_that_fails() {
    let ns = namespace("alerts-upgrade").await;
    let of_it = [("namespace", ns.name.as_str()), ("name", "shop")];
    let db = Database::apply(&ns, "shop", "{engine: {version: '15'}, backup: {immediate: false}}").await;
    db.serves().await;
    // It takes no connections, so it cannot be copied.
    db.superuser_asks("create database closed allow_connections false").await;
    db.patch(json!({ "engine": { "version": "17" } })).await;
    fires("SampleDBUpgradeFailed", &of_it).await;
    db.superuser_asks("alter database closed allow_connections true").await;
    db.patch(json!({ "engine": { "version": "15" } })).await;
    resolves("SampleDBUpgradeFailed", &of_it).await;
}
