//! Conditions report what keeps snapshots from being taken.

use api::ConditionStatus::{False, True};
use api::sample_db_snapshot::SampleDBSnapshot;
use e2e::namespace::Namespace;
use e2e::sample_db::{Database, Files, message, namespace};
use k8s_openapi::api::storage::v1::StorageClass;
use kube::Api;
use kube::api::DeleteParams;

/// A volume of this class gets full, as real ones do; most others of a test cluster do not.
async fn sized(ns: &Namespace) -> bool {
    let classes: Api<StorageClass> = Api::all(ns.client.clone());
    classes.get_opt("sized").await.expect("classes can be read").is_some()
}

#[tokio::test]
async fn a_volume_that_is_full_keeps_no_half_snapshot_and_serves_again_once_there_is_room() {
    let ns = namespace("sdb-full").await;
    assert!(sized(&ns).await, "this needs the class `sized` of scripts/cluster, whose volumes get full");
    let spec = "{backup: {immediate: false, storage: {size: 9Mi, storageClassName: sized}}}";
    let db = Database::apply(&ns, "shop", spec).await;
    db.serves().await;
    db.asks(
        "create table noise as select md5(random()::text) || md5(random()::text) a from generate_series(1, 195000)",
    )
    .await;
    db.snapshot("first").await;
    let full = db.says("StorageHealthy", False, "NearlyFull").await;
    println!("a volume that one snapshot nearly fills says: {full}");
    assert!(full.contains("shop-snapshots") && full.contains("backup.storage.size (9Mi)"), "{full}");
    db.order("second", "").await;
    let failed = db.snapshot_says("second", False, "BackupFailed").await;
    let failure = message(&failed);
    println!("a snapshot without room says: {failure}");
    assert!(failure.to_lowercase().contains("no space left") && failure.contains("make room"), "{failure}");
    db.says("BackupHealthy", False, "LastFailed").await;
    db.says("BackupVerified", True, "Verified").await;
    let files = Files::of(&ns, "shop-snapshots").await;
    assert_eq!(files.script("ls | wc -l").await, "1", "nothing of the other is left");
    assert_eq!(files.snapshots().await, ["first"]);
    ns.api::<SampleDBSnapshot>().delete("first", &DeleteParams::default()).await.expect("it can be deleted");
    ns.until_deleted::<SampleDBSnapshot>("first").await;
    db.snapshot("third").await;
    db.says("BackupHealthy", True, "LastSucceeded").await;
}

#[tokio::test]
async fn a_missing_pvc_is_reported_and_waited_for() {
    let ns = namespace("sdb-claimless").await;
    let db = Database::apply(&ns, "shop", "{backup: {immediate: false, storage: {existingClaim: mine}}}").await;
    db.serves().await;
    db.order("by-hand", "").await;
    let waits = db.snapshot_says("by-hand", False, "PodInTrouble").await;
    println!("a snapshot without a volume says: {}", message(&waits));
    assert!(message(&waits).contains("\"mine\" not found"), "{}", message(&waits));
    let claim = "{accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}";
    ns.apply(&format!("apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {{name: mine}}\nspec: {claim}\n")).await;
    db.verified("by-hand").await;
    let files = Files::of(&ns, "mine").await;
    assert_eq!(files.snapshots().await, ["by-hand"]);
    ns.api::<SampleDBSnapshot>().delete("by-hand", &DeleteParams::default()).await.expect("it can be deleted");
    ns.until_deleted::<SampleDBSnapshot>("by-hand").await;
    assert!(files.snapshots().await.is_empty(), "files go from a volume of the user's, too");
}
