//! Pods are replaced when the content of what `restartOn` names changes, and by nothing less.

use std::collections::BTreeSet;
use std::time::Duration;

use api::my_app::MyApp;
use e2e::namespace::Namespace;
use e2e::objects::{ManagedKind, runs};
use serde_json::json;

use crate::manifest::my_app;
use crate::running::{running, serving};

/// The operator notices a change within 70 s; a read that has found another version counts as two.
const SEEN: Duration = Duration::from_secs(160);

/// Waits until no pod of these serves, and others do.
async fn replaced(ns: &Namespace, before: &BTreeSet<String>) {
    ns.until_within::<MyApp, ()>(SEEN, "web", "other content", |app| {
        let stalled = app?.condition("Reconciling").is_some();
        stalled.then_some(())
    })
    .await;
    running(ns, 2).await;
    let after = serving(ns).await;
    assert!(after.is_disjoint(before) && after.len() == 2, "{before:?} became {after:?}");
}

/// Two pods that are replaced when this ConfigMap's or this Secret's content changes.
async fn two_pods(ns: &Namespace) -> BTreeSet<String> {
    drop(ns.kubectl(&["create", "configmap", "settings", "--from-literal=color=blue"]).await.ok());
    drop(ns.kubectl(&["create", "secret", "generic", "keys", "--from-literal=token=hush"]).await.ok());
    let spec = "
  replicas: 2
  image: nginx:1.25
  envFrom:
  - configMapRef: {name: settings}
  restartOn:
  - configMapRef: {name: settings}
  - secretRef: {name: keys}
";
    ns.apply(&my_app("web", spec)).await;
    running(ns, 2).await;
    serving(ns).await
}

#[tokio::test]
async fn a_label_of_a_config_map_replaces_no_pod() {
    let ns = Namespace::new("restart-on-label").await;
    let first = two_pods(&ns).await;
    drop(ns.kubectl(&["label", "configmap", "settings", "team=a"]).await.ok());
    tokio::time::sleep(Duration::from_secs(75)).await;
    assert_eq!(serving(&ns).await, first);
}

#[tokio::test]
async fn pods_are_replaced_by_other_content_of_a_config_map() {
    let ns = Namespace::new("restart-on-config-map").await;
    let first = two_pods(&ns).await;
    ns.patch("configmap/settings", &json!({ "data": { "color": "red" } })).await;
    replaced(&ns, &first).await;
    let seen = ns.kubectl(&["exec", "deployment/web", "--", "env"]).await.ok();
    assert!(seen.lines().any(|line| line == "color=red"), "{seen}");
}

#[tokio::test]
async fn pods_are_replaced_by_other_content_of_a_secret_which_is_exposed_nowhere() {
    let ns = Namespace::new("restart-on-secret").await;
    let first = two_pods(&ns).await;
    ns.patch("secret/keys", &json!({ "stringData": { "token": "shh" } })).await;
    replaced(&ns, &first).await;
    let said = ns.kubectl(&["get", "myapp,deployment,replicaset,pod,event", "--output=yaml"]).await.ok();
    assert!(!said.contains("hush") && !said.contains("shh"), "a secret was exposed");
}

#[tokio::test]
async fn missing_sources_are_reported_while_the_pods_serve() {
    let ns = Namespace::new("restart-on-none").await;
    drop(ns.kubectl(&["create", "configmap", "settings", "--from-literal=color=blue"]).await.ok());
    ns.apply(&my_app("web", "{replicas: 2, image: nginx:1.25, restartOn: [{configMapRef: {name: settings}}]}")).await;
    running(&ns, 2).await;
    let first = serving(&ns).await;
    drop(ns.kubectl(&["delete", "configmap", "settings"]).await.ok());
    let message = ns
        .until_within::<MyApp, _>(SEEN, "web", "the missing ConfigMap to be reported", |app| {
            let stalled =
                app?.condition("Stalled").filter(|stalled| stalled.reason.as_str() == "RestartSourceMissing")?;
            Some(stalled.message.clone())
        })
        .await;
    println!("restartOn: {message}");
    assert!(message.starts_with("2 of 2 pods are ready; restartOn: ConfigMap settings does not exist"), "{message}");
    assert_eq!(serving(&ns).await, first);
    drop(ns.kubectl(&["create", "configmap", "settings", "--from-literal=color=blue"]).await.ok());
    ns.until_within::<MyApp, ()>(SEEN, "web", "it to run", |app| runs(app?, 2).then_some(())).await;
    assert_eq!(serving(&ns).await, first, "the same content again replaces no pod");
}
