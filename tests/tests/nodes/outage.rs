//! A node that is down for long: pods without a volume are replaced elsewhere, one with a volume waits for its node.

use std::time::Instant;

use e2e::namespace::Namespace;
use e2e::objects::serves;
use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt;
use kube::api::ListParams;
use serde_json::json;

use crate::pods::{SLEEP, container, for_seconds, in_pod, node_of, on, rather_on, set_rather_on, until_serves};
use crate::stage::{NODE_IS_GIVEN_UP, act, first, second, until_ready};

/// A Deployment of one pod, on that node as long as it can be, and never on the third one: that is another test's.
async fn deployment(ns: &Namespace, node: &str) {
    let mut affinity = on(&[&first(), node]);
    affinity["nodeAffinity"]["preferredDuringSchedulingIgnoredDuringExecution"] = rather_on(node);
    let deployment = json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": { "name": "moves" },
        "spec": {
            "replicas": 1, "selector": { "matchLabels": { "app": "moves" } },
            "template": {
                "metadata": { "labels": { "app": "moves" } },
                "spec": {
                    "affinity": affinity, "tolerations": for_seconds(5), "terminationGracePeriodSeconds": 1,
                    "containers": [container(SLEEP, None)],
                },
            },
        },
    });
    ns.apply(&deployment.to_string()).await;
    serves_on(ns, node).await;
}

/// Waits until the Deployment's pod serves on a node; its name.
async fn serves_on(ns: &Namespace, node: &str) -> String {
    ns.eventually(&format!("the Deployment's pod to serve on {node}"), || async {
        let selected = ListParams::default().labels("app=moves");
        let pods = ns.api::<Pod>().list(&selected).await.map_err(|error| error.to_string())?.items;
        let found = pods.iter().find(|pod| serves(pod) && node_of(pod) == node);
        let others: Vec<_> = pods.iter().map(|pod| (pod.name_any(), node_of(pod))).collect();
        found.map(ResourceExt::name_any).ok_or_else(|| format!("{others:?}"))
    })
    .await
}

/// Why a pod is not scheduled.
fn unscheduled(pod: &Pod) -> Option<&str> {
    let conditions = pod.status.as_ref().and_then(|status| status.conditions.as_deref()).unwrap_or_default();
    let condition =
        conditions.iter().find(|condition| condition.type_ == "PodScheduled" && condition.status == "False")?;
    condition.message.as_deref()
}

#[tokio::test]
async fn pods_are_replaced_and_one_with_a_volume_waits() {
    let turn = second().await;
    let ns = Namespace::without_manager("outage").await;
    deployment(&ns, &turn.node).await;
    let before = set_rather_on(&ns, "waits", &turn.node, 5).await;
    in_pod(&ns, "waits-0", "echo of value >/data/file && sync").await.expect("the volume takes a file");

    let begun = Instant::now();
    drop(act(&turn.node, "stop").await.ok());
    until_ready(&turn.node, "Unknown", NODE_IS_GIVEN_UP).await;
    println!("the node is given up: {:.1} s", begun.elapsed().as_secs_f64());
    serves_on(&ns, &first()).await;
    println!("its pod is replaced: {:.1} s", begun.elapsed().as_secs_f64());

    // It is terminating too, but only its kubelet can confirm that it has ended: until a client does that instead, there is no
    // other.
    ns.until::<Pod, ()>("waits-0", "the pod with a volume to be evicted", |pod| {
        pod.filter(|pod| pod.metadata.deletion_timestamp.is_some()).map(|_| ())
    })
    .await;
    drop(ns.kubectl(&["delete", "pod", "waits-0", "--force", "--grace-period=0"]).await.ok());
    let why = ns
        .until::<Pod, String>("waits-0", "its successor to be refused by all nodes", |pod| {
            let pod = pod.filter(|pod| pod.uid() != before.uid())?;
            unscheduled(pod).map(str::to_owned)
        })
        .await;
    assert!(why.contains("PersistentVolume's node affinity"), "{why}");

    drop(act(&turn.node, "start").await.ok());
    let after = until_serves(&ns, "waits-0").await;
    assert_eq!(node_of(&after), turn.node);
    assert_eq!(in_pod(&ns, "waits-0", "cat /data/file").await.as_deref(), Ok("of value"));
}
