//! The Service for clients, published as the spec says.

use api::ConditionStatus;
use e2e::etcd::{Etcd, namespace};
use k8s_openapi::api::core::v1::Service;
use kube::ResourceExt as _;
use serde_json::json;

#[tokio::test]
async fn the_service_for_clients_is_published_and_taken_back() {
    let ns = namespace("etcd-service").await;
    let etcd = Etcd::apply(&ns, "web", "{size: 1}").await;
    etcd.runs(1).await;
    let pods = etcd.pod_uids().await;
    let type_ = |service: &Service| service.spec.as_ref().and_then(|spec| spec.type_.clone()).unwrap_or_default();
    let port = |service: &Service| service.spec.as_ref()?.ports.as_ref()?.first()?.node_port;

    etcd.patch(json!({ "service": { "type": "NodePort", "annotations": { "example.com/team": "a" } } })).await;
    let published = |service: Option<&Service>| {
        let service = service?;
        let annotated = service.annotations().get("example.com/team").is_some_and(|team| team == "a");
        (type_(service) == "NodePort" && annotated).then(|| port(service)).flatten()
    };
    let chosen = ns.until::<Service, i32>("web-client", "a port of each node", published).await;
    assert!(chosen >= 30_000, "{chosen}");
    // A port that Kubernetes does not give is reported, and clients keep what they have.
    etcd.patch(json!({ "service": { "nodePort": 80 } })).await;
    let message = etcd.says("Stalled", ConditionStatus::True, "Rejected").await;
    assert!(message.contains("web-client") && message.contains("not in the valid range"), "{message}");
    assert_eq!(port(&ns.get::<Service>("web-client").await), Some(chosen));
    etcd.patch(json!({ "service": null })).await;
    ns.until::<Service, ()>("web-client", "a Service of the cluster alone", |service| {
        let service = service?;
        (type_(service) == "ClusterIP" && service.annotations().get("example.com/team").is_none()).then_some(())
    })
    .await;
    etcd.runs(1).await;
    assert_eq!(etcd.pod_uids().await, pods);
}
