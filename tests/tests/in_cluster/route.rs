//! `spec.route` and `spec.service`: access from outside of the cluster. The test does the work of a gateway's controller; a real
//! one is not needed to check what is created, kept, reported and deleted.

use std::time::Duration;

use api::ConditionStatus;
use api::my_app::{MyApp, ROUTE_ACCEPTED};
use e2e::cluster;
use e2e::namespace::Namespace;
use e2e::objects::ManagedKind;
use k8s_openapi::api::core::v1::Service;
use k8s_openapi::api::networking::v1::Ingress;
use kube::{CustomResource, ResourceExt};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::diagnosis::stalled;
use crate::edits::{By, is_back, spec};
use crate::manifest::my_app;
use crate::running::running;
use crate::writes::{calls, lines, settled, to, writes};

const CRD: &str = "httproutes.gateway.networking.k8s.io";

/// As much of the Gateway API's own CRD as makes a difference here: its defaults, and the subresource status.
fn crd() -> String {
    let open = json!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true });
    let text = |default: &str| json!({ "type": "string", "default": default });
    let list = |items: Value| json!({ "type": "array", "items": items });
    let object = |properties: Value| json!({ "type": "object", "properties": properties, "x-kubernetes-preserve-unknown-fields": true });
    let path = object(json!({ "type": text("PathPrefix"), "value": text("/") }));
    let backend = object(json!({
        "group": text(""), "kind": text("Service"), "weight": { "type": "integer", "default": 1 },
    }));
    let rule = object(json!({ "matches": list(object(json!({ "path": path }))), "backendRefs": list(backend) }));
    let parent = object(json!({ "group": text("gateway.networking.k8s.io"), "kind": text("Gateway") }));
    let spec = object(
        json!({ "parentRefs": list(parent), "hostnames": list(json!({ "type": "string" })), "rules": list(rule) }),
    );
    let version = json!({
        "name": "v1", "served": true, "storage": true, "subresources": { "status": {} },
        "schema": { "openAPIV3Schema": { "type": "object", "properties": { "spec": spec, "status": open } } },
    });
    let names =
        json!({ "plural": "httproutes", "singular": "httproute", "kind": "HTTPRoute", "listKind": "HTTPRouteList" });
    let crd = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": { "name": CRD, "annotations": { "api-approved.kubernetes.io": "unapproved, for a test" } },
        "spec": { "group": "gateway.networking.k8s.io", "scope": "Namespaced", "names": names, "versions": [version] },
    });
    crd.to_string()
}

/// The spec of an HTTPRoute, as it is stored.
#[derive(CustomResource, Clone, Debug, Serialize, Deserialize)]
#[kube(group = "gateway.networking.k8s.io", version = "v1", kind = "HTTPRoute", plural = "httproutes", namespaced)]
#[kube(schema = "disabled")]
struct HTTPRouteSpec {
    #[serde(flatten)]
    fields: Map<String, Value>,
}

/// Status and reason of the route's condition.
fn route(app: &MyApp) -> Option<(ConditionStatus, &str)> {
    app.condition(ROUTE_ACCEPTED).map(|condition| (condition.status, &*condition.reason))
}

async fn routed(ns: &Namespace, status: ConditionStatus, reason: &str) -> String {
    let what = format!("RouteAccepted={status:?} {reason}");
    ns.until::<MyApp, _>("web", &what, |app| {
        let condition = app?.condition(ROUTE_ACCEPTED)?;
        (condition.status == status && condition.reason.as_str() == reason).then(|| condition.message.clone())
    })
    .await
}

#[tokio::test]
async fn a_host_gets_an_ingress_that_is_kept_as_desired_and_deleted_with_the_host() {
    let ns = Namespace::new("ingress").await;
    let spec = "{replicas: 1, image: nginx:1.25, port: 80, route: {host: web.example.com, path: /shop, ingressClassName: none}}";
    ns.apply(&my_app("web", spec)).await;
    running(&ns, 1).await;
    routed(&ns, ConditionStatus::Unknown, "AddressPending").await;
    let created = ns.get::<Ingress>("web").await.spec.expect("a spec");
    let as_created = serde_json::to_value(&created).expect("JSON");
    let audit = cluster::audit();
    settled(&audit, &ns).await;
    for edit in [
        json!({ "spec": { "ingressClassName": "other" } }),
        json!({ "spec": { "tls": [{ "hosts": ["a.example.com"], "secretName": "a" }] } }),
        json!({ "spec": { "rules": [{ "host": "a.example.com" }] } }),
        json!({ "spec": { "defaultBackend": { "service": { "name": "a", "port": { "number": 1 } } } } }),
    ] {
        let mark = cluster::audit();
        ns.patch("ingress/web", &edit).await;
        ns.until::<Ingress, ()>("web", &format!("{edit} to be undone"), |live| {
            let spec = serde_json::to_value(live?.spec.as_ref()?).ok()?;
            (spec == as_created).then_some(())
        })
        .await;
        settled(&mark, &ns).await;
        let written = writes(&mark, &ns);
        assert_eq!(to(&written, "ingresses").len(), 1, "{edit} by one write:\n{}", lines(&written));
    }
    // Users configure controllers by annotations: these are foreign.
    let mark = cluster::audit();
    ns.patch("ingress/web", &json!({ "metadata": { "annotations": { "cert-manager.io/issuer": "a" } } })).await;
    settled(&mark, &ns).await;
    assert_eq!(writes(&mark, &ns).len(), 0);

    let address = json!({ "status": { "loadBalancer": { "ingress": [{ "ip": "192.0.2.1" }] } } }).to_string();
    let patched = ["patch", "ingress", "web", "--subresource=status", "--type=merge", "--patch", &address];
    drop(ns.kubectl(&patched).await.ok());
    let message = routed(&ns, ConditionStatus::True, "AddressAssigned").await;
    assert!(message.contains("192.0.2.1"), "{message}");
    ns.patch("myapp/web", &json!({ "spec": { "route": null } })).await;
    ns.until_deleted::<Ingress>("web").await;
    ns.until::<MyApp, ()>("web", "no word of a route", |app| route(app?).is_none().then_some(())).await;
}

/// With another class, the Ingress is recreated; new pods that never serve take no traffic from those that do.
#[tokio::test]
async fn a_route_leads_to_the_earlier_port_while_no_pod_has_the_new_one() {
    let ns = Namespace::new("ingress-port").await;
    ns.apply(&my_app(
        "web",
        "{replicas: 1, image: nginx:1.25, port: 80, route: {host: web.example.com, ingressClassName: none}}",
    ))
    .await;
    running(&ns, 1).await;
    let before = ns.until::<Ingress, _>("web", "it to be created", |created| created?.uid()).await;
    let edit = json!({ "image": "nginx:does-not-exist", "port": 8080, "route": { "ingressClassName": null } });
    ns.patch("myapp/web", &json!({ "spec": edit })).await;
    let port = |ingress: &Ingress| {
        let spec = serde_json::to_value(ingress.spec.as_ref()).unwrap_or_default();
        spec["rules"][0]["http"]["paths"][0]["backend"]["service"]["port"]["number"].as_i64()
    };
    ns.until::<Ingress, ()>("web", "another one, to the port that the Service has", |created| {
        (created?.uid().as_ref() != Some(&before) && port(created?) == Some(80)).then_some(())
    })
    .await;
    let message = stalled(&ns, "ImagePullBackOff").await;
    assert!(message.starts_with("1 of 1 pod is ready"), "{message}");
    assert_eq!(port(&ns.get::<Ingress>("web").await), Some(80), "the earlier pod serves");
    // Without pods, no client is affected.
    ns.patch("myapp/web", &json!({ "spec": { "replicas": 0 } })).await;
    let is_new = |created: Option<&Ingress>| (port(created?) == Some(8080)).then_some(());
    ns.until::<Ingress, ()>("web", "the port that is asked for", is_new).await;
}

#[tokio::test]
async fn an_ingress_that_is_rejected_is_reported_and_the_pods_serve() {
    let ns = Namespace::new("ingress-refused").await;
    ns.apply(&my_app("web", "{replicas: 1, image: nginx:1.25, port: 80, route: {host: 192.0.2.1}}")).await;
    let message = ns
        .until::<MyApp, _>("web", "the refusal in a condition", |app| {
            let stalled = app?.condition("Stalled").filter(|stalled| stalled.reason.as_str() == "Rejected")?;
            Some(stalled.message.clone())
        })
        .await;
    assert!(message.contains("must be a DNS name, not an IP address"), "{message}");
    running(&ns, 1).await;
    ns.patch("myapp/web", &json!({ "spec": { "route": { "host": "web.example.com" } } })).await;
    ns.until::<MyApp, ()>("web", "it not to be Stalled", |app| {
        (app?.is_ready() && app?.condition("Stalled").is_none()).then_some(())
    })
    .await;
}

/// One test, since the CRD belongs to the cluster.
#[tokio::test]
async fn a_gateway_gets_an_http_route_once_its_kind_is_served_and_its_conditions_are_reported() {
    let ns = Namespace::new("gateway").await;
    drop(ns.kubectl(&["delete", "crd", CRD, "--ignore-not-found"]).await.ok());
    let asked = "{replicas: 1, image: nginx:1.25, port: 80, route: {host: web.example.com, gateway: {name: public, namespace: infra}}}";
    ns.apply(&my_app("web", asked)).await;
    routed(&ns, ConditionStatus::False, "GatewayAPIMissing").await;
    running(&ns, 1).await;
    settled(&cluster::audit(), &ns).await;
    let mark = cluster::audit();
    tokio::time::sleep(Duration::from_secs(20)).await;
    let calls = calls(&mark, &ns);
    assert_eq!(calls.len(), 0, "it is no error that is tried again:\n{}", lines(&calls));

    ns.apply(&crd()).await;
    routed(&ns, ConditionStatus::Unknown, "AcceptancePending").await;
    let created = ns.kubectl(&["get", "httproutes", "web", "--output=json"]).await.ok();
    let created: Value = serde_json::from_str(&created).expect("JSON");
    assert_eq!(created["spec"]["rules"][0]["backendRefs"][0]["port"], 80, "{created}");
    let audit = cluster::audit();
    settled(&audit, &ns).await;

    let says = |type_: &str, status: &str, reason: &str| {
        let condition = json!({ "type": type_, "status": status, "reason": reason, "message": "why",
            "observedGeneration": created["metadata"]["generation"], "lastTransitionTime": "2026-01-01T00:00:00Z" });
        let parent = json!({ "parentRef": { "name": "public", "namespace": "infra" }, "controllerName": "example.com/test",
            "conditions": [condition] });
        json!({ "status": { "parents": [parent] } }).to_string()
    };
    for (type_, status, reason, becomes) in [
        ("Accepted", "False", "NotAllowedByListeners", ConditionStatus::False),
        ("ResolvedRefs", "False", "BackendNotFound", ConditionStatus::False),
        ("Accepted", "True", "Accepted", ConditionStatus::True),
    ] {
        let status = says(type_, status, reason);
        let patched = ["patch", "httproutes", "web", "--subresource=status", "--type=merge", "--patch", &status];
        drop(ns.kubectl(&patched).await.ok());
        routed(&ns, becomes, reason).await;
    }
    running(&ns, 1).await;
    for by in By::ALL {
        for (what, fields) in [
            ("the hosts", json!({ "hostnames": ["theirs.example.com"] })),
            ("the gateway", json!({ "parentRefs": [{ "name": "theirs" }] })),
            ("the rules", json!({ "rules": [{ "backendRefs": [{ "name": "theirs", "port": 1 }] }] })),
        ] {
            is_back::<HTTPRoute>(&ns, &audit, "web", by, what, spec(fields)).await;
        }
    }

    drop(ns.kubectl(&["delete", "crd", CRD]).await.ok());
    routed(&ns, ConditionStatus::False, "GatewayAPIMissing").await;
    // Back again, and from there to an Ingress.
    ns.apply(&crd()).await;
    routed(&ns, ConditionStatus::Unknown, "AcceptancePending").await;
    ns.patch("myapp/web", &json!({ "spec": { "route": { "gateway": null } } })).await;
    routed(&ns, ConditionStatus::Unknown, "AddressPending").await;
    ns.until_none("httproutes").await;
    drop(ns.kubectl(&["delete", "crd", CRD]).await.ok());
}

#[tokio::test]
async fn a_service_has_the_type_and_the_annotations_asked_for() {
    let ns = Namespace::new("service").await;
    let asked = "service: {type: NodePort, annotations: {example.com/pool: blue}}";
    ns.apply(&my_app("web", &format!("{{replicas: 0, image: nginx:1.25, port: 80, {asked}}}"))).await;
    let is =
        |service: &Service, type_: &str| service.spec.as_ref().is_some_and(|spec| spec.type_.as_deref() == Some(type_));
    let node_port = |service: &Service| service.spec.as_ref()?.ports.as_ref()?.first()?.node_port;
    let first = ns
        .until::<Service, _>("web", "a port of each node", |service| {
            let service = service?;
            node_port(service).filter(|_| is(service, "NodePort"))
        })
        .await;
    let audit = cluster::audit();
    settled(&audit, &ns).await;
    for edit in [
        json!({ "spec": { "type": "LoadBalancer", "loadBalancerSourceRanges": ["10.0.0.0/8"] } }),
        json!({ "metadata": { "annotations": { "example.com/pool": "red" } } }),
    ] {
        let mark = cluster::audit();
        ns.patch("service/web", &edit).await;
        ns.until::<Service, ()>("web", &format!("{edit} to be undone"), |service| {
            let (spec, annotations) = (service?.spec.as_ref()?, service?.metadata.annotations.as_ref()?);
            let pool = annotations.get("example.com/pool").is_some_and(|pool| pool == "blue");
            (pool && is(service?, "NodePort") && spec.load_balancer_source_ranges.is_none()).then_some(())
        })
        .await;
        settled(&mark, &ns).await;
        assert_eq!(to(&writes(&mark, &ns), "services").len(), 1, "{edit} by one write");
    }
    assert_eq!(node_port(&ns.get::<Service>("web").await), Some(first), "the API server's choice stays");
    for type_ in ["LoadBalancer", "ClusterIP", "NodePort"] {
        ns.patch("myapp/web", &json!({ "spec": { "service": { "type": type_ } } })).await;
        ns.until::<Service, ()>("web", type_, |service| is(service?, type_).then_some(())).await;
    }
    ns.patch("myapp/web", &json!({ "spec": { "service": null } })).await;
    ns.until::<Service, ()>("web", "the Service of a port alone", |service| {
        let bare = service?
            .metadata
            .annotations
            .as_ref()
            .is_none_or(|annotations| !annotations.contains_key("example.com/pool"));
        (bare && is(service?, "ClusterIP") && node_port(service?).is_none()).then_some(())
    })
    .await;
    settled(&audit, &ns).await;
}
