//! The annotation `etcd.database.coreos.com/move-leader`: each new value has another member lead, once.

use std::time::Duration;

use api::etcd_cluster::{EtcdCluster, MOVE_LEADER};
use e2e::cluster;
use e2e::etcd::{Etcd, Writer, ids, namespace};
use e2e::namespace::Namespace;
use e2e::objects::ManagedKind;
use tokio::time::sleep;

use crate::writes::{lines, writes};

async fn annotate(ns: &Namespace, value: &str) {
    let annotation = format!("{MOVE_LEADER}={value}");
    drop(ns.kubectl(&["annotate", "--overwrite", "etcdcluster/web", &annotation]).await.ok());
}

fn leader(cluster: &EtcdCluster) -> Option<String> {
    cluster.status.as_ref()?.leader.clone()
}

/// Whether that value has been answered, and nothing of it is left to do.
fn answered(cluster: &EtcdCluster, value: &str) -> Option<()> {
    let status = e2e::etcd::status(cluster)?;
    (status.leader_moved_for.as_deref() == Some(value) && status.leader_moving_from.is_none()).then_some(())
}

#[tokio::test]
async fn each_new_value_has_another_member_lead_and_touches_no_pod() {
    let ns = namespace("etcd-leader").await;
    let etcd = Etcd::apply(&ns, "web", "{size: 3}").await;
    let before = etcd.runs(3).await;
    let (pods, writer) = (etcd.pod_uids().await, Writer::start(&etcd).await);
    annotate(&ns, "first").await;
    etcd.until("another leader", |cluster| answered(cluster, "first")).await;
    let after = etcd.runs(3).await;
    assert_ne!(leader(&after), leader(&before));
    assert_eq!((ids(&after), etcd.pod_uids().await), (ids(&before), pods.clone()));
    println!("{}", etcd.announces("LeaderMoved").await);
    // The same value, and no value, request nothing.
    let audit = cluster::audit();
    annotate(&ns, "first").await;
    annotate(&ns, "").await;
    sleep(Duration::from_secs(5)).await;
    // The status reports what the value causes.
    let written: Vec<_> = writes(&audit, &ns).into_iter().filter(|call| call.subresource != "status").collect();
    assert!(written.is_empty(), "{}", lines(&written));
    assert_eq!(leader(&etcd.now().await), leader(&after));
    let moved = etcd.events().await.into_iter().filter(|(reason, _)| reason == "LeaderMoved").count();
    assert_eq!(moved, 1);
    // While paused it waits, and says so.
    etcd.patch(serde_json::json!({ "paused": true })).await;
    annotate(&ns, "second").await;
    let waits = |cluster: &EtcdCluster| {
        cluster.condition("Ready")?.message.contains("is pending: the cluster is paused").then_some(())
    };
    etcd.until("the condition to say why not", waits).await;
    assert_eq!(leader(&etcd.now().await), leader(&after));
    etcd.patch(serde_json::json!({ "paused": false })).await;
    etcd.until("another leader", |cluster| answered(cluster, "second")).await;
    let last = etcd.runs(3).await;
    assert_ne!(leader(&last), leader(&after));
    assert_eq!(etcd.pod_uids().await, pods);
    writer.writes(20).await;
    writer.verdict(&last).await.never_refused_for(Duration::from_secs(5));
}

#[tokio::test]
async fn a_single_member_keeps_leading_and_an_event_says_so() {
    let ns = namespace("etcd-leader-one").await;
    let etcd = Etcd::apply(&ns, "web", "{size: 1}").await;
    let before = etcd.runs(1).await;
    annotate(&ns, "first").await;
    etcd.until("an answer", |cluster| answered(cluster, "first")).await;
    println!("{}", etcd.announces("LeaderNotMoved").await);
    assert_eq!(leader(&etcd.now().await), leader(&before));
}
