//! Watches that break: the manager notices afterward what has changed meanwhile, whether the watch continues where it stopped or
//! begins with a list; and late events cause no storm.

use std::time::Duration;

use api::sample::Sample;
use e2e::call::{Call, lines};
use e2e::proxy::{Fault, Proxy, Rule};
use e2e::wait::try_wait;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{ConfigMap, Service};
use kube::ResourceExt;
use kube::api::{DeleteParams, PropagationPolicy};
use serde_json::json;
use tokio::time::sleep;

use super::stage::{DEFAULT_TIMEOUT, Failure, KINDS, Stage, ensure, none, settled, writes};

/// How long watches take to be tried again after a few failures.
const BACK: Duration = Duration::from_secs(20);

pub async fn what_changed_meanwhile_is_noticed_when_watches_resume(stage: Stage) -> Result<(), Failure> {
    let since = blind_spell(&stage, |_| {}).await?;
    let lists: Vec<Call> = since.into_iter().filter(|call| call.verb == "list" && call.code == Some(200)).collect();
    none(&lists, "lists, although the watches could be resumed")
}

pub async fn what_changed_meanwhile_is_noticed_by_relists(stage: Stage) -> Result<(), Failure> {
    let expire = |proxy: &Proxy| {
        // One a kind, as when the versions seen last are no longer kept.
        drop(proxy.rule(Rule::new(|call| call.is_watch() && !call.is_lease(), Fault::Expired).times(KINDS)));
    };
    let since = blind_spell(&stage, expire).await?;
    let lists: Vec<&Call> = since.iter().filter(|call| call.verb == "list" && call.code == Some(200)).collect();
    ensure(lists.len() >= KINDS, || format!("{} kinds, but these lists:\n{}", KINDS, lines(lists)))
}

/// Breaks all watches, changes objects meanwhile, restores the watches after `prepare`, and waits until everything has converged.
/// Returns the manager's requests since.
async fn blind_spell(stage: &Stage, prepare: impl FnOnce(&Proxy)) -> Result<Vec<Call>, Failure> {
    let install = stage.install().await?;
    let proxy = stage.proxy(&install).await?;
    let _manager = stage.leader(&install, &proxy).await?;
    for name in ["child-deleted", "edited", "deleted", "recreated"] {
        stage.sample(name, "before").await?;
    }
    stage.app("web").await?;
    for name in ["child-deleted", "edited", "deleted", "recreated"] {
        stage.sample_kept(name, "before", DEFAULT_TIMEOUT).await?;
    }
    stage.app_ready("web", DEFAULT_TIMEOUT).await?;
    settled(&proxy).await?;

    let sight = |call: &Call| matches!(call.verb.as_str(), "watch" | "list") && !call.is_lease();
    let blind = proxy.rule(Rule::new(sight, Fault::Answer(503)));
    proxy.cut_watches();
    blind.reaches(KINDS, DEFAULT_TIMEOUT).await?;
    let begun = proxy.journal().len();
    stage.delete::<ConfigMap>("child-deleted").await?;
    stage.delete::<Service>("web").await?;
    stage.sample("edited", "after").await?;
    stage.delete::<Sample>("deleted").await?;
    stage.delete::<Sample>("recreated").await?;
    stage.until::<Sample, _>("recreated", "deleted", DEFAULT_TIMEOUT, |seen| seen.is_none().then_some(())).await?;
    stage.sample("recreated", "another").await?;
    stage.sample("new", "new").await?;
    sleep(Duration::from_secs(2)).await;
    none(&writes(&proxy.since(begun)), "writes of a manager that saw nothing")?;

    prepare(&proxy);
    blind.lift();
    stage.sample_kept("child-deleted", "before", BACK).await?;
    stage.sample_kept("edited", "after", BACK).await?;
    stage.sample_kept("recreated", "another", BACK).await?;
    stage.sample_kept("new", "new", BACK).await?;
    stage.until::<Service, _>("web", "recreated", BACK, |seen| seen.map(drop)).await?;
    stage.until::<ConfigMap, _>("deleted", "deleted for good", BACK, |seen| seen.is_none().then_some(())).await?;
    sleep(Duration::from_secs(2)).await;
    let since = proxy.since(begun);
    // Eight at most: four ConfigMaps and a Service, and the status of each object.
    let writes = writes(&since);
    ensure(writes.len() <= 12, || format!("{} writes:\n{}", writes.len(), lines(&writes)))?;
    Ok(since)
}

pub async fn late_events_of_one_kind_cause_no_storm(stage: Stage) -> Result<(), Failure> {
    let install = stage.install().await?;
    let proxy = stage.proxy(&install).await?;
    let late = |call: &Call| call.is_watch() && call.resource == "deployments";
    let late = proxy.rule(Rule::new(late, Fault::HoldEvents));
    let _manager = stage.leader(&install, &proxy).await?;
    late.reaches(1, DEFAULT_TIMEOUT).await?;
    stage.app("web").await?;
    stage.until::<Deployment, _>("web", "created", DEFAULT_TIMEOUT, |seen| seen.map(drop)).await?;
    // Long enough for several of the moments at which a key that waits for its own writes is reconciled all the same.
    sleep(Duration::from_secs(25)).await;
    let meanwhile = writes(&proxy.journal());
    println!("blind: {} writes in 25 s during which events of Deployments did not come", meanwhile.len());
    // Three children and one status, and once more what is not seen yet.
    ensure(meanwhile.len() <= 10, || format!("{} writes:\n{}", meanwhile.len(), lines(&meanwhile)))?;
    late.lift();
    stage.app_ready("web", DEFAULT_TIMEOUT).await?;
    stage.app_of("web", json!({ "image": "nginx:1.26", "replicas": 0 })).await?;
    stage
        .until::<Deployment, _>("web", "its new image", DEFAULT_TIMEOUT, |seen| {
            (e2e::objects::image(seen?) == "nginx:1.26").then_some(())
        })
        .await
}

pub async fn a_deletion_that_is_seen_late_causes_no_storm(stage: Stage) -> Result<(), Failure> {
    let install = stage.install().await?;
    let proxy = stage.proxy(&install).await?;
    let _manager = stage.leader(&install, &proxy).await?;
    stage.sample("deleted", "before").await?;
    stage.sample_kept("deleted", "before", DEFAULT_TIMEOUT).await?;
    let late = proxy.rule(Rule::new(|call| call.is_watch() && call.resource == "samples", Fault::HoldEvents));
    proxy.cut_watches();
    late.reaches(1, DEFAULT_TIMEOUT).await?;
    settled(&proxy).await?;
    let begun = proxy.journal().len();
    // The garbage collector deletes the ConfigMap, and the manager sees that, and the recreated one.
    stage.delete::<Sample>("deleted").await?;
    sleep(Duration::from_secs(20)).await;
    let meanwhile = writes(&proxy.since(begun));
    println!("blind: {} writes in 20 s for a Sample whose deletion was not seen", meanwhile.len());
    ensure(meanwhile.len() <= 20, || format!("{} writes:\n{}", meanwhile.len(), lines(&meanwhile)))?;
    late.lift();
    stage.until::<ConfigMap, _>("deleted", "deleted for good", BACK, |seen| seen.is_none().then_some(())).await
}

pub async fn orphans_of_a_deletion_that_is_seen_late_are_kept(stage: Stage) -> Result<(), Failure> {
    let install = stage.install().await?;
    let proxy = stage.proxy(&install).await?;
    let _manager = stage.leader(&install, &proxy).await?;
    stage.sample("left", "behind").await?;
    stage.sample_kept("left", "behind", DEFAULT_TIMEOUT).await?;
    let late = proxy.rule(Rule::new(|call| call.is_watch() && call.resource == "samples", Fault::HoldEvents));
    proxy.cut_watches();
    late.reaches(1, DEFAULT_TIMEOUT).await?;
    settled(&proxy).await?;
    let begun = proxy.journal().len();
    let orphan = DeleteParams { propagation_policy: Some(PropagationPolicy::Orphan), ..DeleteParams::default() };
    stage.api::<Sample>().delete("left", &orphan).await?;
    stage.until::<Sample, _>("left", "deleted", DEFAULT_TIMEOUT, |seen| seen.is_none().then_some(())).await?;
    // The ConfigMap lost its owner before the Sample was deleted; the manager sees that, and reads it.
    try_wait(DEFAULT_TIMEOUT, async || {
        let was_read = proxy.since(begun).iter().any(|call| call.verb == "get" && call.resource == "samples");
        if was_read { Ok(()) } else { Err("no read of the Sample yet".to_owned()) }
    })
    .await?;
    let mut written = writes(&proxy.since(begun));
    // The manager reads it because a ConfigMap of the name exists.
    written.retain(|call| call.code != Some(409));
    none(&written, "writes for a Sample that is being deleted")?;
    late.lift();
    let orphaned = |seen: Option<&ConfigMap>| seen?.owner_references().is_empty().then_some(());
    stage.until("left", "left alone", DEFAULT_TIMEOUT, orphaned).await
}
