//! Rights: Roles in single namespaces are enough, a missing right stops its own controller only, and nothing is granted
//! that is not used.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use api::my_app::MyApp;
use e2e::audit::Audit;
use e2e::call::Call;
use e2e::cluster::MANAGER_USER;
use e2e::process::install::{allows, apply, generated};
use e2e::process::{Install, Launch};
use k8s_openapi::api::rbac::v1::PolicyRule;
use serde_json::json;
use tokio::time::sleep;

use super::stage::{Failure, SOON, Stage, ensure, none};

/// Part of the names of users who are forbidden something on purpose.
const PROVOKED: &str = ":processes-rights-";

pub async fn roles_in_two_namespaces_are_enough(stage: Stage) -> Result<(), Failure> {
    let (second, third) = (stage.beside("second").await?, stage.beside("third").await?);
    let install = Install::namespaced(&stage.client, &stage.name, &[&stage.name, &second.name]).await?;
    let audit = Audit::from_now(&install.user());
    // Outside of pods, a manager warns that it cannot tell its own image.
    let mut manager = Launch::default().env("AGENT_IMAGE", "localhost/multi-operator:dev").start(&install)?;
    manager.leads(SOON).await?;
    for place in [&stage, &second, &third] {
        place.app("web").await?;
        place.sample("kept", "kept").await?;
    }
    for place in [&stage, &second] {
        place.app_ready("web", SOON).await?;
        place.sample_kept("kept", "kept", SOON).await?;
    }
    manager.ready(SOON).await?;
    sleep(Duration::from_secs(5)).await;
    let untouched = third.api::<MyApp>().get("web").await?.status.map(|status| status.contract.observed_generation);
    ensure(untouched == Some(-1), || format!("a MyApp of a namespace not watched was touched: {untouched:?}"))?;
    ensure(third.children::<k8s_openapi::api::apps::v1::Deployment>().await? == 0, || {
        "it was given a child".to_owned()
    })?;
    let log = manager.log();
    ensure(!log.to_lowercase().contains("forbidden") && !log.contains("WARN"), || log.clone())?;
    if let Some(audit) = audit {
        none(&forbidden(&audit.calls()?), "forbidden requests of a namespaced install")?;
    }
    let (code, _) = manager.metrics(None).await?;
    ensure(code == 200, || format!("plain metrics answered {code}"))?;
    manager.signal("TERM").await?;
    manager.ends(SOON).await?;

    // By HTTPS, whom to let in cannot be told here; it has to say so, and work otherwise.
    let mut manager = Launch::default().secure_metrics().start(&install)?;
    manager.leads(SOON).await?;
    let (code, why) = manager.metrics(Some(&install.token)).await?;
    ensure(
        code == 503 && why.contains("may not create tokenreviews") && why.contains("--metrics-secure=false"),
        || format!("{code}: {why}"),
    )?;
    stage.sample("kept", "edited").await?;
    stage.sample_kept("kept", "edited", SOON).await
}

pub async fn a_kind_that_may_not_be_watched_stalls_its_controller_alone(stage: Stage) -> Result<(), Failure> {
    let install = stage.install().await?;
    let granted = generated("manager_role.yaml")?;
    let mut lacking = granted.clone();
    if let Some(rules) = lacking["rules"].as_array_mut() {
        rules.retain(|rule| rule["resources"] != json!(["services"]));
    }
    ensure(lacking != granted, || "the Role has no rule for services".to_owned())?;
    apply(&stage.client, Some(&stage.name), lacking).await?;
    let taken = json!({ "apiGroups": [""], "resources": ["services"], "verbs": ["list"] });
    allows(&stage.client, &install.user(), Some(&stage.name), &taken, false).await?;

    let mut manager = Launch::default().start(&install)?;
    manager.leads(SOON).await?;
    stage.app("web").await?;
    stage.sample("kept", "kept").await?;
    stage.sample_kept("kept", "kept", SOON).await?;
    let (reason, message) = stage.condition::<MyApp>("web", "Stalled", SOON).await?;
    let right = format!("list services in namespace {} is forbidden: bind the Role", stage.name);
    ensure(reason == "WatchFailing" && message.contains(&right), || format!("{reason}: {message}"))?;
    ensure(stage.children::<k8s_openapi::api::apps::v1::Deployment>().await? == 0, || {
        "it acted although it could not see".to_owned()
    })?;
    apply(&stage.client, Some(&stage.name), granted).await?;
    let begun = Instant::now();
    stage.app_ready("web", Duration::from_secs(40)).await?;
    println!("rights: works again {:.1?} after the right was granted", begun.elapsed());
    let stalled =
        stage.api::<MyApp>().get("web").await?.status.is_some_and(|status| status.contract.is_true("Stalled"));
    ensure(!stalled, || "Stalled stayed".to_owned())
}

fn forbidden(calls: &[Call]) -> Vec<Call> {
    calls.iter().filter(|call| call.code == Some(403)).cloned().collect()
}

/// Over all tests: nothing was forbidden, and every right of the namespaced Role was used, be it by the deployed manager, which
/// the suite in_cluster has put to work on this cluster before.
pub fn used_over_the_run(audit: Option<&Audit>) -> Result<(), Failure> {
    let Some(audit) = audit else {
        return Err(
            "rights are compared with requests: set MULTI_OPERATOR_AUDIT_LOG, as scripts/cluster env does".into()
        );
    };
    let entries = audit.entries()?;
    // Who had the right, and was refused, came too late into a namespace that is going.
    let unprovoked = entries.iter().filter(|entry| !entry.user.contains(PROVOKED) && !entry.allowed);
    let unprovoked = unprovoked.map(|entry| entry.call.clone());
    none(&forbidden(&unprovoked.collect::<Vec<_>>()), "forbidden requests over the whole run")?;
    // scripts/test names the tests that it has left out, as nothing that they depend on has changed since they passed.
    let left_out = std::env::var("MULTI_OPERATOR_PARTIAL_SUITE").unwrap_or_default();
    if !left_out.is_empty() {
        println!("rights: which are used is not compared: in_cluster has run with {left_out}");
        return Ok(());
    }
    let deployed = Audit::from_the_beginning(MANAGER_USER).ok_or("the audit log is gone")?.entries()?;
    let calls = entries.into_iter().chain(deployed).map(|entry| entry.call);
    let used: BTreeSet<String> = calls
        .filter(|call| call.code.is_some_and(|code| code != 403))
        .map(|call| format!("{} {}", call.verb, call.target()))
        .collect();
    let mut unused = Vec::new();
    for file in ["manager_role.yaml", "leader_election_role.yaml", "metrics_auth_cluster_role.yaml"] {
        let rules: Vec<PolicyRule> = serde_json::from_value(generated(file)?["rules"].take())?;
        for rule in rules {
            for resource in rule.resources.unwrap_or_default() {
                let right = |verb: &String| format!("{verb} {resource}");
                unused.extend(rule.verbs.iter().map(right).filter(|right| !used.contains(right) && !explained(right)));
            }
        }
    }
    println!("rights: granted and not used: {}", if unused.is_empty() { "none".to_owned() } else { unused.join(", ") });
    ensure(unused.is_empty(), || {
        format!("rights that no test has used (in_cluster is to have run on the cluster before): {}", unused.join(", "))
    })
}

/// Rights that leave no request of their own in the log.
fn explained(right: &str) -> bool {
    let (verb, resource) = right.split_once(' ').unwrap_or_default();
    let children = [
        "configmaps",
        "services",
        "deployments",
        "statefulsets",
        "poddisruptionbudgets",
        "horizontalpodautoscalers",
        "ingresses",
        "httproutes",
    ];
    let child = children.contains(&resource);
    match verb {
        // A Job is looked at if one of its name is there that no watch has told of yet: after a death at the right moment.
        "get" => resource == "jobs",
        // A server-side apply that creates is a PATCH, and needs the right to create besides.
        "create" => child,
        // OwnerReferencesPermissionEnforcement asks it of whoever adopts an orphan,
        "delete" => child,
        // and this of whoever makes children that block their owner's deletion.
        "update" => resource.ends_with("/finalizers"),
        _ => false,
    }
}
