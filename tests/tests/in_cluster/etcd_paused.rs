//! `spec.paused` keeps everything as it is.

use std::time::Duration;

use api::ConditionStatus;
use e2e::cluster;
use e2e::etcd::{Etcd, ids, namespace};
use e2e::objects::ManagedKind;
use serde_json::json;
use tokio::time::sleep;

use crate::writes::{lines, writes};

/// TestPauseControl of coreos/etcd-operator.
#[tokio::test]
async fn a_lost_pod_is_not_replaced_while_paused_and_is_after() {
    let ns = namespace("etcd-paused").await;
    let etcd = Etcd::apply(&ns, "web", "{size: 3}").await;
    let members = ids(&etcd.runs(3).await);
    etcd.patch(json!({ "paused": true })).await;
    etcd.until("controlPaused", |cluster| e2e::etcd::status(cluster)?.control_paused.then_some(())).await;
    let paused = etcd.now().await;
    let ready = paused.condition("Ready").expect("a condition");
    assert_eq!((ready.status, &*ready.reason), (ConditionStatus::True, "Paused"), "{ready:?}");
    let (audit, lost) = (cluster::audit(), members.keys().next().expect("members"));
    etcd.lose_pods(&[lost]).await;
    let reported = etcd.reports(&["paused"]).await;
    println!("paused, and a pod is deleted: {}", reported.message);
    // As for how long it should have been replaced by then: a pod that is lost is started again within a second.
    sleep(Duration::from_secs(8)).await;
    assert!(!etcd.pods().await.contains_key(lost));
    etcd.scale(5).await;
    etcd.until("the new generation to be seen", |cluster| e2e::etcd::status(cluster).map(drop)).await;
    let written: Vec<_> = writes(&audit, &ns).into_iter().filter(|call| call.subresource != "status").collect();
    assert!(written.is_empty(), "{}", lines(&written));
    etcd.scale(3).await;
    etcd.patch(json!({ "paused": false })).await;
    let after = etcd.runs(3).await;
    assert_eq!(ids(&after), members);
    assert_eq!(after.status.map(|status| status.control_paused), Some(false));
}
