//! What of their pods MyApps may override is the administrator's to say; beyond that, Pod Security's.

use api::my_app::MyApp;
use e2e::process::Launch;
use e2e::process::install::apply;
use k8s_openapi::api::apps::v1::Deployment;
use serde_json::{Value, json};

use super::stage::{DEFAULT_TIMEOUT, Failure, Stage, ensure};

const IMAGE: &str = "nginx:1.25";

async fn app(stage: &Stage, overrides: Value) -> Result<(), Failure> {
    stage.app_of("web", json!({ "image": IMAGE, "replicas": 0, "podOverrides": overrides })).await
}

/// Waits until the MyApp is stalled for that reason, and returns what is said.
async fn stalled(stage: &Stage, reason: &str) -> Result<String, Failure> {
    stage
        .until::<MyApp, _>("web", reason, DEFAULT_TIMEOUT, |app| {
            let generation = app?.metadata.generation;
            let stalled = app?.status.as_ref()?.contract.condition("Stalled")?;
            (stalled.reason.as_str() == reason && stalled.observed_generation == generation)
                .then(|| stalled.message.clone())
        })
        .await
}

pub async fn pods_are_overridden_as_far_as_the_administrator_and_pod_security_let_them(
    stage: Stage,
) -> Result<(), Failure> {
    let labels = json!({ "pod-security.kubernetes.io/enforce": "baseline" });
    apply(
        &stage.client,
        None,
        json!({ "apiVersion": "v1", "kind": "Namespace",
        "metadata": { "name": stage.name, "labels": labels } }),
    )
    .await?;
    let install = stage.install().await?;
    let mut manager = Launch::default().env("POD_OVERRIDES", "all").start(&install)?;
    manager.leads(DEFAULT_TIMEOUT).await?;
    let sidecar = json!({ "spec": {
        "securityContext": { "fsGroup": 1000 },
        "initContainers": [{ "name": "init", "image": IMAGE, "command": ["true"] }],
        "containers": [
            { "name": "app", "securityContext": { "readOnlyRootFilesystem": true } },
            { "name": "side", "image": IMAGE, "resources": { "limits": { "cpu": 1 } } },
        ],
    } });
    app(&stage, sidecar).await?;
    stage.app_ready("web", DEFAULT_TIMEOUT).await?;
    let before = stage.api::<Deployment>().get("web").await?;
    let pod = before.spec.as_ref().and_then(|spec| spec.template.spec.as_ref()).ok_or("no template")?;
    let names: Vec<&str> = pod.containers.iter().map(|container| &*container.name).collect();
    ensure(names == ["app", "side"] && pod.init_containers.as_ref().is_some_and(|init| init.len() == 1), || {
        format!("{pod:?}")
    })?;
    let confined = pod.containers[0].security_context.as_ref().ok_or("no security context")?;
    ensure(
        confined.read_only_root_filesystem == Some(true) && confined.allow_privilege_escalation == Some(false),
        || format!("it is merged: {confined:?}"),
    )?;

    app(&stage, json!({ "spec": { "volumes": [{ "name": "root", "hostPath": { "path": "/" } }] } })).await?;
    let message = stalled(&stage, "Rejected").await?;
    println!("overrides: {message}");
    ensure(message.contains("violates PodSecurity \"baseline"), || message.clone())?;
    let after = stage.api::<Deployment>().get("web").await?;
    ensure(after.metadata.generation == before.metadata.generation, || "the Deployment was changed".to_owned())?;
    manager.signal("TERM").await?;
    manager.ends(DEFAULT_TIMEOUT).await?;

    let mut manager = Launch::default().env("POD_OVERRIDES", "none").start(&install)?;
    manager.leads(DEFAULT_TIMEOUT).await?;
    app(&stage, json!({ "metadata": { "labels": { "team": "a" } } })).await?;
    let message = stalled(&stage, "PodOverridesNotAllowed").await?;
    ensure(message.contains("--pod-overrides=none"), || message.clone())
}
