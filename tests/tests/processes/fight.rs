//! Another writer that does not stop: its changes are taken back, more and more seldom, and the object says so.

use api::my_app::MyApp;
use k8s_openapi::api::apps::v1::Deployment;
use kube::api::{Patch, PatchParams};
use serde_json::json;

use super::stage::{Failure, SOON, Stage, ensure};

pub async fn another_writer_that_does_not_stop_is_told_of(stage: Stage) -> Result<(), Failure> {
    let install = stage.install().await?;
    let proxy = stage.proxy(&install).await?;
    let _manager = stage.leader(&install, &proxy).await?;
    stage.app("web").await?;
    stage.app_ready("web", SOON).await?;
    let before = proxy.journal().len();
    let told = async { stage.condition::<MyApp>("web", "Stalled", SOON * 8).await };
    let (reason, message) = tokio::select! {
        told = told => told?,
        failed = fights(&stage) => return Err(failed),
    };
    ensure(reason == "Contested" && message.contains("Deployment web"), || format!("{reason}: {message}"))?;
    let writes = proxy.since(before).iter().filter(|call| call.is_write() && call.resource == "deployments").count();
    println!("fight: told of after {writes} writes to the Deployment: {message}");
    stage
        .until::<MyApp, _>("web", "to be ready all the same", SOON, |app| {
            app?.status.as_ref()?.contract.is_true("Ready").then_some(())
        })
        .await?;
    // An edit may have ended it.
    stage.merge::<MyApp>("web", json!({ "spec": { "port": 8080 } })).await?;
    stage
        .until::<MyApp, _>("web", "nothing to be told of", SOON, |app| {
            let contract = &app?.status.as_ref()?.contract;
            (contract.is_true("Ready") && contract.condition("Stalled").is_none()).then_some(())
        })
        .await
}

/// Takes a label of the Deployment, again and again; returns when it cannot.
async fn fights(stage: &Stage) -> Failure {
    let deployments = stage.api::<Deployment>();
    let theirs = Patch::Merge(json!({ "metadata": { "labels": { "app.kubernetes.io/name": "theirs" } } }));
    loop {
        if let Err(error) = deployments.patch("web", &PatchParams::default(), &theirs).await {
            return error.into();
        }
    }
}
