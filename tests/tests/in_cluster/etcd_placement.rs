//! Before the only member gives up its pod, the operator tries whether a pod of the new spec starts.

use api::ConditionStatus::True;
use e2e::etcd::{Etcd, Writer, ids, namespace};
use e2e::objects::ManagedKind;
use k8s_openapi::api::core::v1::{Node, Pod};
use kube::ResourceExt;
use kube::api::{Api, ListParams};
use serde_json::{Value, json};

/// Waits until nothing is left of a trial, and the member has that pod.
async fn rests(etcd: &Etcd<'_>) {
    etcd.until("nothing to be stalled", |etcd| (etcd.is_ready() && etcd.condition("Stalled").is_none()).then_some(()))
        .await;
    etcd.ns.until::<Pod, ()>("web-placement", "the trial to be over", |pod| pod.is_none().then_some(())).await;
}

#[tokio::test]
async fn the_only_member_keeps_its_pod_until_another_one_starts() {
    let ns = namespace("etcd-nowhere").await;
    let etcd = Etcd::apply(&ns, "web", "{size: 1}").await;
    let before = etcd.runs(1).await;
    let (pods, writer) = (etcd.pod_uids().await, Writer::start(&etcd).await);
    writer.writes(20).await;
    let missing = json!({ "configMapKeyRef": { "name": "not-there", "key": "level" } });
    for (pod, why) in [
        (json!({ "nodeSelector": { "disktype": "nowhere" } }), "node affinity/selector"),
        (json!({ "resources": { "requests": { "memory": "4Ti" } } }), "Insufficient memory"),
        (json!({ "etcdEnv": [{ "name": "ETCD_LOG_LEVEL", "valueFrom": missing }] }), "not-there"),
    ] {
        etcd.patch(json!({ "pod": pod })).await;
        let message = etcd.says("Stalled", True, "PodRefused").await;
        println!("it says: {message}");
        assert!(message.contains(why), "{message}");
        assert_eq!(etcd.pod_uids().await, pods, "{message}");
        etcd.patch(json!({ "pod": Value::Null })).await;
        rests(&etcd).await;
        assert_eq!(etcd.pod_uids().await, pods, "the pod is as asked again");
    }
    writer.writes(20).await;
    let nodes: Api<Node> = Api::all(ns.api::<Pod>().into_client());
    let node = nodes.list(&ListParams::default()).await.expect("the nodes").items.swap_remove(0);
    let label = "kubernetes.io/hostname";
    etcd.patch(json!({ "pod": { "nodeSelector": { label: node.labels()[label] } } })).await;
    ns.eventually("another pod", || async {
        let now = etcd.pod_uids().await;
        if now.len() == 1 && now != pods { Ok(()) } else { Err(format!("{now:?}")) }
    })
    .await;
    let after = etcd.runs(1).await;
    rests(&etcd).await;
    assert_eq!(ids(&after), ids(&before));
    writer.writes(20).await;
    writer.verdict(&after).await;
}
