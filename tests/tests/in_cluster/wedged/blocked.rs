//! EtcdClusters that cannot go on, or not go, before a person has done something.

use e2e::cluster;
use e2e::etcd::{self, Etcd, ids};
use e2e::namespace::Namespace;
use serde_json::json;

use super::clusters::{SETTLES, WEB};
use super::count::counted;
use super::{Says, Server, Wedge, reached, state};

#[tokio::test]
#[ignore = "scripts/test --all long: minutes in which nothing gets better are counted"]
async fn an_etcd_cluster_that_waits_for_a_person_costs_little() {
    let turn = etcd::namespace("wedged-blocked").await;
    let audit = cluster::audit();
    let (wedges, mut wrong) = reached(vec![
        state("a quorum whose PVCs are being deleted, and its pods deleted", &turn, lost_quorum),
        state("a deletion that would take along what no pod can read", &turn, blocked_deletion),
        state("pods as asked that the API server refuses", &turn, refused_pod),
        state("claims of two clusters and no status", &turn, ambiguous_claims),
    ])
    .await;
    wrong.extend(counted(&audit, &wedges, SETTLES).await);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Deletes a member's PVC and pod at once. A finalizer keeps the PVC.
async fn delete_both(ns: &Namespace, member: &str) {
    let (claim, pod) = (format!("persistentvolumeclaim/{member}"), format!("pod/{member}"));
    drop(ns.kubectl(&["delete", &claim, &pod, "--wait=false", "--grace-period=1"]).await.ok());
}

async fn lost_quorum(ns: Namespace) -> Wedge {
    let etcd = Etcd::apply(&ns, "web", "{size: 3}").await;
    let members: Vec<String> = ids(&etcd.runs(3).await).into_keys().collect();
    tokio::join!(delete_both(&ns, &members[0]), delete_both(&ns, &members[1]));
    Wedge::reached(ns, Says::stalled(WEB, "QuorumLost"), Server::None).await
}

async fn blocked_deletion(ns: Namespace) -> Wedge {
    let etcd = Etcd::apply(&ns, "web", "{size: 1}").await;
    let member = ids(&etcd.runs(1).await).into_keys().next().expect("a member");
    delete_both(&ns, &member).await;
    drop(ns.kubectl(&["delete", WEB, "--wait=false"]).await.ok());
    Wedge::reached(ns, Says::new(WEB, "Terminating", "True", "DeletionBlocked"), Server::None).await
}

/// Pod Security allows no pod to run as root.
async fn refused_pod(ns: Namespace) -> Wedge {
    let etcd = Etcd::apply(&ns, "web", "{size: 3}").await;
    etcd.runs(3).await;
    etcd.patch(json!({ "pod": { "securityContext": { "runAsUser": 0 } } })).await;
    Wedge::reached(ns, Says::stalled(WEB, "PodRefused"), Server::None).await
}

/// A label of one of its PVCs is the mark of another cluster. While it is paused, the operator does not correct that.
async fn ambiguous_claims(ns: Namespace) -> Wedge {
    let etcd = Etcd::apply(&ns, "web", "{size: 3}").await;
    let members: Vec<String> = ids(&etcd.runs(3).await).into_keys().collect();
    etcd.patch(json!({ "paused": true })).await;
    etcd.until("it to be paused", |cluster| cluster.status.as_ref()?.control_paused.then_some(())).await;
    let claim = format!("persistentvolumeclaim/{}", members[0]);
    let label = ["label", "--overwrite", &claim, "multi-operator.example.com/cluster-id=a1"];
    drop(ns.kubectl(&label).await.ok());
    for member in &members {
        drop(ns.kubectl(&["delete", &format!("pod/{member}"), "--wait=true"]).await.ok());
    }
    e2e::erasing::erase_status_with_retries(&ns, WEB).await;
    etcd.patch(json!({ "paused": false })).await;
    Wedge::reached(ns, Says::stalled(WEB, "VolumesAmbiguous"), Server::None).await
}
