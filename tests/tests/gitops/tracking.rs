//! Argo CD can be told to know its objects by the label app.kubernetes.io/instance, which our operator gives its children, too:
//! none of them is taken for a leftover and pruned, not even by an Application of the same name as the custom resource.

use e2e::argocd::{self, APPLICATIONS, Environment::Dev, Git, PATIENCE, are_well, configure, resources};
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
async fn by_label_too_no_child_of_ours_is_pruned() {
    stage().await;
    let _turn = argocd::everything().await;
    let before = children().await;
    assert!(before.len() > 5, "{before:?}");
    configure(METHOD, Some("label")).await;
    argocd::compared(&APPLICATIONS).await;
    are_well(&APPLICATIONS, None).await;
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
    wait_until("the namesake to have synced", PATIENCE, || async {
        let app = argocd::application("orders").await;
        if app["status"]["operationState"]["phase"] == "Succeeded" { Ok(()) } else { Err(argocd::trouble(&app)) }
    })
    .await;
    argocd::compared(&["orders"]).await;
    let app = argocd::application("orders").await;
    // What has an owner is none of its own. What has none is listed, as far as the project lets it, and counts for nothing: the
    // Application is Synced, and pruning has passed over it.
    let own = |one: &Value| one["kind"] == "ConfigMap" && one["name"] == "namesake";
    let strangers: Vec<_> = resources(&app).iter().filter(|one| !own(one)).collect();
    assert!(strangers.iter().all(|one| one["kind"] == "SampleDBSnapshot"), "{strangers:#?}");
    are_well(&["orders"], None).await;
    // Nothing else is new than what the schedule may have added meanwhile.
    let mut now = children().await;
    now.retain(|one| before.contains(one) || one[2] != "Scheduled");
    assert_eq!(now, before, "every child is the one that it was, and none is going");

    configure(METHOD, None).await;
    argocd::release("orders").await;
    git.take_back().await;
    drop(Dev.kubectl(&["delete", "configmap", "namesake", "--namespace", "dev"]).await.ok());
    argocd::compared(&APPLICATIONS).await;
    are_well(&APPLICATIONS, None).await;
}
