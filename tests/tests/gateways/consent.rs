//! A gateway in another namespace accepts routes from the namespaces that its listener names.

use api::ConditionStatus;
use e2e::namespace::Namespace;
use serde_json::json;

use crate::stage::{ANYTHING, answered, answers, gateway, host, my_app, routed, run};

#[tokio::test]
async fn a_gateway_elsewhere_has_to_allow_the_route() {
    let ns = Namespace::new("gw-consent").await;
    let infra = ns.another("gw-infra", &[]).await;
    let host = host(&ns, "web");
    infra.apply(&gateway("{from: Same}")).await;
    let route = format!("{{host: {host}, gateway: {{name: public, namespace: {}}}}}", infra.name);
    ns.apply(&my_app("web", 1, &route)).await;
    let message = routed(&ns, "web", ConditionStatus::False, "NotAllowedByListeners").await;
    assert!(!message.is_empty(), "a condition says what is wrong");
    // Clients inside the cluster reach the Service in any case.
    run(&ns, "web", 1).await;
    answers(&host, ANYTHING, 404).await;

    let here = format!("{{from: Selector, selector: {{matchLabels: {{kubernetes.io/metadata.name: {}}}}}}}", ns.name);
    infra.apply(&gateway(&here)).await;
    routed(&ns, "web", ConditionStatus::True, "Accepted").await;
    answered(&ns, &host, ANYTHING, 200).await;

    infra.apply(&gateway("{from: Same}")).await;
    routed(&ns, "web", ConditionStatus::False, "NotAllowedByListeners").await;
    answered(&ns, &host, ANYTHING, 404).await;
    run(&ns, "web", 1).await;
}

#[tokio::test]
async fn a_gateway_that_is_missing_or_has_no_such_listener_is_reported() {
    let ns = Namespace::new("gw-missing").await;
    let host = host(&ns, "web");
    ns.apply(&my_app("web", 1, &format!("{{host: {host}, gateway: {{name: public}}}}"))).await;
    // Until the HTTPRoute exists, the condition says that instead.
    ns.eventually("the condition to name the Gateway", || async {
        let message = routed(&ns, "web", ConditionStatus::Unknown, "AcceptancePending").await;
        if message.contains(&format!("{}/public", ns.name)) { Ok(()) } else { Err(message) }
    })
    .await;
    run(&ns, "web", 1).await;

    ns.apply(&gateway("{from: Same}")).await;
    routed(&ns, "web", ConditionStatus::True, "Accepted").await;
    answered(&ns, &host, ANYTHING, 200).await;
    ns.patch("myapp/web", &json!({ "spec": { "route": { "gateway": { "sectionName": "https" } } } })).await;
    routed(&ns, "web", ConditionStatus::False, "NoMatchingParent").await;
    answered(&ns, &host, ANYTHING, 404).await;
    ns.patch("myapp/web", &json!({ "spec": { "route": { "gateway": { "sectionName": "http" } } } })).await;
    routed(&ns, "web", ConditionStatus::True, "Accepted").await;
    answered(&ns, &host, ANYTHING, 200).await;
}
