//! Where a SampleDB's pod is to run is tried before the one that serves is deleted for it.

use api::ConditionStatus::True;
use api::sample_db::SampleDB;
use e2e::namespace::Namespace;
use e2e::objects::ManagedKind;
use e2e::sample_db::{Database, namespace};
use k8s_openapi::api::apps::v1::StatefulSet;
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::{Node, Pod};
use kube::ResourceExt;
use kube::api::{Api, DeleteParams, ListParams, PropagationPolicy};
use serde_json::{Value, json};

const QUIET: &str = "{backup: {immediate: false}}";

/// What the condition says of a change that no pod could start with; the pod that serves is still that one.
async fn refused(db: Database<'_>, uid: &Option<String>, change: Value) -> String {
    db.patch(change).await;
    let message = db.says("Stalled", True, "PodRefused").await;
    println!("it says: {message}");
    assert!(db.serves().await.is_ready());
    assert_eq!(db.pod_uid().await, *uid, "{message}");
    message
}

/// Waits until nothing is left of a trial, and the pod that serves is still that one.
async fn taken_back(db: Database<'_>, uid: &Option<String>, change: Value) {
    db.patch(change).await;
    db.ns
        .until::<SampleDB, ()>("shop", "nothing to be stalled", |db| {
            db.filter(|db| db.is_ready() && db.condition("Stalled").is_none()).map(drop)
        })
        .await;
    db.ns.until::<Job, ()>("shop-trial", "the trial to be over", |job| job.is_none().then_some(())).await;
    assert_eq!(db.pod_uid().await, *uid, "the pod is as asked again");
}

#[tokio::test]
async fn a_pod_that_serves_is_not_deleted_for_one_that_no_node_takes() {
    let ns = namespace("sdb-nowhere").await;
    let db = Database::apply(&ns, "shop", QUIET).await;
    db.serves().await;
    db.asks("create table once as select 1 a").await;
    let before = db.pod_uid().await;
    let message = refused(db, &before, json!({ "nodeSelector": { "disktype": "nowhere" } })).await;
    assert!(message.contains("node affinity/selector"), "{message}");
    let set = ns.get::<StatefulSet>("shop").await;
    let template = set.spec.and_then(|spec| spec.template.spec).expect("a template");
    assert_eq!(template.node_selector, None, "a pod that is lost comes back as it was");
    ns.api::<Pod>().delete("shop-0", &DeleteParams::default()).await.expect("the pod can be deleted");
    db.has_another_pod(before).await;
    ns.until::<SampleDB, ()>("shop", "a database that serves", |db| db?.is_ready().then_some(())).await;
    assert_eq!(db.asks("select a from once").await, "1");
    let before = db.pod_uid().await;
    db.says("Stalled", True, "PodRefused").await;
    taken_back(db, &before, json!({ "nodeSelector": null })).await;
    let message = refused(db, &before, json!({ "resources": { "requests": { "memory": "4Ti" } } })).await;
    assert!(message.contains("Insufficient memory"), "{message}");
    // Neither a backup nor the last one waits for such a node.
    db.snapshot("late").await;
    db.delete(PropagationPolicy::Background).await;
    db.is_deleted().await;
}

#[tokio::test]
async fn a_pod_that_serves_is_not_deleted_for_one_that_cannot_start() {
    let ns = Namespace::new("sdb-not-starting").await;
    let db = Database::apply(&ns, "shop", QUIET).await;
    db.serves().await;
    let before = db.pod_uid().await;
    let user = json!({ "podSecurityContext": { "runAsNonRoot": true, "runAsUser": 1000, "fsGroup": 1000 } });
    let message = refused(db, &before, user).await;
    assert!(message.contains("user 1000") && message.contains("user 999"), "{message}");
    taken_back(db, &before, json!({ "podSecurityContext": null })).await;
    let limits = json!({ "resources": { "limits": { "memory": "16Mi" }, "requests": { "memory": "16Mi" } } });
    let message = refused(db, &before, limits).await;
    assert!(message.contains("memory"), "{message}");
    taken_back(db, &before, json!({ "resources": null })).await;
    // The image says that it runs as root.
    let message = refused(db, &before, json!({ "podSecurityContext": { "fsGroup": 999 } })).await;
    assert!(message.contains("user 0"), "{message}");
    taken_back(db, &before, json!({ "podSecurityContext": null })).await;
}

#[tokio::test]
async fn another_placement_costs_one_restart() {
    let ns = namespace("sdb-placed").await;
    let db = Database::apply(&ns, "shop", QUIET).await;
    db.serves().await;
    let before = db.pod_uid().await;
    let nodes: Api<Node> = Api::all(ns.api::<Pod>().into_client());
    let node = nodes.list(&ListParams::default()).await.expect("the nodes").items.swap_remove(0);
    let label = "kubernetes.io/hostname";
    db.patch(json!({ "nodeSelector": { label: node.labels()[label] }, "resources": { "requests": { "cpu": "60m" } } }))
        .await;
    db.has_another_pod(before).await;
    db.ns.until::<SampleDB, ()>("shop", "a database that serves", |db| db?.is_ready().then_some(())).await;
    let before = db.pod_uid().await;
    taken_back(db, &before, json!({})).await;
    let spec = ns.get::<Pod>("shop-0").await.spec.expect("a spec");
    assert_eq!(spec.node_selector.and_then(|of| of.get(label).cloned()).as_ref(), node.labels().get(label));
}
