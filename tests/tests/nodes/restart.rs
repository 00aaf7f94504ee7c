//! A node that loses its power and is back before Kubernetes gives it up: its pods return where they were, with their data.

use std::time::Instant;

use e2e::namespace::Namespace;
use k8s_openapi::api::core::v1::{PersistentVolume, PersistentVolumeClaim, Pod};
use kube::{Api, ResourceExt};

use crate::pods::{SLEEP, address_of, container, in_pod, node_of, pod_on, set_rather_on, until_serves};
use crate::stage::{act, first, ready, second};

fn restarts(pod: &Pod) -> i32 {
    let statuses = pod.status.as_ref().and_then(|status| status.container_statuses.as_deref()).unwrap_or_default();
    statuses.iter().map(|status| status.restart_count).sum()
}

/// The nodes on which a PVC's volume can be used.
async fn nodes_of_claim(ns: &Namespace, claim: &str) -> Vec<String> {
    let claim: PersistentVolumeClaim = ns.get(claim).await;
    let volume = claim.spec.and_then(|spec| spec.volume_name).expect("the claim is bound");
    let volume = Api::<PersistentVolume>::all(ns.client.clone()).get(&volume).await.expect("the volume is there");
    let affinity = volume.spec.and_then(|spec| spec.node_affinity).and_then(|affinity| affinity.required);
    let terms = affinity.map(|affinity| affinity.node_selector_terms).unwrap_or_default();
    let all = terms.into_iter().flat_map(|term| term.match_expressions.unwrap_or_default());
    all.flat_map(|expression| expression.values.unwrap_or_default()).collect()
}

/// Connects from the pod `outside`, and listens for 10 s: the exit status of `timeout`, which is 124 if the server says
/// nothing and closes nothing.
async fn holds_a_connection(ns: &Namespace, address: &str) -> String {
    let script = format!("exec 3<>/dev/tcp/{address}/80; echo yes >/tmp/connected; timeout 10 cat <&3; echo $?");
    ns.kubectl(&["exec", "outside", "--", "bash", "-c", &script]).await.ok().trim().to_owned()
}

#[tokio::test]
async fn a_pod_with_a_volume_returns_with_its_data() {
    let turn = second().await;
    let ns = Namespace::without_manager("restart").await;
    let before = set_rather_on(&ns, "kept", &turn.node, 300).await;
    assert_eq!(nodes_of_claim(&ns, "data-kept-0").await, std::slice::from_ref(&turn.node));
    in_pod(&ns, "kept-0", "echo of value >/data/file && sync").await.expect("the volume takes a file");
    in_pod(&ns, "kept-0", "echo gone >/tmp/file").await.expect("the container takes a file");
    pod_on(&ns, "outside", &first(), &container(SLEEP, None)).await;

    let begun = Instant::now();
    let (heard, ()) = tokio::join!(holds_a_connection(&ns, address_of(&before)), async {
        ns.eventually("a connection to the pod", || in_pod(&ns, "outside", "cat /tmp/connected")).await;
        drop(act(&turn.node, "stop").await.ok());
    });
    assert_eq!(heard, "124", "a node without power closes no connection: the client hears nothing until it gives up");
    assert_eq!(ready(&turn.node).await.expect("the Node stays").status, "True", "the outage is not noticed yet");
    drop(act(&turn.node, "start").await.ok());
    println!("stopped for 10 s and back: {:.1} s", begun.elapsed().as_secs_f64());

    let after = ns
        .until::<Pod, Pod>("kept-0", "its container to be started again", |pod| {
            pod.filter(|pod| restarts(pod) > restarts(&before)).cloned()
        })
        .await;
    assert_eq!(after.uid(), before.uid(), "it is the same pod");
    let after = until_serves(&ns, "kept-0").await;
    println!("its pod ready again: {:.1} s", begun.elapsed().as_secs_f64());
    assert_eq!(node_of(&after), turn.node);
    assert_eq!(in_pod(&ns, "kept-0", "cat /data/file").await.as_deref(), Ok("of value"));
    in_pod(&ns, "kept-0", "cat /tmp/file").await.expect_err("a new container has what its image has");
}
