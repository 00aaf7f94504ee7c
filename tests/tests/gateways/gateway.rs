//! A route with a gateway: an HTTPRoute.

use api::ConditionStatus;
use e2e::namespace::Namespace;
use k8s_openapi::api::networking::v1::Ingress;
use serde_json::{Value, json};

use crate::stage::{ANYTHING, CLASS, answered, answers, gateway, host, my_app, routed, run};
use crate::traffic::{Traffic, rolls_unnoticed};

/// The HTTPRoute, as the controller has left it.
async fn http_route(ns: &Namespace) -> Value {
    let route = ns.kubectl(&["get", "httproute", "web", "--output=json"]).await.ok();
    serde_json::from_str(&route).expect("JSON")
}

#[tokio::test]
async fn it_is_accepted_as_it_is_now_and_requests_reach_the_pods() {
    let ns = Namespace::new("gw-route").await;
    let (first, second) = (host(&ns, "first"), host(&ns, "second"));
    ns.apply(&gateway("{from: Same}")).await;
    ns.apply(&my_app("web", 1, &format!("{{host: {first}, path: /stream, gateway: {{name: public}}}}"))).await;
    run(&ns, "web", 1).await;
    routed(&ns, "web", ConditionStatus::True, "Accepted").await;
    let judged = http_route(&ns).await;
    let parent = &judged["status"]["parents"][0];
    assert_eq!(parent["controllerName"], "traefik.io/gateway-controller", "{judged:#}");
    for condition in parent["conditions"].as_array().expect("conditions") {
        assert_eq!(condition["observedGeneration"], judged["metadata"]["generation"], "{judged:#}");
    }
    answered(&ns, &first, "/stream/1", 200).await;
    for (host, path) in [(&first, "/get"), (&first, "/stream-bytes/4"), (&second, "/stream/1")] {
        answers(host, path, 404).await;
    }

    // What is said of the one before is not said of this one.
    ns.patch("myapp/web", &json!({ "spec": { "route": { "host": second } } })).await;
    routed(&ns, "web", ConditionStatus::True, "Accepted").await;
    let again = http_route(&ns).await;
    assert_eq!(again["spec"]["hostnames"], json!([second]));
    assert_eq!(again["status"]["parents"][0]["conditions"][0]["observedGeneration"], again["metadata"]["generation"]);
    answered(&ns, &second, "/stream/1", 200).await;
    answered(&ns, &first, "/stream/1", 404).await;

    ns.patch("myapp/web", &json!({ "spec": { "route": null } })).await;
    ns.until_none("httproutes").await;
    answered(&ns, &second, "/stream/1", 404).await;
}

#[tokio::test]
async fn no_request_fails_while_a_rollout_replaces_the_pods() {
    let ns = Namespace::new("gw-route-rollout").await;
    let host = host(&ns, "web");
    ns.apply(&gateway("{from: Same}")).await;
    ns.apply(&my_app("web", 2, &format!("{{host: {host}, gateway: {{name: public}}}}"))).await;
    run(&ns, "web", 2).await;
    rolls_unnoticed(&ns, &host, 2).await;
}

/// Traefik applies changes every 2 s; the earlier listener stays for long enough.
#[tokio::test]
async fn from_an_ingress_to_a_gateway_and_back_requests_are_answered() {
    let ns = Namespace::new("gw-switch").await;
    let host = host(&ns, "web");
    ns.apply(&gateway("{from: Same}")).await;
    ns.apply(&my_app("web", 1, &format!("{{host: {host}, ingressClassName: {CLASS}}}"))).await;
    run(&ns, "web", 1).await;
    routed(&ns, "web", ConditionStatus::True, "AddressAssigned").await;
    answered(&ns, &host, ANYTHING, 200).await;
    let traffic = Traffic::to(&host);

    let by_gateway = json!({ "ingressClassName": null, "gateway": { "name": "public" } });
    ns.patch("myapp/web", &json!({ "spec": { "route": by_gateway } })).await;
    routed(&ns, "web", ConditionStatus::True, "Accepted").await;
    ns.until_deleted::<Ingress>("web").await;
    let there = traffic.sent();

    let by_ingress = json!({ "ingressClassName": CLASS, "gateway": null });
    ns.patch("myapp/web", &json!({ "spec": { "route": by_ingress } })).await;
    routed(&ns, "web", ConditionStatus::True, "AddressAssigned").await;
    ns.until_none("httproutes").await;
    println!("{there} requests on the way there, {} on the way back", traffic.sent() - there);
    answered(&ns, &host, ANYTHING, 200).await;
    let failed = traffic.end(200).await;
    assert!(failed.is_empty(), "{failed:#?}");
}
