//! Events: what is said of an object again and again is one Event that counts.

use api::my_app::MyApp;
use e2e::call::Call;
use e2e::proxy::{Fault, Rule};
use k8s_openapi::api::events::v1::Event;
use kube::api::ListParams;
use serde_json::json;

use super::stage::{DEFAULT_TIMEOUT, Failure, Stage, ensure, eventually};

pub async fn a_repeated_event_is_counted(stage: Stage) -> Result<(), Failure> {
    let install = stage.install().await?;
    let proxy = stage.proxy(&install).await?;
    let _manager = stage.leader(&install, &proxy).await?;
    stage.app("web").await?;
    stage.app_ready("web", DEFAULT_TIMEOUT).await?;
    for times in 1..=3 {
        let refused = |call: &Call| call.is_write() && call.resource == "services";
        let refused = proxy.rule(Rule::new(refused, Fault::Answer(422)));
        stage.merge::<MyApp>("web", json!({ "spec": { "port": 1000 + times } })).await?;
        let (reason, message) = stage.condition::<MyApp>("web", "Stalled", DEFAULT_TIMEOUT).await?;
        ensure(reason == "Rejected", || format!("{reason}: {message}"))?;
        counted(&stage, times).await?;
        refused.lift();
        // What is refused waits for an edit.
        stage.merge::<MyApp>("web", json!({ "spec": { "port": 2000 + times } })).await?;
        stage.app_ready("web", DEFAULT_TIMEOUT).await?;
    }
    Ok(())
}

/// Waits until one Event says so often that the MyApp is refused.
async fn counted(stage: &Stage, times: i32) -> Result<(), Failure> {
    eventually("one Event", DEFAULT_TIMEOUT, || async {
        let all = stage.api::<Event>().list(&ListParams::default()).await.map_err(|error| error.to_string())?;
        let refused = all.items.iter().filter(|event| event.reason.as_deref() == Some("Rejected"));
        let counts: Vec<i32> = refused.map(|event| event.series.as_ref().map_or(1, |series| series.count)).collect();
        if counts == [times] { Ok(()) } else { Err(format!("Events, by how often they were said: {counts:?}")) }
    })
    .await
}
