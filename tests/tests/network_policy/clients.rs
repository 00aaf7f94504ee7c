//! Who may use databases and etcd: pods that bear the label for it, in the same namespace.

use e2e::etcd::Etcd;
use e2e::namespace::{Namespace, RESTRICTED};
use e2e::sample_db::Database;
use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt;
use serde_json::json;

use crate::probe::{MAY_I_USE_TLS, MEMBERS, Probe, VERSION};
use crate::stage::{guarded, shared};

/// The address of a pod.
pub(crate) async fn address(ns: &Namespace, pod: &str) -> String {
    let live: Pod = ns.get(pod).await;
    live.status.and_then(|status| status.pod_ip).unwrap_or_else(|| panic!("{pod} has no address"))
}

pub(crate) async fn label(ns: &Namespace, pod: &str, label: &str) {
    drop(ns.kubectl(&["label", "--overwrite", "pod", pod, label]).await.ok());
}

#[tokio::test]
async fn only_clients_of_postgres_reach_it() {
    let _turn = shared().await;
    let ns = guarded("np-postgres-clients").await;
    let elsewhere = ns.another("np-elsewhere", &[RESTRICTED]).await;
    let db = Database::apply(&ns, "orders", "{engine: {version: '15'}, backup: {immediate: false}}").await;
    db.serves().await;
    let (server, client) = (address(&ns, "orders-0").await, "multi-operator.example.com/postgres-client");
    let pod = Probe::new(&ns, "pod", &json!({ "multi-operator.example.com/etcd-client": "true" })).await;
    let other_client = Probe::new(&elsewhere, "other", &json!({ client: "true" })).await;
    let through_service = format!("orders-rw.{}.svc", ns.name);

    pod.is_shut_out(&server, 5432, MAY_I_USE_TLS).await;
    other_client.is_shut_out(&server, 5432, MAY_I_USE_TLS).await;
    label(&ns, "pod", &format!("{client}=true")).await;
    assert_eq!(pod.gets_through(&server, 5432, MAY_I_USE_TLS).await, "N");
    assert_eq!(pod.gets_through(&through_service, 5432, MAY_I_USE_TLS).await, "N");
    other_client.is_shut_out(&server, 5432, MAY_I_USE_TLS).await;
    other_client.is_shut_out(&through_service, 5432, MAY_I_USE_TLS).await;
    label(&ns, "pod", &format!("{client}-")).await;
    pod.is_shut_out(&server, 5432, MAY_I_USE_TLS).await;
}

#[tokio::test]
async fn only_clients_of_etcd_reach_it_and_none_reaches_the_port_of_members() {
    let _turn = shared().await;
    let ns = guarded("np-etcd-clients").await;
    let etcd = Etcd::apply(&ns, "settings", "{size: 1, version: 3.5.35}").await;
    etcd.runs(1).await;
    let pods = etcd.pods().await;
    let member = address(&ns, &pods.values().next().expect("a member").name_any()).await;
    let client = "multi-operator.example.com/etcd-client";
    let pod = Probe::new(&ns, "pod", &json!({ "multi-operator.example.com/postgres-client": "true" })).await;

    pod.is_shut_out(&member, 2379, VERSION).await;
    label(&ns, "pod", &format!("{client}=true")).await;
    let version = pod.gets_through(&member, 2379, VERSION).await;
    assert!(version.contains("3.5.35"), "{version}");
    // What keeps it out there is the policy: without one it reads who is a member.
    pod.is_shut_out(&member, 2380, MEMBERS).await;
    drop(ns.kubectl(&["delete", "networkpolicy", "multi-operator-etcd", "name-server-on-node"]).await.ok());
    let members = pod.gets_through(&member, 2380, MEMBERS).await;
    assert!(members.contains("peerURLs"), "{members}");
}
