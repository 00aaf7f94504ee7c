//! The manager reverts the changes of a writer that does not stop less and less often, and the object reports it. It reverts
//! those of a writer that returns now and then at once, each time, and an Event reports it.

use api::my_app::MyApp;
use e2e::process::Launch;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::Service;
use k8s_openapi::api::events::v1::Event;
use kube::api::{ListParams, Patch, PatchParams};
use serde_json::json;

use super::stage::{DEFAULT_TIMEOUT, Failure, Stage, ensure, eventually};

pub async fn another_writer_that_does_not_stop_is_reported(stage: Stage) -> Result<(), Failure> {
    let install = stage.install().await?;
    let proxy = stage.proxy(&install).await?;
    let _manager = stage.leader(&install, &proxy).await?;
    stage.app("web").await?;
    stage.app_ready("web", DEFAULT_TIMEOUT).await?;
    let before = proxy.journal().len();
    let reported = async { stage.condition::<MyApp>("web", "Stalled", DEFAULT_TIMEOUT * 8).await };
    let (reason, message) = tokio::select! {
        reported = reported => reported?,
        failed = fights(&stage) => return Err(failed),
    };
    ensure(reason == "Contested" && message.contains("Deployment web"), || format!("{reason}: {message}"))?;
    let writes = proxy.since(before).iter().filter(|call| call.is_write() && call.resource == "deployments").count();
    println!("contested: reported after {writes} writes to the Deployment: {message}");
    stage
        .until::<MyApp, _>("web", "to be ready all the same", DEFAULT_TIMEOUT, |app| {
            app?.status.as_ref()?.contract.is_true("Ready").then_some(())
        })
        .await?;
    // An edit may have ended it.
    stage.merge::<MyApp>("web", json!({ "spec": { "port": 8080 } })).await?;
    stage
        .until::<MyApp, _>("web", "nothing to be reported", DEFAULT_TIMEOUT, |app| {
            let contract = &app?.status.as_ref()?.contract;
            (contract.is_true("Ready") && contract.condition("Stalled").is_none()).then_some(())
        })
        .await
}

pub async fn another_writer_that_returns_now_and_then_is_reported(stage: Stage) -> Result<(), Failure> {
    let install = stage.install().await?;
    let mut manager = Launch::default().start(&install)?;
    manager.leads(DEFAULT_TIMEOUT).await?;
    stage.app("web").await?;
    stage.app_ready("web", DEFAULT_TIMEOUT).await?;
    let services = stage.api::<Service>();
    let reported = async || {
        let events = stage.api::<Event>().list(&ListParams::default()).await?;
        let reported = |event: &&Event| event.reason.as_deref() == Some("Contested");
        Ok::<_, Failure>(events.items.iter().find(reported).and_then(|event| event.note.clone()))
    };
    for round in 1..=10 {
        ensure(reported().await?.is_none(), || format!("before the {round}th time"))?;
        // The manager removes what others add, and restores what they change.
        let foreign = match round % 2 {
            0 => json!({ "spec": { "selector": { "theirs": "yes" } } }),
            _ => json!({ "metadata": { "labels": { "app.kubernetes.io/name": "theirs" } } }),
        };
        services.patch("web", &PatchParams::default(), &Patch::Merge(foreign)).await?;
        stage
            .until::<Service, _>("web", "what it was", DEFAULT_TIMEOUT, |service| {
                let selector = service?.spec.as_ref()?.selector.as_ref()?;
                let label = service?.metadata.labels.as_ref()?.get("app.kubernetes.io/name")?;
                (!selector.contains_key("theirs") && label != "theirs").then_some(())
            })
            .await?;
    }
    eventually("an Event", DEFAULT_TIMEOUT, || async {
        let reported = reported().await.map_err(|error| error.to_string())?;
        reported.filter(|note| note.contains("Service web")).map(drop).ok_or_else(|| "none".to_owned())
    })
    .await?;
    stage
        .until::<MyApp, _>("web", "to be ready, and not stalled", DEFAULT_TIMEOUT, |app| {
            let contract = &app?.status.as_ref()?.contract;
            (contract.is_true("Ready") && contract.condition("Stalled").is_none()).then_some(())
        })
        .await
}

/// Takes a label of the Deployment, again and again; returns when it cannot.
async fn fights(stage: &Stage) -> Failure {
    let deployments = stage.api::<Deployment>();
    let foreign = Patch::Merge(json!({ "metadata": { "labels": { "app.kubernetes.io/name": "theirs" } } }));
    loop {
        if let Err(error) = deployments.patch("web", &PatchParams::default(), &foreign).await {
            return error.into();
        }
    }
}
