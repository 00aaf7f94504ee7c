//! Pods that fail for good, which no controller starts again.

use e2e::sample_db::{Database, Writer, namespace};
use serde_json::json;

/// What the kubelet ends for good: after an eviction and a node's shutdown the pod is no different.
#[tokio::test]
async fn a_pod_that_has_failed_is_replaced() {
    let ns = namespace("sdb-failed").await;
    let db = Database::apply(&ns, "shop", "{backup: {immediate: false}}").await;
    db.serves().await;
    let writer = Writer::start(db).await;
    writer.writes(20).await;
    let failed = db.pod_uid().await;
    ns.patch("pod/shop-0", &json!({ "spec": { "activeDeadlineSeconds": 1 } })).await;
    db.has_another_pod(failed).await;
    db.serves().await;
    writer.writes(20).await;
    let (rows, _) = writer.verdict().await;
    println!("{rows} acknowledged rows, none lost");
}
