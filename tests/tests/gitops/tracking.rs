//! Argo CD can be configured to track its objects by the label app.kubernetes.io/instance, which the operator sets on its
//! children, too: none of them counts as a leftover and is pruned, not even by an Application of the same name as the custom
//! resource.

use e2e::argocd::{self, APPLICATIONS, Environment::Dev, Git, SYNC_TIMEOUT, are_healthy, configure, resources};
use e2e::wait::wait_until;
use serde_json::{Value, json};

use crate::stage::stage;

const METHOD: &str = "application.resourceTrackingMethod";

/// What has the label without an owner, and would be pruned first.
async fn children() -> Vec<Value> {
    let kinds = "persistentvolumeclaims,secrets,configmaps,services,deployments,statefulsets,sampledbsnapshots";
    let answer = Dev.kubectl(&["get", kinds, "--namespace", "dev", "--output=json"]).await.ok();
    let answer: Value = serde_json::from_str(&answer).expect("kubectl prints JSON");
    let items = answer["items"].as_array().expect("a list has items");
    let labelled = |one: &&Value| one["metadata"]["labels"]["app.kubernetes.io/managed-by"] == "multi-operator";
    items
        .iter()
        .filter(labelled)
        .map(|one| json!([one["metadata"]["uid"], one["metadata"]["deletionTimestamp"], one["spec"]["reason"]]))
        .collect()
}

/// An Application of the database's name, with an object of its own.
fn namesake() -> Value {
    json!({
        "apiVersion": "argoproj.io/v1alpha1", "kind": "Application",
        "metadata": { "name": "orders" },
        "spec": {
            "project": "multi-operator-dev",
            "source": {
                "repoURL": format!("file://{}", argocd::variable("GIT")), "targetRevision": "HEAD", "path": "namesake",
            },
            "destination": { "name": "dev", "namespace": "dev" },
        },
    })
}

const OWN: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: namesake\n";

#[tokio::test]
async fn with_tracking_by_label_too_no_managed_child_is_pruned() {
    stage().await;
    let _turn = argocd::everything().await;
    let before = children().await;
    assert!(before.len() > 5, "{before:?}");
    configure(METHOD, Some("label")).await;
    argocd::compared(&APPLICATIONS).await;
    are_healthy(&APPLICATIONS, None).await;
    for name in APPLICATIONS {
        let app = argocd::application(name).await;
        let extraneous: Vec<_> = resources(&app).iter().filter(|one| one["requiresPruning"] == true).collect();
        assert!(extraneous.is_empty(), "{name}: {extraneous:#?}");
    }

    let git = Git::clone().await;
    git.add("namesake/config_map.yaml", OWN);
    git.push("An Application of the database's name").await;
    argocd::apply(&namesake()).await;
    drop(argocd::argocd(&["app", "sync", "orders", "--prune"]).await.ok());
    wait_until("the namesake to have synced", SYNC_TIMEOUT, || async {
        let app = argocd::application("orders").await;
        if app["status"]["operationState"]["phase"] == "Succeeded" { Ok(()) } else { Err(argocd::not_ready(&app)) }
    })
    .await;
    argocd::compared(&["orders"]).await;
    let app = argocd::application("orders").await;
    // An object with an owner is not its own. One without is listed, as far as the project permits it, and does not count: the
    // Application is Synced, and pruning has ignored it.
    let own = |one: &Value| one["kind"] == "ConfigMap" && one["name"] == "namesake";
    let foreign: Vec<_> = resources(&app).iter().filter(|one| !own(one)).collect();
    assert!(foreign.iter().all(|one| one["kind"] == "SampleDBSnapshot"), "{foreign:#?}");
    are_healthy(&["orders"], None).await;
    // Nothing else is new than what the schedule may have added meanwhile.
    let mut now = children().await;
    now.retain(|one| before.contains(one) || one[2] != "Scheduled");
    assert_eq!(now, before, "every child is the one that it was, and none is terminating");

    configure(METHOD, None).await;
    argocd::release("orders").await;
    git.take_back().await;
    drop(Dev.kubectl(&["delete", "configmap", "namesake", "--namespace", "dev"]).await.ok());
    argocd::compared(&APPLICATIONS).await;
    are_healthy(&APPLICATIONS, None).await;
}
