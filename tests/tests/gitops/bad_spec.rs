//! A mistake in git: the Application turns Degraded and says in our words why, and is Healthy when it is taken back.

use e2e::argocd::{self, Environment::Dev, Git, PATIENCE, application, are_well, resource, text};
use e2e::wait::wait_until;

use crate::stage::stage;

/// Waits until the Application is Degraded, by that object, and returns what it says.
async fn degraded(kind: &str, name: &str) -> String {
    wait_until(&format!("dev-instances to be Degraded by {kind} {name}"), PATIENCE, || async {
        let app = application("dev-instances").await;
        let health = resource(&app, kind, name).map(|one| one["health"].clone()).unwrap_or_default();
        let ill = app["status"]["health"]["status"] == "Degraded" && health["status"] == "Degraded";
        if ill { Ok(text(&health["message"])) } else { Err(argocd::trouble(&app)) }
    })
    .await
}

#[tokio::test]
async fn an_image_that_does_not_exist_is_told_and_taken_back() {
    stage().await;
    let _turn = argocd::one_environment().await;
    let git = Git::clone().await;
    git.replace("kustomize/instances/dev/small_patch.yaml", "  replicas: 1\n", "  replicas: 1\n  image: nginx:nope\n");
    git.push("An image that does not exist").await;
    let says = degraded("MyApp", "web").await;
    println!("Degraded: {says}");
    assert!(says.contains("nginx:nope cannot be pulled"), "{says}");
    let web = Dev.instance("deployment/web").await;
    assert_eq!(web["status"]["availableReplicas"], 1, "what ran goes on running: {}", web["status"]);
    let revision = git.take_back().await;
    are_well(&["dev-instances"], Some(&revision)).await;
}

#[tokio::test]
async fn a_schedule_that_no_schema_can_judge_is_told_and_taken_back() {
    stage().await;
    let _turn = argocd::one_environment().await;
    let git = Git::clone().await;
    git.replace(
        "kustomize/instances/dev/small_patch.yaml",
        "  deletion:\n",
        "  backup:\n    schedule: 61 2 * * *\n  deletion:\n",
    );
    git.push("A minute that no hour has").await;
    let says = degraded("SampleDB", "orders").await;
    println!("Degraded: {says}");
    assert!(says.contains("61"), "{says}");
    let revision = git.take_back().await;
    are_well(&["dev-instances"], Some(&revision)).await;
}
