//! A route without a gateway: an Ingress.

use api::ConditionStatus;
use api::my_app::{MyApp, ROUTE_ACCEPTED};
use e2e::namespace::Namespace;
use e2e::objects::ManagedKind;
use k8s_openapi::api::networking::v1::Ingress;
use serde_json::json;

use crate::cert::Certificate;
use crate::requests::{address, get_by_tls};
use crate::stage::{ANYTHING, CLASS, answered, answers, host, my_app, routed, run};
use crate::traffic::rolls_unnoticed;

#[tokio::test]
async fn requests_for_its_host_and_path_reach_the_pods_and_no_others() {
    let ns = Namespace::new("gw-ingress").await;
    let host = host(&ns, "web");
    ns.apply(&my_app("web", 1, &format!("{{host: {host}, path: /stream, ingressClassName: {CLASS}}}"))).await;
    run(&ns, "web", 1).await;
    let message = routed(&ns, "web", ConditionStatus::True, "AddressAssigned").await;
    assert!(message.contains(&address()), "{message}");
    answered(&ns, &host, "/stream/1", 200).await;
    // The pods would answer all of these.
    for (host, path) in [(&*host, "/get"), (&*host, "/stream-bytes/4"), ("other.example.com", "/stream/1")] {
        answers(host, path, 404).await;
    }

    ns.patch("myapp/web", &json!({ "spec": { "route": null } })).await;
    ns.until_deleted::<Ingress>("web").await;
    answered(&ns, &host, "/stream/1", 404).await;
    ns.until::<MyApp, ()>("web", "no word of a route", |app| {
        (app?.is_ready() && app?.condition(ROUTE_ACCEPTED).is_none()).then_some(())
    })
    .await;
}

#[tokio::test]
async fn the_certificate_of_its_secret_is_the_one_that_clients_see() {
    let ns = Namespace::new("gw-tls").await;
    let host = host(&ns, "web");
    let (first, second) =
        (Certificate::of(&host), Certificate::of(&format!("*.{}", host.split_once('.').expect("a domain").1)));
    let route = format!("{{host: {host}, ingressClassName: {CLASS}, tlsSecret: web-tls}}");
    ns.apply(&my_app("web", 1, &route)).await;
    // Without its certificate, the application runs, and is not reached by it.
    run(&ns, "web", 1).await;
    get_by_tls(&host, ANYTHING, first.file()).await.expect_err("the controller's own certificate");
    for certificate in [first, second] {
        certificate.put(&ns, "web-tls").await;
        ns.eventually("an answer by TLS", || async {
            let answer = get_by_tls(&host, ANYTHING, certificate.file()).await?;
            if answer.code == 200 { Ok(()) } else { Err(format!("{answer:?}")) }
        })
        .await;
    }
}

#[tokio::test]
async fn no_request_fails_while_a_rollout_replaces_the_pods() {
    let ns = Namespace::new("gw-ingress-rollout").await;
    let host = host(&ns, "web");
    ns.apply(&my_app("web", 2, &format!("{{host: {host}, ingressClassName: {CLASS}}}"))).await;
    run(&ns, "web", 2).await;
    answered(&ns, &host, ANYTHING, 200).await;
    rolls_unnoticed(&ns, &host, 2).await;
}
