//! A node that is cut off from the network, while everything on it keeps running.

use std::time::Instant;

use e2e::namespace::Namespace;
use k8s_openapi::api::core::v1::Pod;

use crate::pods::{SLEEP, address_of, asks, container, in_pod, pod_on};
use crate::stage::{NODE_COMES_BACK, NODE_IS_GIVEN_UP, act, first, third, until_ready};

/// Serves, and notes each second, and each second in which the API server can be reached.
const TICKS: &str = "nginx; while sleep 1; do date +%s >>/tmp/ticks; \
    timeout 1 bash -c '</dev/tcp/kubernetes.default.svc.cluster.local/443' 2>/dev/null && date +%s >>/tmp/reached; done";

/// The longest time between two of the seconds that a file in the pod has, while the node was isolated.
async fn longest_gap(ns: &Namespace, file: &str) -> u64 {
    let seconds = in_pod(ns, "inside", &format!("cat {file}")).await.expect("the pod runs");
    let seconds: Vec<u64> = seconds.lines().map(|line| line.parse().expect("a time")).collect();
    seconds.windows(2).map(|pair| pair[1] - pair[0]).max().unwrap_or_default()
}

fn container_id(pod: &Pod) -> Option<&str> {
    pod.status.as_ref()?.container_statuses.as_ref()?.first()?.container_id.as_deref()
}

#[tokio::test]
async fn an_isolated_node_is_given_up_and_its_pods_live() {
    let turn = third().await;
    let ns = Namespace::without_manager("isolated").await;
    let inside = pod_on(&ns, "inside", &turn.node, &container(TICKS, None)).await;
    pod_on(&ns, "outside", &first(), &container(SLEEP, None)).await;
    let address = address_of(&inside);
    ns.eventually("the pod to be reached", || asks(&ns, "outside", address, 80)).await;
    ns.eventually("the pod to reach the API server", || in_pod(&ns, "inside", "tail -n 1 /tmp/reached")).await;

    let begun = Instant::now();
    drop(act(&turn.node, "isolate").await.ok());
    let cut = asks(&ns, "outside", address, 80).await.expect_err("nothing reaches an isolated node");
    assert!(cut.contains("exit code 124") || cut.contains("No route to host"), "a cut cable is silent: {cut}");
    until_ready(&turn.node, "Unknown", NODE_IS_GIVEN_UP).await;
    println!("the node is given up: {:.1} s", begun.elapsed().as_secs_f64());
    asks(&ns, "outside", address, 80).await.expect_err("nor later");

    let rejoined = Instant::now();
    drop(act(&turn.node, "rejoin").await.ok());
    until_ready(&turn.node, "True", NODE_COMES_BACK).await;
    println!("rejoined and Ready: {:.1} s", rejoined.elapsed().as_secs_f64());
    ns.eventually("the pod to be reached again", || asks(&ns, "outside", address, 80)).await;
    ns.eventually("the pod to reach the API server again", || async {
        let script = "test $(($(date +%s) - $(tail -n 1 /tmp/reached))) -lt 5";
        in_pod(&ns, "inside", script).await.map(|_| ())
    })
    .await;
    let after: Pod = ns.get("inside").await;
    assert_eq!(container_id(&after), container_id(&inside), "its container was not started again");
    let (lived, reached) = (longest_gap(&ns, "/tmp/ticks").await, longest_gap(&ns, "/tmp/reached").await);
    assert!(lived < 15, "it did nothing for {lived} s");
    assert!(reached > 30, "it was out of reach of the API server for {reached} s only");
}
