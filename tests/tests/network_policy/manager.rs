//! What the manager may reach, and what it reports when it may not.

use std::time::Duration;

use api::etcd_cluster::EtcdCluster;
use e2e::cluster::SYSTEM;
use e2e::etcd::{Etcd, ids};
use e2e::kubectl::kubectl;
use e2e::namespace::RESTRICTED;
use e2e::objects::{ManagedKind, serves};
use e2e::wait::{DEFAULT_TIMEOUT, wait_until};
use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt;
use serde_json::json;

use crate::probe::{MEMBERS, Probe, VERSION};
use crate::stage::{alone, directory, guarded, namespace, shared};

#[tokio::test]
async fn the_manager_reaches_nothing_but_what_it_works_with() {
    let _turn = shared().await;
    let ns = guarded("np-manager").await;
    let etcd = Etcd::apply(&ns, "settings", "{size: 1, version: 3.5.35}").await;
    etcd.runs(1).await;
    let member = etcd.pods().await.into_values().next().and_then(|pod| pod.status?.pod_ip).expect("an address");
    let apps = ns.another("np-nginx", &[]).await;
    drop(apps.kubectl(&["run", "nginx", "--image=docker.io/library/nginx:1.25"]).await.ok());
    let serving = |pod: Option<&Pod>| pod.filter(|pod| serves(pod)).and_then(|pod| pod.status.clone()?.pod_ip);
    let nginx = apps.until::<Pod, String>("nginx", "nginx", serving).await;
    let page = "GET / HTTP/1.0\\r\\n\\r\\n";

    let manager = Probe::in_manager(&ns).await;
    let service = ["get", "service", "kubernetes", "--namespace=default", "--output=jsonpath={.spec.clusterIP}"];
    let answer = manager.gets_through(kubectl(&service).await.ok().trim(), 443, VERSION).await;
    assert!(answer.contains("HTTPS server"), "the API server wants TLS: {answer}");
    assert!(manager.gets_through(&member, 2379, VERSION).await.contains("3.5.35"));
    assert!(manager.gets_through(&member, 2382, VERSION).await.contains("freeBytes"), "how full its volume is");
    manager.is_shut_out(&member, 2380, MEMBERS).await;
    manager.is_shut_out(&nginx, 80, page).await;
    // Another pod reaches it: nginx is there.
    let pod = Probe::new(&ns.another("np-reader", &[RESTRICTED]).await, "reader", &json!({})).await;
    assert!(pod.gets_through(&nginx, 80, page).await.contains("nginx"));
}

/// The manager's permission to reach etcd is removed; it is restored when this is dropped.
struct Without(&'static str);

impl Without {
    async fn right(policy: &'static str) -> Self {
        drop(kubectl(&["delete", "networkpolicy", policy, "--namespace", SYSTEM]).await.ok());
        Self(policy)
    }
}

impl Drop for Without {
    fn drop(&mut self) {
        let all = directory("config/network-policy");
        let apply = ["apply", "--server-side", "--force-conflicts", "--kustomize", &all];
        let applied = std::process::Command::new("kubectl").args(apply).stdout(std::process::Stdio::null()).status();
        assert!(applied.is_ok_and(|status| status.success()), "{} is not back", self.0);
    }
}

/// This shows that the policy allowed it before. Established connections are not cut, so this takes a new cluster.
#[tokio::test]
async fn a_policy_that_blocks_etcd_is_reported_and_the_manager_resumes_without_it() {
    let _turn = alone().await;
    let ns = guarded("np-no-etcd").await;
    let without = Without::right("multi-operator-to-etcd").await;
    let etcd = Etcd::apply(&ns, "settings", "{size: 1, version: 3.5.35}").await;
    let pod = wait_until("a member that is ready", Duration::from_secs(60), || async {
        let pods = etcd.pods().await;
        pods.into_values().find(serves).ok_or_else(|| "none yet".to_owned())
    })
    .await;
    // The manager queried it before it was ready, too: what it reports after a while is current.
    tokio::time::sleep(Duration::from_secs(6)).await;
    let reported = wait_until("the manager to say that it cannot reach the member", DEFAULT_TIMEOUT, || async {
        let reported = etcd.reports(&["0 of 1 members are ready", &pod.name_any()]).await.message;
        let reason = reported.contains("which refuses connections") || reported.contains("which cannot be reached");
        if reason { Ok(reported) } else { Err(reported) }
    })
    .await;
    println!("of a member that is ready: {reported}");
    drop(without);
    etcd.runs(1).await;
}

/// A policy allows other pods to reach members with a label, but not the manager: it takes effect with the members' next pods.
#[tokio::test]
async fn a_member_that_a_policy_hides_is_reported_and_gets_the_corrected_spec() {
    let _turn = shared().await;
    let ns = namespace("np-hidden", &[RESTRICTED]).await;
    let policy = json!({
        "apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy", "metadata": { "name": "hidden" },
        "spec": {
            "podSelector": { "matchLabels": { "hidden": "yes" } },
            "policyTypes": ["Ingress"], "ingress": [{ "from": [{ "podSelector": {} }] }],
        },
    });
    ns.apply(&policy.to_string()).await;
    let etcd = Etcd::apply(&ns, "settings", "{size: 1, version: 3.5.35}").await;
    let before = ids(&etcd.runs(1).await);
    etcd.patch(json!({ "pod": { "labels": { "hidden": "yes" } } })).await;
    let reported = ns
        .until_within::<EtcdCluster, String>(
            Duration::from_secs(240),
            "settings",
            "a member that is not reached",
            |cluster| {
                let stalled =
                    cluster?.condition("Stalled").filter(|stalled| stalled.reason.as_str() == "MembersUnreachable")?;
                Some(stalled.message.clone())
            },
        )
        .await;
    println!("of a member that a policy hides: {reported}");
    assert!(etcd.pods().await.values().all(serves), "its kubelet reaches it");
    etcd.patch(json!({ "pod": { "labels": null } })).await;
    assert_eq!(ids(&etcd.runs(1).await), before, "it is the same member, on its volume");
}
