//! A CRD that is deleted from git is kept, with all objects of its kind, while everything else that is deleted there is pruned.

use e2e::argocd::{self, Environment::Dev, Git, SYNC_TIMEOUT, application, are_healthy, resource};
use e2e::cluster::SYSTEM;
use e2e::wait::wait_until;
use serde_json::Value;

use crate::stage::stage;

const DOOMED: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: doomed\n  namespace: multi-operator-system\n";
const CRD: &str = "customresourcedefinition/samples.example.com";

async fn uids() -> [Value; 2] {
    let crd = Dev.get(CRD, "").await.expect("the CRD is there");
    [crd["metadata"]["uid"].clone(), Dev.instance("sample/greeting").await["metadata"]["uid"].clone()]
}

#[tokio::test]
async fn a_crd_that_is_deleted_from_git_is_kept_with_its_objects() {
    stage().await;
    let _turn = argocd::one_environment().await;
    let before = uids().await;
    let git = Git::clone().await;
    git.add("kustomize/overlays/dev/doomed.yaml", DOOMED);
    git.replace("kustomize/overlays/dev/kustomization.yaml", "  - ../../base\n", "  - ../../base\n  - doomed.yaml\n");
    let revision = git.push("Something to prune").await;
    are_healthy(&["dev-operator"], Some(&revision)).await;
    assert!(Dev.get("configmap/doomed", SYSTEM).await.is_some());

    git.replace("kustomize/overlays/dev/kustomization.yaml", "  - doomed.yaml\n", "");
    git.replace("config/crd/kustomization.yaml", "  - bases/example.com_samples.yaml\n", "");
    let revision = git.push("A kind less, and what is to be pruned").await;
    wait_until("the ConfigMap to be pruned", SYNC_TIMEOUT, || async {
        if Dev.get("configmap/doomed", SYSTEM).await.is_none() { Ok(()) } else { Err("it is there".to_owned()) }
    })
    .await;
    are_healthy(&["dev-operator", "dev-instances"], Some(&revision)).await;
    // Argo CD does not note on a CRD whose it is: what git does not name any more is not the Application's any more.
    let app = application("dev-operator").await;
    assert!(resource(&app, "CustomResourceDefinition", "samples.example.com").is_none(), "{app}");
    assert!(resource(&app, "CustomResourceDefinition", "myapps.example.com").is_some(), "{app}");
    assert_eq!(uids().await, before, "the CRD and its object are the ones that they were");
    let revision = git.take_back().await;
    are_healthy(&["dev-operator", "dev-instances"], Some(&revision)).await;
    assert_eq!(uids().await, before);
}
