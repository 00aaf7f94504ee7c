//! A cluster of one member: its volume is all there is.

use api::ConditionStatus;
use e2e::etcd::{Etcd, Writer, cluster_id, ids, namespace, restarts, run_on_volume};
use e2e::objects::ManagedKind;
use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt;
use serde_json::json;

use crate::writes::settled;

/// TestDataPersistence of etcd-io/etcd-operator, then TestSeedDataDirLossDoesNotRebootstrap of cozystack/etcd-operator.
#[tokio::test]
async fn data_outlives_the_pod_and_nothing_takes_the_place_of_lost_data() {
    let ns = namespace("etcd-single").await;
    let etcd = Etcd::apply(&ns, "web", "{size: 1}").await;
    let before = etcd.runs(1).await;
    let members = ids(&before);
    let name = members.keys().next().cloned().expect("a member");
    let begins = |pod: Option<&Pod>| Some(pod?.annotations().get("multi-operator.example.com/start")?.clone());
    let begins_none = |pod: Option<&Pod>| begins(pod).filter(|start| start == "data").map(|_| ());
    ns.until::<Pod, ()>(&name, "its pod to begin no cluster any more", begins_none).await;
    let writer = Writer::start(&etcd).await;
    writer.writes(20).await;
    etcd.lose_pods(&[&name]).await;
    let after = etcd.runs(1).await;
    assert_eq!((ids(&after), cluster_id(&after)), (members.clone(), cluster_id(&before)));
    writer.writes(20).await;
    writer.verdict(&after).await;

    let claims = etcd.claim_uids().await;
    run_on_volume(&ns, &name, "rm -rf /data/data; ls -la /data").await;
    etcd.lose_pods(&[&name]).await;
    let message = etcd.says("Stalled", ConditionStatus::True, "QuorumLost").await;
    println!("of a wiped volume it says: {message}");
    assert!(message.contains(&name) && message.contains("restore"), "{message}");
    settled(&e2e::cluster::audit(), &ns).await;
    let lost = etcd.now().await;
    assert_eq!((ids(&lost), cluster_id(&lost)), (members, cluster_id(&before)), "no new cluster was initialized");
    assert_eq!(etcd.claim_uids().await, claims);
    for (type_, status) in [("QuorumHealthy", ConditionStatus::False), ("Available", ConditionStatus::False)] {
        assert_eq!(lost.condition(type_).map(|condition| condition.status), Some(status), "{type_}");
    }
    let answer = etcd.etcdctl(&name, &["endpoint", "health"]).await;
    assert!(!answer.success, "an etcd runs on the wiped volume: {answer:?}");
}

/// While it has no pod, no pod shows which version was to come next.
#[tokio::test]
async fn other_options_and_another_minor_version_take_one_pod_and_one_restart() {
    let ns = namespace("etcd-single-both").await;
    let etcd = Etcd::apply(&ns, "web", "{size: 1, version: 3.6.16}").await;
    let before = etcd.runs(1).await;
    let (pods, writer) = (etcd.pod_uids().await, Writer::start(&etcd).await);
    writer.writes(20).await;
    etcd.patch(json!({ "version": "3.7.3", "options": { "max-wals": "7" } })).await;
    let after = etcd.runs(1).await;
    assert_eq!((ids(&after), cluster_id(&after)), (ids(&before), cluster_id(&before)));
    let verdict = writer.verdict(&after).await;
    assert!(verdict.members.iter().all(|member| member.version == "3.7.3"), "{verdict:#?}");
    let pod = etcd.pods().await.into_values().next().expect("a pod");
    assert_ne!(etcd.pod_uids().await, pods);
    assert_eq!(restarts(&pod), 1, "it keeps the pod that came first");
}
