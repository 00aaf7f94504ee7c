//! What keeps snapshots from being taken, and that it is told.

use api::ConditionStatus::{False, True};
use api::sample_db::SampleDB;
use api::sample_db_snapshot::SampleDBSnapshot;
use e2e::namespace::Namespace;
use e2e::objects::Ours;
use e2e::sample_db::{Database, Files, message, namespace};
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::api::storage::v1::StorageClass;
use kube::api::{DeleteParams, ListParams, PropagationPolicy};
use kube::{Api, ResourceExt};

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
        "create table noise as select md5(random()::text) || md5(random()::text) a from generate_series(1, 120000)",
    )
    .await;
    db.snapshot("first").await;
    db.order("second", "").await;
    let failed = db.snapshot_says("second", False, "BackupFailed").await;
    let words = message(&failed);
    println!("a snapshot without room says: {words}");
    assert!(words.to_lowercase().contains("no space left") && words.contains("make room"), "{words}");
    db.says("BackupHealthy", False, "LastFailed").await;
    db.says("BackupVerified", True, "Verified").await;
    let files = Files::of(&ns, "shop-snapshots").await;
    assert_eq!(files.script("ls | wc -l").await, "1", "nothing of the other is left");
    assert_eq!(files.snapshots().await, ["first"]);
    ns.api::<SampleDBSnapshot>().delete("first", &DeleteParams::default()).await.expect("it can be deleted");
    ns.until_gone::<SampleDBSnapshot>("first").await;
    db.snapshot("third").await;
    db.says("BackupHealthy", True, "LastSucceeded").await;
}

#[tokio::test]
async fn a_claim_that_is_missing_is_told_of_and_waited_for() {
    let ns = namespace("sdb-claimless").await;
    let db = Database::apply(&ns, "shop", "{backup: {immediate: false, storage: {existingClaim: mine}}}").await;
    db.serves().await;
    db.order("by-hand", "").await;
    let waits = db.snapshot_says("by-hand", False, "PodInTrouble").await;
    println!("a snapshot without a volume says: {}", message(&waits));
    assert!(message(&waits).contains("\"mine\" not found"), "{}", message(&waits));
    let claim = "{accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}";
    ns.apply(&format!("apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {{name: mine}}\nspec: {claim}\n")).await;
    db.proved("by-hand").await;
    let files = Files::of(&ns, "mine").await;
    assert_eq!(files.snapshots().await, ["by-hand"]);
    ns.api::<SampleDBSnapshot>().delete("by-hand", &DeleteParams::default()).await.expect("it can be deleted");
    ns.until_gone::<SampleDBSnapshot>("by-hand").await;
    assert!(files.snapshots().await.is_empty(), "files go from a volume of the user's, too");
}

/// Kills the manager's pod.
async fn kill_manager(ns: &Namespace) {
    let pods: Api<Pod> = Api::namespaced(ns.client.clone(), e2e::cluster::SYSTEM);
    let all = pods.list(&ListParams::default()).await.expect("pods can be listed");
    let now = DeleteParams { grace_period_seconds: Some(0), ..DeleteParams::default() };
    for pod in all.items {
        pods.delete(&pod.name_any(), &now).await.expect("the manager's pod can be deleted");
    }
}

/// Halfway through each of the three: what was begun is gone on with, and nothing is done twice.
#[tokio::test]
async fn a_manager_that_dies_meanwhile_leaves_nothing_undone() {
    let mut ns = namespace("sdb-killed").await;
    let db = Database::apply(&ns, "shop", "{backup: {immediate: false}}").await;
    db.serves().await;
    db.asks("create table notes as select a, md5(a::text) b from generate_series(1, 30000) a").await;
    ns.be_alone().await;
    let db = Database { ns: &ns, name: "shop" };
    db.order("by-hand", "").await;
    ns.until::<SampleDBSnapshot, ()>("by-hand", "a backup under way", |it| it?.status.as_ref()?.job.as_ref().map(drop))
        .await;
    kill_manager(&ns).await;
    let snapshot = db.proved("by-hand").await;
    let spec = "{bootstrap: {fromSnapshot: {name: by-hand}}, backup: {immediate: false}}";
    let again = Database::apply(&ns, "again", spec).await;
    ns.until::<SampleDB, ()>("again", "a restore under way", |db| db?.status.as_ref()?.restore.job.as_ref().map(drop))
        .await;
    kill_manager(&ns).await;
    again.serves().await;
    assert_eq!(again.asks("select count(*), count(distinct a) from notes").await, "30000|30000");
    again.delete(PropagationPolicy::Foreground).await;
    ns.until::<SampleDB, ()>("again", "a deletion under way", |db| {
        db?.status.as_ref()?.deletion.final_snapshot.as_ref().map(drop)
    })
    .await;
    kill_manager(&ns).await;
    again.is_gone().await;
    let last = again.last_snapshot().await.expect("a last snapshot");
    assert!(last.is_ready(), "{last:?}");
    let all = ns.api::<SampleDBSnapshot>().list(&ListParams::default()).await.expect("snapshots can be listed");
    assert_eq!(all.items.len(), 2, "one by hand, and one at the end");
    assert_eq!(snapshot.metadata.uid, ns.get::<SampleDBSnapshot>("by-hand").await.metadata.uid);
    e2e::cluster::start_manager(&ns.client).await;
}
