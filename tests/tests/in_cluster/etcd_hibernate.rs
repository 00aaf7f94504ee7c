//! `spec.hibernate` stops all members, and the same ones resume on their volumes.

use api::ConditionStatus::{False, True, Unknown};
use e2e::cluster;
use e2e::etcd::{Etcd, ids, manifest, namespace};
use e2e::etcd_backup::Backup;
use serde_json::json;

use crate::writes::{lines, writes};

#[tokio::test]
async fn all_members_stop_and_the_same_ones_resume() {
    let ns = namespace("etcd-hibernate").await;
    let etcd =
        Etcd::apply(&ns, "web", "{size: 3, replaceAfter: 10s, recovery: {policy: Automatic, delaySeconds: 30}}").await;
    let members = ids(&etcd.runs(3).await);
    etcd.put("kept", "one").await;
    let (claims, before) = (etcd.claim_uids().await, etcd.now().await);
    etcd.patch(json!({ "hibernate": true })).await;
    let ready = etcd.says("Ready", True, "Hibernated").await;
    assert!(ready.contains("set spec.hibernate to false"), "{ready}");
    etcd.says("Available", False, "Hibernated").await;
    etcd.says("QuorumHealthy", Unknown, "Hibernated").await;
    assert!(etcd.announces("Hibernated").await.contains("keep their volumes"));
    assert!(etcd.pods().await.is_empty() && etcd.claim_uids().await == claims);

    // Nothing is started, written or waited for, whatever else is edited.
    let audit = cluster::audit();
    etcd.patch(json!({ "options": { "auto-compaction-retention": "2h" } })).await;
    etcd.until("the new generation to be seen", |cluster| e2e::etcd::status(cluster).map(drop)).await;
    let backup = "{clusterRef: {name: web}, pvc: {claimName: none}}";
    Backup::apply(&ns, "b", backup).await.reports("ClusterNotReady", &["hibernates"]).await;
    let written: Vec<_> = writes(&audit, &ns)
        .into_iter()
        .filter(|call| call.resource == "pods" || call.resource == "persistentvolumeclaims")
        .collect();
    assert!(written.is_empty() && etcd.pods().await.is_empty(), "{}", lines(&written));

    etcd.patch(json!({ "hibernate": false })).await;
    etcd.announces("Resumed").await;
    let after = etcd.runs(3).await;
    assert_eq!((ids(&after), etcd.claim_uids().await), (members, claims));
    assert_eq!(etcd.value("kept").await, "one");
    let cluster_id =
        |cluster: &api::etcd_cluster::EtcdCluster| cluster.status.as_ref().and_then(|status| status.cluster_id.clone());
    assert_eq!(cluster_id(&after), cluster_id(&before));
    let quiet = etcd.events().await;
    assert!(quiet.iter().all(|(reason, _)| reason != "QuorumLost" && reason != "Member Removed"), "{quiet:?}");

    let manifest = manifest("x", "{size: 1, hibernate: true, storage: {ephemeral: true}}");
    let apply = ["apply", "--dry-run=server", "--filename=-"];
    let said = ns.kubectl_with(&manifest, &apply).await.refused();
    assert!(said.contains("spec.hibernate needs volumes"), "{said}");
}
