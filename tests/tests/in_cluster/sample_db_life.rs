//! A database's life: made, filled, saved, deleted, and made again of what was saved last.

use std::time::Instant;

use api::ConditionStatus;
use api::sample_db_snapshot::SampleDBSnapshot;
use e2e::sample_db::{Database, Files, namespace, told};
use k8s_openapi::api::apps::v1::StatefulSet;
use k8s_openapi::api::core::v1::{PersistentVolumeClaim, Pod, Secret};
use kube::ResourceExt;
use kube::api::{DeleteParams, ListParams, PropagationPolicy};

/// A sum over the rows of what [`FILL`] makes.
const SUM: &str = "select count(*), md5(string_agg(a::text || b, ',' order by a)) from notes";
const FILL: &str = "create table notes as select a, md5(a::text) b from generate_series(1, 2000) a";

async fn gone_but_saved(purpose: &str, propagation: PropagationPolicy, dead: bool) {
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
    db.is_gone().await;
    println!("it is gone, and saved, after {:.1?}", begun.elapsed());
    told(&ns, "shop", "FinalSnapshotTaken").await;
    ns.until_gone::<PersistentVolumeClaim>("data-shop-0").await;
    for name in ["shop-app", "shop-system"] {
        ns.until_gone::<Secret>(name).await;
    }
    ns.until_gone::<StatefulSet>("shop").await;
    ns.until_gone::<Pod>("shop-0").await;

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
    ns.until_gone::<SampleDBSnapshot>(&last).await;
    told(&ns, &last, "FilesKept").await;
    assert_eq!(Files::of(&ns, "shop-snapshots").await.snapshots().await, [last]);
}

#[tokio::test]
async fn a_database_is_saved_before_a_background_deletion() {
    gone_but_saved("sdb-background", PropagationPolicy::Background, false).await;
}

/// As Argo CD deletes: what the database owns goes first.
#[tokio::test]
async fn a_database_is_saved_before_a_foreground_deletion() {
    gone_but_saved("sdb-foreground", PropagationPolicy::Foreground, false).await;
}

#[tokio::test]
async fn a_database_is_saved_whose_pod_was_killed() {
    gone_but_saved("sdb-dead", PropagationPolicy::Foreground, true).await;
}

#[tokio::test]
async fn a_snapshot_that_is_not_there_is_told_of_and_nothing_is_made() {
    let ns = namespace("sdb-nothing").await;
    let db = Database::apply(&ns, "shop", "{bootstrap: {fromSnapshot: {name: nowhere}}}").await;
    let message = db.says("Stalled", ConditionStatus::True, "SnapshotMissing").await;
    assert!(message.contains("nowhere"), "{message}");
    let pods = ns.api::<Pod>().list(&ListParams::default()).await.expect("pods can be listed");
    assert!(pods.items.is_empty());
}
