//! A hand edit and a deleted child come back: by Argo CD what is in git, by our operator what belongs to a custom resource.

use std::time::Instant;

use e2e::argocd::{self, Environment::Dev, SYNC_TIMEOUT, are_healthy};
use e2e::cluster::{MANAGER, SYSTEM};
use e2e::wait::wait_until;
use serde_json::{Value, json};

use crate::stage::stage;

/// Waits until an object exists and matches.
async fn comes_back(what: &str, namespace: &str, matches: impl Fn(&Value) -> bool) {
    let begun = Instant::now();
    wait_until(&format!("{what} to be as git says"), SYNC_TIMEOUT, || async {
        match Dev.get(what, namespace).await {
            Some(live) if matches(&live) => Ok(()),
            Some(live) => Err(format!("{} {}", live["metadata"]["uid"], live["spec"])),
            None => Err("it is not there".to_owned()),
        }
    })
    .await;
    println!("{what}: back after {:.1?}", begun.elapsed());
}

async fn uid(what: &str, namespace: &str) -> Value {
    Dev.get(what, namespace).await.unwrap_or_else(|| panic!("there is no {what}"))["metadata"]["uid"].clone()
}

#[tokio::test]
async fn what_is_in_git_is_restored_after_a_hand_edit_and_after_a_deletion() {
    stage().await;
    let _turn = argocd::one_environment().await;
    let deployment = format!("deployment/{MANAGER}");
    Dev.patch(&deployment, SYSTEM, &json!({ "spec": { "replicas": 0 } })).await;
    comes_back(&deployment, SYSTEM, |live| live["spec"]["replicas"] == 1).await;

    for object in [deployment.as_str(), "service/multi-operator-metrics", "clusterrole/multi-operator-manager"] {
        let before = uid(object, SYSTEM).await;
        drop(Dev.kubectl(&["delete", object, "--namespace", SYSTEM]).await.ok());
        comes_back(object, SYSTEM, |live| live["metadata"]["uid"] != before).await;
    }
    are_healthy(&["dev-operator"], None).await;

    Dev.patch("myapp/web", "dev", &json!({ "spec": { "replicas": 2 } })).await;
    comes_back("myapp/web", "dev", |live| live["spec"]["replicas"] == 1).await;
    are_healthy(&["dev-operator", "dev-instances"], None).await;
}

#[tokio::test]
async fn children_of_a_custom_resource_are_restored_by_the_operator() {
    stage().await;
    let _turn = argocd::one_environment().await;
    for object in ["deployment/web", "configmap/greeting", "service/orders-rw"] {
        let before = uid(object, "dev").await;
        drop(Dev.kubectl(&["delete", object, "--namespace", "dev"]).await.ok());
        comes_back(object, "dev", |live| live["metadata"]["uid"] != before).await;
    }
    Dev.patch("deployment/web", "dev", &json!({ "spec": { "replicas": 3 } })).await;
    comes_back("deployment/web", "dev", |live| live["spec"]["replicas"] == 1).await;
    are_healthy(&["dev-operator", "dev-instances"], None).await;
}
