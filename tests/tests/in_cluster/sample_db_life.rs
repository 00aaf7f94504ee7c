//! A database's life: created, filled, saved, deleted, and recreated from its final snapshot.

use std::time::Instant;

use api::ConditionStatus;
use api::sample_db_snapshot::SampleDBSnapshot;
use e2e::sample_db::{Database, Files, namespace, until_event};
use k8s_openapi::api::apps::v1::StatefulSet;
use k8s_openapi::api::core::v1::{PersistentVolumeClaim, Pod, Secret};
use kube::ResourceExt;
use kube::api::{DeleteParams, ListParams, PropagationPolicy};

/// A sum over the rows that [`FILL`] inserts.
const SUM: &str = "select count(*), md5(string_agg(a::text || b, ',' order by a)) from notes";
const FILL: &str = "create table notes as select a, md5(a::text) b from generate_series(1, 2000) a";

async fn deleted_after_snapshot(purpose: &str, propagation: PropagationPolicy, dead: bool) {
    let ns = namespace(purpose).await;
    let begun = Instant::now();
    let db = Database::apply(&ns, "shop", "{backup: {immediate: false}}").await;
    db.serves().await;
    println!("a database serves after {:.1?}", begun.elapsed());
    db.asks(FILL).await;
    let before = db.asks(SUM).await;
    assert!(before.starts_with("2000|"), "{before}");
    if dead {
        let now = DeleteParams { grace_period_seconds: Some(0), ..DeleteParams::default() };
        ns.api::<Pod>().delete("shop-0", &now).await.expect("the pod can be deleted");
    }
    let begun = Instant::now();
    db.delete(propagation).await;
    db.is_deleted().await;
    println!("it is deleted, and saved, after {:.1?}", begun.elapsed());
    until_event(&ns, "shop", "FinalSnapshotTaken").await;
    ns.until_deleted::<PersistentVolumeClaim>("data-shop-0").await;
    for name in ["shop-app", "shop-system"] {
        ns.until_deleted::<Secret>(name).await;
    }
    ns.until_deleted::<StatefulSet>("shop").await;
    ns.until_deleted::<Pod>("shop-0").await;

    let last = db.last_snapshot().await.expect("a final snapshot").name_any();
    let spec = format!("{{bootstrap: {{fromSnapshot: {{name: {last}}}}}, backup: {{immediate: false}}}}");
    let again = Database::apply(&ns, "again", &spec).await;
    again.serves().await;
    assert_eq!(again.asks(SUM).await, before, "what comes back is what was there");
    if dead {
        return;
    }
    // Its files outlive its object, so that they survive its kind.
    ns.api::<SampleDBSnapshot>().delete(&last, &DeleteParams::default()).await.expect("it can be deleted");
    ns.until_deleted::<SampleDBSnapshot>(&last).await;
    until_event(&ns, &last, "FilesKept").await;
    assert_eq!(Files::of(&ns, "shop-snapshots").await.snapshots().await, [last]);
}

#[tokio::test]
async fn a_database_is_saved_before_a_background_deletion() {
    deleted_after_snapshot("sdb-background", PropagationPolicy::Background, false).await;
}

/// As Argo CD deletes: the objects that the database owns are deleted first.
#[tokio::test]
async fn a_database_is_saved_before_a_foreground_deletion() {
    deleted_after_snapshot("sdb-foreground", PropagationPolicy::Foreground, false).await;
}

#[tokio::test]
async fn a_database_is_saved_whose_pod_was_killed() {
    deleted_after_snapshot("sdb-dead", PropagationPolicy::Foreground, true).await;
}

#[tokio::test]
async fn a_missing_snapshot_is_reported_and_nothing_is_created() {
    let ns = namespace("sdb-nothing").await;
    let db = Database::apply(&ns, "shop", "{bootstrap: {fromSnapshot: {name: nowhere}}}").await;
    let message = db.says("Stalled", ConditionStatus::True, "SnapshotMissing").await;
    assert!(message.contains("nowhere"), "{message}");
    let pods = ns.api::<Pod>().list(&ListParams::default()).await.expect("pods can be listed");
    assert!(pods.items.is_empty());
}
