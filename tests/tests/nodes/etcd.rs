//! A node of an etcd cluster is down for good, with a member and its volume.

use std::time::Instant;

use e2e::etcd::{Etcd, Writer, ids, namespace};
use serde_json::json;

use crate::pods::node_of;
use crate::stage::{NODE_COMES_BACK, act, third, until_ready};

#[tokio::test]
async fn its_member_is_replaced_elsewhere_and_its_volume_stays() {
    let turn = third().await;
    let ns = namespace("etcd-lost-node").await;
    let etcd = Etcd::apply(&ns, "web", "{size: 3, replaceAfter: 90s, storage: {onDelete: Delete}}").await;
    let before = etcd.runs(3).await;
    let pods = etcd.pods().await;
    let (lost, _) = pods.iter().find(|(_, pod)| node_of(pod) == turn.node).expect("members are spread over all nodes");
    let writer = Writer::start(&etcd).await;
    let leader = before.status.as_ref().and_then(|status| status.leader.clone());
    println!("the lost member leads: {}", leader.as_ref() == Some(lost));

    let begun = Instant::now();
    drop(act(&turn.node, "stop").await.ok());
    let replaced = etcd
        .until("another member", |cluster| {
            let ready = cluster.status.as_ref()?.ready.as_deref() == Some("3/3");
            (ready && !ids(cluster).contains_key(lost)).then(|| cluster.clone())
        })
        .await;
    println!("a member elsewhere is ready {:.1?} after the node stopped (replaceAfter: 90s)", begun.elapsed());
    assert!(etcd.pods().await.iter().filter(|(name, _)| *name != lost).all(|(_, pod)| node_of(pod) != turn.node));
    writer.writes(20).await;
    writer.verdict(&replaced).await;

    drop(act(&turn.node, "start").await.ok());
    until_ready(&turn.node, "True", NODE_COMES_BACK).await;
    ns.eventually("the lost member's PVC to be retained", || async {
        let labels = etcd.claims().await.remove(lost).and_then(|claim| claim.metadata.labels).unwrap_or_default();
        labels.get("multi-operator.example.com/retired").map(drop).ok_or_else(|| format!("{}", json!(labels)))
    })
    .await;
    let after = etcd.runs(3).await;
    assert_eq!(ids(&after), ids(&replaced), "it does not come back");
    writer.verdict(&after).await;
}
