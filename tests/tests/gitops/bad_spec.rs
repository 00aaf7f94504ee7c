//! A mistake in git: the Application turns Degraded with the operator's message, and is Healthy again when the mistake is
//! reverted.

use std::time::Duration;

use e2e::argocd::{self, Environment::Dev, Git, Recorder, SYNC_TIMEOUT, application, are_healthy, resource, text};
use e2e::wait::wait_until;

use crate::stage::stage;

const PATCH: &str = "kustomize/instances/dev/small_patch.yaml";

/// Waits until the Application is Degraded, by that object, and returns what it says.
async fn degraded(kind: &str, name: &str) -> String {
    wait_until(&format!("dev-instances to be Degraded by {kind} {name}"), SYNC_TIMEOUT, || async {
        let app = application("dev-instances").await;
        let health = resource(&app, kind, name).map(|one| one["health"].clone()).unwrap_or_default();
        let ill = app["status"]["health"]["status"] == "Degraded" && health["status"] == "Degraded";
        if ill { Ok(text(&health["message"])) } else { Err(argocd::not_ready(&app)) }
    })
    .await
}

#[tokio::test]
async fn an_image_that_does_not_exist_is_reported_and_reverted() {
    stage().await;
    let _turn = argocd::one_environment().await;
    let git = Git::clone().await;
    git.replace(PATCH, "  replicas: 1\n", "  replicas: 1\n  image: nginx:nope\n");
    git.push("An image that does not exist").await;
    let says = degraded("MyApp", "web").await;
    println!("Degraded: {says}");
    assert!(says.contains("nginx:nope cannot be pulled"), "{says}");
    let web = Dev.instance("deployment/web").await;
    assert_eq!(web["status"]["availableReplicas"], 1, "the old pod keeps running: {}", web["status"]);
    let revision = git.take_back().await;
    are_healthy(&["dev-instances"], Some(&revision)).await;
}

#[tokio::test]
async fn a_setting_that_only_the_server_can_reject_is_reported_and_reverted() {
    stage().await;
    let _turn = argocd::one_environment().await;
    let git = Git::clone().await;
    let bad = "  engine:\n    parameters:\n      work_mem: lots\n  deletion:\n";
    git.replace(PATCH, "  deletion:\n", bad);
    git.push("A size that PostgreSQL does not know").await;
    let says = degraded("SampleDB", "orders").await;
    println!("Degraded: {says}");
    assert!(says.contains("invalid value for parameter") && says.contains("lots"), "{says}");
    let revision = git.take_back().await;
    are_healthy(&["dev-instances"], Some(&revision)).await;
}

/// What the API server refuses is never taken for synced. (With server-side diff it is, by Argo CD v3.1: the decision 027.)
#[tokio::test]
async fn what_the_api_server_refuses_is_never_called_synced() {
    stage().await;
    let _turn = argocd::one_environment().await;
    let git = Git::clone().await;
    git.replace(PATCH, "  deletion:\n", "  backup:\n    schedule: 61 2 * * *\n  deletion:\n");
    let revision = git.push("A minute that no hour has").await;
    let refused = || async {
        let app = application("dev-instances").await;
        let (sync, operation) = (&app["status"]["sync"], &app["status"]["operationState"]);
        let says = format!("{} {}", operation["message"], operation["syncResult"]["resources"]);
        let reported = says.contains("backup.schedule must be five fields");
        if sync["revision"] == *revision && sync["status"] == "OutOfSync" && reported {
            Ok(says)
        } else {
            Err(argocd::not_ready(&app))
        }
    };
    wait_until("the sync to be rejected with the message of the CRD", SYNC_TIMEOUT, refused).await;
    let mut recorder = Recorder::start();
    // Three rounds of comparisons.
    tokio::time::sleep(Duration::from_secs(30)).await;
    let seen: Vec<_> = recorder.seen().into_iter().filter(|seen| seen.name == "dev-instances").collect();
    assert!(!seen.is_empty() && seen.iter().all(|seen| seen.sync == "OutOfSync"), "{seen:#?}");
    let revision = git.take_back().await;
    are_healthy(&["dev-instances"], Some(&revision)).await;
}
