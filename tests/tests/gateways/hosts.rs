//! Two MyApps with one host: the controller takes both, and one of them gets the requests until it goes.

use std::collections::BTreeSet;

use api::ConditionStatus;
use e2e::namespace::Namespace;

use crate::stage::{CLASS, answered, answers, gateway, host, my_app, routed, run};

/// Which of the two have answered some requests, by their pods' names.
async fn who_answers(host: &str) -> BTreeSet<&'static str> {
    let mut who = BTreeSet::new();
    for _ in 0..20 {
        let page = answers(host, "/hostname", 200).await.page;
        who.insert(if page.contains("\"one-") { "one" } else { "two" });
    }
    who
}

/// Both are told to be taken; one gets all requests, and the other does once that one has gone.
async fn share(ns: &Namespace, route: &str, host: &str, taken: &str) {
    for name in ["one", "two"] {
        ns.apply(&my_app(name, 1, route)).await;
        run(ns, name, 1).await;
        routed(ns, name, ConditionStatus::True, taken).await;
        answered(ns, host, "/hostname", 200).await;
    }
    let who = who_answers(host).await;
    println!("of two MyApps with one host, {who:?} answer");
    assert_eq!(who.len(), 1, "{who:?}");
    let (goes, stays) = if who.contains("one") { ("one", "two") } else { ("two", "one") };
    drop(ns.kubectl(&["delete", "myapp", goes]).await.ok());
    ns.eventually(&format!("{stays} to answer"), || async {
        let page = answered(ns, host, "/hostname", 200).await.page;
        if page.contains(&format!("\"{stays}-")) { Ok(()) } else { Err(page) }
    })
    .await;
    run(ns, stays, 1).await;
}

#[tokio::test]
async fn of_two_ingresses_with_one_host_one_is_served() {
    let ns = Namespace::new("gw-ingress-host").await;
    let host = host(&ns, "web");
    share(&ns, &format!("{{host: {host}, ingressClassName: {CLASS}}}"), &host, "AddressAssigned").await;
}

#[tokio::test]
async fn of_two_http_routes_with_one_host_one_is_served() {
    let ns = Namespace::new("gw-route-host").await;
    let host = host(&ns, "web");
    ns.apply(&gateway("{from: Same}")).await;
    share(&ns, &format!("{{host: {host}, gateway: {{name: public}}}}"), &host, "Accepted").await;
}
