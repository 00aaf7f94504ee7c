//! A CRD that is gone from git stays, with all of its kind, and the Application says so.

use e2e::argocd::{self, Environment::Dev, Git, PATIENCE, application, are_well, resource};
use e2e::wait::wait_until;
use serde_json::Value;

use crate::stage::stage;

const CRD: &str = "customresourcedefinition/samples.example.com";

async fn uids() -> [Value; 2] {
    let crd = Dev.get(CRD, "").await.expect("the CRD is there");
    [crd["metadata"]["uid"].clone(), Dev.instance("sample/greeting").await["metadata"]["uid"].clone()]
}

#[tokio::test]
async fn a_crd_that_is_gone_from_git_is_kept_with_its_objects() {
    stage().await;
    let _turn = argocd::one_environment().await;
    let before = uids().await;
    let git = Git::clone().await;
    git.replace("config/crd/kustomization.yaml", "  - bases/example.com_samples.yaml\n", "");
    let revision = git.push("A kind less").await;
    wait_until("a sync without the CRD", PATIENCE, || async {
        let app = application("dev-operator").await;
        let done = &app["status"]["operationState"];
        let synced = done["syncResult"]["revision"] == *revision && done["phase"] == "Succeeded";
        let told = resource(&app, "CustomResourceDefinition", "samples.example.com");
        let told = told.is_some_and(|one| one["requiresPruning"] == true && one["status"] == "OutOfSync");
        let pruning = done["operation"]["sync"]["prune"] == true;
        if synced && told && pruning && app["status"]["sync"]["status"] == "OutOfSync" {
            let results = done["syncResult"]["resources"].as_array().cloned().unwrap_or_default();
            let of_crd = results.iter().find(|one| one["name"] == "samples.example.com");
            println!("of the CRD: {}", of_crd.map(|one| one["message"].to_string()).unwrap_or_default());
            Ok(())
        } else {
            Err(argocd::trouble(&app))
        }
    })
    .await;
    assert_eq!(uids().await, before, "the CRD and its object are the ones that they were");
    let revision = git.take_back().await;
    are_well(&["dev-operator", "dev-instances"], Some(&revision)).await;
    assert_eq!(uids().await, before);
}
