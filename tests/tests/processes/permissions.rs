//! Permissions: Roles in single namespaces are enough, a missing permission stops only the controller that needs it, and no
//! permission is granted that is not used.

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

use super::stage::{DEFAULT_TIMEOUT, Failure, Stage, ensure, none};

/// Part of the names of users who are forbidden something on purpose.
const PROVOKED: &str = ":processes-permissions-";

pub async fn roles_in_two_namespaces_are_enough(stage: Stage) -> Result<(), Failure> {
    let (second, third) = (stage.another("second").await?, stage.another("third").await?);
    let install = Install::namespaced(&stage.client, &stage.name, &[&stage.name, &second.name]).await?;
    let audit = Audit::from_now(&install.user());
    // Outside of a pod, a manager warns that it does not know its own image.
    let mut manager = Launch::default().env("AGENT_IMAGE", "localhost/multi-operator:dev").start(&install)?;
    manager.leads(DEFAULT_TIMEOUT).await?;
    for place in [&stage, &second, &third] {
        place.app("web").await?;
        place.sample("kept", "kept").await?;
    }
    for place in [&stage, &second] {
        place.app_ready("web", DEFAULT_TIMEOUT).await?;
        place.sample_kept("kept", "kept", DEFAULT_TIMEOUT).await?;
    }
    manager.ready(DEFAULT_TIMEOUT).await?;
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
    manager.ends(DEFAULT_TIMEOUT).await?;

    // With HTTPS, the manager cannot check here who may read metrics; it has to say so, and work otherwise.
    let mut manager = Launch::default().secure_metrics().start(&install)?;
    manager.leads(DEFAULT_TIMEOUT).await?;
    let (code, why) = manager.metrics(Some(&install.token)).await?;
    ensure(
        code == 503
            && why.contains("lacks permission to create tokenreviews")
            && why.contains("--metrics-secure=false"),
        || format!("{code}: {why}"),
    )?;
    stage.sample("kept", "edited").await?;
    stage.sample_kept("kept", "edited", DEFAULT_TIMEOUT).await
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
    manager.leads(DEFAULT_TIMEOUT).await?;
    stage.app("web").await?;
    stage.sample("kept", "kept").await?;
    stage.sample_kept("kept", "kept", DEFAULT_TIMEOUT).await?;
    let (reason, message) = stage.condition::<MyApp>("web", "Stalled", DEFAULT_TIMEOUT).await?;
    let permission = format!("list services in namespace {} is forbidden: bind the Role", stage.name);
    ensure(reason == "WatchFailing" && message.contains(&permission), || format!("{reason}: {message}"))?;
    ensure(stage.children::<k8s_openapi::api::apps::v1::Deployment>().await? == 0, || {
        "it acted although it could not see".to_owned()
    })?;
    apply(&stage.client, Some(&stage.name), granted).await?;
    let begun = Instant::now();
    stage.app_ready("web", Duration::from_secs(40)).await?;
    println!("permissions: works again {:.1?} after the permission was granted", begun.elapsed());
    let stalled =
        stage.api::<MyApp>().get("web").await?.status.is_some_and(|status| status.contract.is_true("Stalled"));
    ensure(!stalled, || "Stalled stayed".to_owned())
}

fn forbidden(calls: &[Call]) -> Vec<Call> {
    calls.iter().filter(|call| call.code == Some(403)).cloned().collect()
}

/// Over all tests: no request was forbidden, and every permission of the namespaced Role was used, including by the deployed
/// manager, which the suite in_cluster has run on this cluster before.
pub fn used_over_the_run(audit: Option<&Audit>) -> Result<(), Failure> {
    let Some(audit) = audit else {
        return Err(
            "permissions are compared with requests: set MULTI_OPERATOR_AUDIT_LOG, as scripts/cluster env does".into(),
        );
    };
    let entries = audit.entries()?;
    // The permission existed, but the request came too late into a terminating namespace.
    let unprovoked = entries.iter().filter(|entry| !entry.user.contains(PROVOKED) && !entry.allowed);
    let unprovoked = unprovoked.map(|entry| entry.call.clone());
    none(&forbidden(&unprovoked.collect::<Vec<_>>()), "forbidden requests over the complete run")?;
    // scripts/test names the tests that it has left out, as nothing that they depend on has changed since they passed.
    let left_out = std::env::var("MULTI_OPERATOR_PARTIAL_SUITE").unwrap_or_default();
    if !left_out.is_empty() {
        println!("permissions: which are used is not compared: in_cluster has run with {left_out}");
        return Ok(());
    }
    let deployed = Audit::from_the_beginning(MANAGER_USER).ok_or("the audit log does not exist")?.entries()?;
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
                let permission = |verb: &String| format!("{verb} {resource}");
                unused.extend(
                    rule.verbs
                        .iter()
                        .map(permission)
                        .filter(|permission| !used.contains(permission) && !explained(permission)),
                );
            }
        }
    }
    println!(
        "permissions: granted and not used: {}",
        if unused.is_empty() { "none".to_owned() } else { unused.join(", ") }
    );
    ensure(unused.is_empty(), || {
        format!(
            "permissions that no test has used (in_cluster must have run on the cluster before): {}",
            unused.join(", ")
        )
    })
}

/// Permissions that leave no request of their own in the log.
fn explained(permission: &str) -> bool {
    let (verb, resource) = permission.split_once(' ').unwrap_or_default();
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
        // A Job is read if one of its name exists that no watch has reported yet: after a crash at the right moment.
        "get" => resource == "jobs",
        // A server-side apply that creates an object is a PATCH, and needs the permission to create in addition.
        "create" => child,
        // OwnerReferencesPermissionEnforcement requires it of a client that adopts an orphan,
        "delete" => child,
        // and this of a client that creates children that block their owner's deletion.
        "update" => resource.ends_with("/finalizers"),
        _ => false,
    }
}
