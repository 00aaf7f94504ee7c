//! A digest is promoted: the Application goes through Progressing, and what runs in the end is that digest.

use std::future::ready;

use e2e::argocd::{
    self, Environment, Environment::Production, Environment::Staging, Git, Recorder, Seen, are_healthy, text, variable,
};
use e2e::cluster::{MANAGER, SYSTEM};
use e2e::wait::{DEFAULT_TIMEOUT, wait_until};
use serde_json::Value;

use crate::stage::stage;

/// The image that the manager's Deployment has in an environment.
async fn image(environment: Environment) -> String {
    let live = environment.get(&format!("deployment/{MANAGER}"), SYSTEM).await.expect("the manager is there");
    text(&live["spec"]["template"]["spec"]["containers"][0]["image"])
}

/// The images of its pods that are not terminating.
async fn images_that_run(environment: Environment) -> Vec<String> {
    let answer = environment.kubectl(&["get", "pods", "--namespace", SYSTEM, "--output=json"]).await.ok();
    let pods: Value = serde_json::from_str(&answer).expect("kubectl prints JSON");
    let stays = |pod: &&Value| pod["metadata"]["deletionTimestamp"].is_null();
    let pods = pods["items"].as_array().into_iter().flatten().filter(stays);
    pods.map(|pod| text(&pod["spec"]["containers"][0]["image"])).collect()
}

#[tokio::test]
async fn a_digest_goes_to_staging_and_then_to_production() {
    stage().await;
    let _turn = argocd::everything().await;
    let next = variable("NEXT_DIGEST");
    let git = Git::clone().await;
    for (environment, overlay) in [(Staging, "staging"), (Production, "production")] {
        let before = image(environment).await;
        assert!(!before.ends_with(&next), "{overlay} has it already: {before}");
        let mut recorder = Recorder::start();
        let old = before.split_once('@').expect("an image by its digest").1;
        git.replace(&format!("kustomize/overlays/{overlay}/kustomization.yaml"), old, &next);
        let revision = git.push(&format!("{overlay} gets the next digest")).await;
        let name = format!("{overlay}-operator");
        are_healthy(&[&name], Some(&revision)).await;
        // The record comes later than other answers.
        let seen = wait_until("the last state to be recorded", DEFAULT_TIMEOUT, || {
            let seen: Vec<_> = recorder.seen().into_iter().filter(|seen| seen.name == name).collect();
            ready(if seen.last().is_some_and(Seen::is_healthy) { Ok(seen) } else { Err(format!("{seen:#?}")) })
        })
        .await;
        let went = |health: &str| seen.iter().position(|seen| seen.health == health && seen.revision == revision);
        let (progressing, healthy) = (went("Progressing"), seen.iter().rposition(|seen| seen.is_healthy()));
        assert!(progressing.is_some() && progressing < healthy, "{seen:#?}");
        assert!(seen.iter().all(|seen| seen.health != "Degraded"), "{seen:#?}");
        assert!(image(environment).await.ends_with(&next));
        let running = images_that_run(environment).await;
        assert_eq!(running.len(), 2, "{running:?}");
        assert!(running.iter().all(|image| image.ends_with(&next)), "{running:?}");
        println!("{name}: {} states, running {running:?}", seen.len());
    }
    let revision = git.take_back().await;
    are_healthy(&["production-operator"], Some(&revision)).await;
}
