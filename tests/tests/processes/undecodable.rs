//! An object that does not decode (older schema, junk): it is said on that object, the others go on, and
//! so does the watch.

use std::time::Duration;

use api::etcd_cluster::EtcdCluster;
use api::my_app::MyApp;
use e2e::process::install::apply;
use e2e::proxy::{Fault, Rule};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::Pod;
use kube::api::{ListParams, Patch, PatchParams};
use serde_json::{Value, json};
use std::sync::Arc;
use tokio::time::sleep;

use super::stage::{DEFAULT_TIMEOUT, Failure, Stage, ensure, writes};

/// The schema would refuse it, so it is put into what the manager gets to see.
fn spoil(object: &mut Value) {
    if object["metadata"]["name"].as_str().is_some_and(|name| name.starts_with("junk")) {
        object["spec"]["replicas"] = json!("junk");
    }
}

pub async fn it_is_reported_on_that_object_and_the_others_are_reconciled(stage: Stage) -> Result<(), Failure> {
    let install = stage.install().await?;
    let proxy = stage.proxy(&install).await?;
    let apps = |call: &e2e::call::Call| call.resource == "myapps" && matches!(call.verb.as_str(), "list" | "watch");
    let spoiled = proxy.rule(Rule::new(apps, Fault::Alter(Arc::new(spoil))));
    // One comes with the list, one by the watch.
    for name in ["junk-listed", "sound-listed"] {
        stage.app(name).await?;
    }
    let manager = stage.leader(&install, &proxy).await?;
    manager.ready(DEFAULT_TIMEOUT).await?;
    for name in ["junk-watched", "sound-watched"] {
        stage.app(name).await?;
    }
    for name in ["junk-listed", "junk-watched"] {
        let (reason, message) = stage.condition::<MyApp>(name, "Stalled", DEFAULT_TIMEOUT).await?;
        let reported = reason == "Undecodable" && message.contains("does not decode") && message.contains("junk");
        ensure(reported, || format!("{name} says {reason}: {message}"))?;
    }
    for name in ["sound-listed", "sound-watched"] {
        stage.app_ready(name, DEFAULT_TIMEOUT).await?;
    }
    // The watch continues after the object that it could not decode.
    stage.app_of("sound-listed", json!({ "image": "nginx:1.26", "replicas": 0 })).await?;
    stage
        .until::<Deployment, _>("sound-listed", "its new image", DEFAULT_TIMEOUT, |seen| {
            (e2e::objects::image(seen?) == "nginx:1.26").then_some(())
        })
        .await?;
    ensure(manager.metric("multi_operator_watch_errors_total", &["kind=\"MyApp\""]).await? == 0.0, || manager.log())?;
    sleep(Duration::from_secs(2)).await;
    let said = writes(&proxy.journal()).into_iter().filter(|call| call.name.starts_with("junk")).count();
    ensure(said == 2, || format!("{said} writes to say it on two objects"))?;
    for name in ["junk-listed", "junk-watched"] {
        let child = stage.api::<Deployment>().get_opt(name).await?;
        ensure(child.is_none(), || format!("{name} was given a Deployment"))?;
    }
    // Sound again: a new watch, and a change that brings it along.
    spoiled.lift();
    proxy.cut_watches();
    stage.app_of("junk-listed", json!({ "image": "nginx:1.26", "replicas": 0 })).await?;
    stage.app_ready("junk-listed", DEFAULT_TIMEOUT).await
}

/// Status has what is latched: without it, the operator would initialize another cluster next to the volumes.
pub async fn an_etcd_cluster_keeps_what_its_status_says(stage: Stage) -> Result<(), Failure> {
    let install = stage.install().await?;
    let proxy = stage.proxy(&install).await?;
    let clusters = |call: &e2e::call::Call| call.resource == "etcdclusters" && ["list", "watch"].contains(&&*call.verb);
    let spoil = |object: &mut Value| object["spec"]["size"] = json!("junk");
    let _spoiled = proxy.rule(Rule::new(clusters, Fault::Alter(Arc::new(spoil))));
    apply(
        &stage.client,
        Some(&stage.name),
        json!({ "apiVersion": "etcd.database.coreos.com/v1beta2", "kind": "EtcdCluster", "metadata": { "name": "web" },
            "spec": { "size": 1 } }),
    )
    .await?;
    let latched = json!({ "clusterID": "c0ffee", "targetVersion": "3.6.16", "currentVersion": "3.6.16", "size": 1,
        "storage": { "durable": true }, "memberStatuses": [{ "name": "web-abcdefghij", "id": "1", "role": "Leader" }] });
    let api = stage.api::<EtcdCluster>();
    api.patch_status("web", &PatchParams::default(), &Patch::Merge(json!({ "status": latched }))).await?;
    let manager = stage.leader(&install, &proxy).await?;
    let (reason, _) = stage.condition::<EtcdCluster>("web", "Stalled", DEFAULT_TIMEOUT).await?;
    ensure(reason == "Undecodable", || reason)?;
    let reported = json!(api.get_status("web").await?.status);
    for (field, value) in latched.as_object().into_iter().flatten() {
        ensure(reported[field] == *value, || format!("{field} was {value}: {reported}"))?;
    }
    let pods = stage.api::<Pod>().list(&ListParams::default()).await?.items.len();
    ensure(pods == 0, || format!("{pods} pods: {}", manager.log()))
}
