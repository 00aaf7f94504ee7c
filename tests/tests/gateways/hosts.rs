//! Two MyApps with one host: the controller takes both, and each request is answered by one of them. Which one is the
//! controller's choice, and Traefik's is another with each change of anything that it serves.

use std::collections::BTreeSet;

use api::ConditionStatus;
use e2e::namespace::Namespace;

use crate::requests::get;
use crate::stage::{CLASS, answered, gateway, host, my_app, routed, run};

/// Which of the two have answered some requests, by their pods' names.
async fn who_answers(host: &str) -> Result<BTreeSet<&'static str>, String> {
    let mut who = BTreeSet::new();
    for _ in 0..20 {
        let answer = get(host, "/hostname").await?;
        if answer.code != 200 {
            return Err(format!("{answer:?}"));
        }
        who.insert(if answer.page.contains("\"one-") { "one" } else { "two" });
    }
    Ok(who)
}

/// Both are reported as accepted, and once one of them is deleted the other one gets all requests.
async fn share(ns: &Namespace, route: &str, host: &str, taken: &str) {
    for name in ["one", "two"] {
        ns.apply(&my_app(name, 1, route)).await;
        run(ns, name, 1).await;
        routed(ns, name, ConditionStatus::True, taken).await;
        answered(ns, host, "/hostname", 200).await;
    }
    println!("of two MyApps with one host, {:?} answer", who_answers(host).await.expect("no request fails"));
    drop(ns.kubectl(&["delete", "myapp", "one"]).await.ok());
    ns.eventually("the other one to answer alone", || async {
        let who = who_answers(host).await?;
        if who.contains("one") { Err(format!("{who:?}")) } else { Ok(()) }
    })
    .await;
    run(ns, "two", 1).await;
}

#[tokio::test]
async fn two_ingresses_with_one_host_are_both_taken() {
    let ns = Namespace::new("gw-ingress-host").await;
    let host = host(&ns, "web");
    share(&ns, &format!("{{host: {host}, ingressClassName: {CLASS}}}"), &host, "AddressAssigned").await;
}

#[tokio::test]
async fn two_http_routes_with_one_host_are_both_taken() {
    let ns = Namespace::new("gw-route-host").await;
    let host = host(&ns, "web");
    ns.apply(&gateway("{from: Same}")).await;
    share(&ns, &format!("{{host: {host}, gateway: {{name: public}}}}"), &host, "Accepted").await;
}
