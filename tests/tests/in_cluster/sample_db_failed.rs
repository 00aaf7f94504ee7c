//! Pods that fail for good, which no controller starts again.

use e2e::sample_db::{Database, Writer, namespace};
use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt;
use serde_json::json;

/// What the kubelet ends for good: after an eviction and a node's shutdown the pod is no different.
#[tokio::test]
async fn a_pod_that_has_failed_is_replaced() {
    let ns = namespace("sdb-failed").await;
    let db = Database::apply(&ns, "shop", "{backup: {immediate: false}}").await;
    db.serves().await;
    let writer = Writer::start(db).await;
    writer.writes(20).await;
    let failed = ns.api::<Pod>().get("shop-0").await.expect("a pod").uid();
    ns.patch("pod/shop-0", &json!({ "spec": { "activeDeadlineSeconds": 1 } })).await;
    ns.until::<Pod, ()>("shop-0", "another pod", |pod| pod.filter(|pod| pod.uid() != failed).map(drop)).await;
    db.serves().await;
    writer.writes(20).await;
    let (rows, _) = writer.verdict().await;
    println!("{rows} acknowledged rows, none lost");
}
