//! A watched namespace in which the manager has no permissions: it reports the missing ones on its Pod and in Events, and
//! reconciles the other namespaces normally.

use std::time::{Duration, Instant};

use api::my_app::MyApp;
use e2e::process::install::apply;
use e2e::process::{Install, Launch, Manager};
use k8s_openapi::api::core::v1::{Event, Pod, PodCondition};
use kube::ResourceExt;
use kube::api::ListParams;
use serde_json::json;
use tokio::time::sleep;

use super::stage::{DEFAULT_TIMEOUT, Failure, Stage, ensure};

/// The Pod that the manager takes for its own. It never runs, so that only the manager writes its conditions.
const OWN: &str = "own";

pub async fn it_is_reported_and_the_other_namespaces_are_not_affected(stage: Stage) -> Result<(), Failure> {
    let other = stage.another("team-b").await?;
    let mut install = Install::namespaced(&stage.client, &stage.name, &[&stage.name]).await?;
    install.watched.push(other.name.clone());
    apply(&stage.client, Some(&stage.name), own_pod()).await?;
    let mut manager = Launch::default().env("AGENT_IMAGE", "a:1").env("POD_NAME", OWN).start(&install)?;
    manager.leads(DEFAULT_TIMEOUT).await?;
    stage.app("web").await?;
    other.app("web").await?;
    stage.app_ready("web", DEFAULT_TIMEOUT).await?;
    manager.ready(DEFAULT_TIMEOUT).await?;

    let account = format!("the service account manager of namespace {}", stage.name);
    let permission = format!("list myapps.example.com in namespace {} is forbidden: bind the Role", other.name);
    let line = check(&manager, "watch-myapps").await?;
    ensure(line.starts_with(&format!("[-]watch-myapps failed: {permission}")) && line.ends_with(&account), || {
        line.clone()
    })?;
    let missing = says(&stage, "False", DEFAULT_TIMEOUT).await?;
    let message = missing.message.unwrap_or_default();
    let named = ["myapps.example.com", "configmaps", other.name.as_str(), account.as_str()];
    ensure(missing.reason.as_deref() == Some("MissingRight") && named.iter().all(|of| message.contains(of)), || {
        format!("{:?}: {message}", missing.reason)
    })?;
    println!("permissions_missing: {message}");
    let generation = other.api::<MyApp>().get("web").await?.status.map(|status| status.contract.observed_generation);
    ensure(generation == Some(-1), || format!("a MyApp that cannot be seen was touched: {generation:?}"))?;

    install.grant(&other.name).await?;
    let granted = Instant::now();
    other.app_ready("web", Duration::from_secs(40)).await?;
    println!("permissions_missing: served {:.1?} after the Role was bound", granted.elapsed());
    let whole = says(&stage, "True", Duration::from_secs(40)).await?;
    ensure(whole.reason.as_deref() == Some("Watching"), || format!("{whole:?}"))?;
    let line = check(&manager, "watch-myapps").await?;
    ensure(line == "[+]watch-myapps ok", || line.clone())?;

    // One Event a transition, and nothing any more.
    let version = stage.api::<Pod>().get(OWN).await?.resource_version();
    sleep(Duration::from_secs(8)).await;
    ensure(stage.api::<Pod>().get(OWN).await?.resource_version() == version, || "it is written again".to_owned())?;
    let events =
        stage.api::<Event>().list(&ListParams::default().fields(&format!("involvedObject.name={OWN}"))).await?;
    let mut reported: Vec<_> =
        events.items.iter().map(|event| (event.type_.as_deref(), event.reason.as_deref())).collect();
    reported.sort_unstable();
    let expected = [(Some("Normal"), Some("Watching")), (Some("Warning"), Some("MissingRight"))];
    ensure(reported == expected, || format!("{reported:?}"))
}

fn own_pod() -> serde_json::Value {
    json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": { "name": OWN },
        "spec": { "schedulerName": "none", "containers": [{ "name": "manager", "image": "a:1" }] },
    })
}

/// One line of `/readyz?verbose`.
async fn check(manager: &Manager, name: &str) -> Result<String, Failure> {
    let (_, checks) = manager.health("/readyz?verbose").await?;
    let line = checks.lines().find(|line| line.split([']', ' ']).nth(1) == Some(name));
    Ok(line.ok_or_else(|| checks.clone())?.to_owned())
}

/// Waits until the Pod's condition reports whether all watches are synced.
async fn says(stage: &Stage, status: &str, limit: Duration) -> Result<PodCondition, Failure> {
    stage
        .until::<Pod, _>(OWN, "the condition of its own Pod", limit, |pod| {
            let mut conditions = pod?.status.iter().flat_map(|status| status.conditions.iter().flatten());
            conditions
                .find(|condition| {
                    condition.type_ == "multi-operator.example.com/Watching" && condition.status == status
                })
                .cloned()
        })
        .await
}
