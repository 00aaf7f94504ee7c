//! What `restartOn` costs: one request a minute for each object, and no write. A missing permission is reported, and not retried
//! in a loop.

use std::time::Duration;

use api::my_app::MyApp;
use e2e::call::{Call, lines};
use e2e::process::Launch;
use e2e::process::install::{allows, apply, generated};
use serde_json::json;
use tokio::time::sleep;

use super::stage::{DEFAULT_TIMEOUT, Failure, Stage, ensure, none, settled, writes};

pub async fn each_object_is_read_once_a_minute_and_a_missing_permission_is_reported(
    stage: Stage,
) -> Result<(), Failure> {
    let install = stage.install().await?;
    let mut lacking = generated("manager_role.yaml")?;
    if let Some(rules) = lacking["rules"].as_array_mut() {
        rules.retain(|rule| rule["resources"] != json!(["secrets"]));
    }
    apply(&stage.client, Some(&stage.name), lacking).await?;
    let taken = json!({ "apiGroups": [""], "resources": ["secrets"], "verbs": ["get"] });
    allows(&stage.client, &install.user(), Some(&stage.name), &taken, false).await?;
    let settings =
        json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "settings" }, "data": { "a": "1" } });
    apply(&stage.client, Some(&stage.name), settings).await?;

    let proxy = stage.proxy(&install).await?;
    let mut manager = Launch::default().through(&proxy).start(&install)?;
    manager.leads(DEFAULT_TIMEOUT).await?;
    let on = json!([{ "configMapRef": { "name": "settings" } }]);
    for name in ["one", "two"] {
        stage.app_of(name, json!({ "image": "nginx:1.25", "replicas": 0, "restartOn": on })).await?;
        stage.app_ready(name, DEFAULT_TIMEOUT).await?;
    }
    let secret = json!([{ "secretRef": { "name": "keys" } }]);
    stage.app_of("three", json!({ "image": "nginx:1.25", "replicas": 0, "restartOn": secret })).await?;
    let (reason, message) = stage.condition::<MyApp>("three", "Stalled", DEFAULT_TIMEOUT).await?;
    println!("restartOn: {message}");
    let permission = format!("permission to get secrets in namespace {}", stage.name);
    ensure(reason == "Forbidden" && message.contains(&permission), || format!("{reason}: {message}"))?;

    settled(&proxy).await?;
    let before = proxy.journal().len();
    sleep(Duration::from_secs(125)).await;
    let calls = proxy.since(before);
    none(&writes(&calls), "writes at rest")?;
    for resource in ["configmaps", "secrets"] {
        let gets: Vec<Call> =
            calls.iter().filter(|call| call.verb == "get" && call.resource == resource).cloned().collect();
        ensure((1..=2).contains(&gets.len()), || format!("{} of {resource}:\n{}", gets.len(), lines(&gets)))?;
    }
    Ok(())
}
