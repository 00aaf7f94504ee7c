//! What keeps pods from running is told on the MyApp, and what ran goes on running.

use api::my_app::{MyApp, Phase};
use e2e::namespace::Namespace;
use e2e::objects::{Ours, phase, runs, status};
use k8s_openapi::api::core::v1::Pod;
use kube::api::ListParams;
use serde_json::json;

use crate::manifest::my_app;

/// Waits for trouble of that reason; returns its message. Stalled says the same as Ready.
pub async fn stalled(ns: &Namespace, reason: &str) -> String {
    let what = format!("the reason {reason} in the conditions");
    ns.until::<MyApp, _>("web", &what, |app| {
        let (seen, message) = app?.trouble()?;
        let stalled = app?.condition("Stalled")?;
        (seen == reason && stalled.reason == reason).then(|| message.to_owned())
    })
    .await
}

/// Waits until it runs with so many pods.
pub async fn running(ns: &Namespace, pods: i32) {
    ns.until::<MyApp, ()>("web", "it to run", |app| runs(app?, pods).then_some(())).await;
}

#[tokio::test]
async fn a_crash_loop_is_told() {
    let ns = Namespace::new("crash").await;
    let dies = "{replicas: 1, image: nginx:1.25, probes: {liveness: {exec: {command: [/bin/false]}, periodSeconds: 1, \
                failureThreshold: 1}, readiness: {exec: {command: [/bin/false]}, periodSeconds: 1}}}";
    ns.apply(&my_app("web", dies)).await;
    let message = stalled(&ns, "CrashLoopBackOff").await;
    println!("a crash loop reads: {message}");
    assert!(message.contains("0 of 1 pod is ready") && message.contains("keeps ending"), "{message}");
    ns.patch("myapp/web", &json!({ "spec": { "probes": null } })).await;
    running(&ns, 1).await;
}

#[tokio::test]
async fn a_program_that_cannot_be_started_is_told() {
    let ns = Namespace::new("no-start").await;
    ns.apply(&my_app("web", "{replicas: 1, image: nginx:1.25, env: [{name: PATH, value: /nowhere}]}")).await;
    let (reason, message) = ns
        .until::<MyApp, _>("web", "the failed start in the conditions", |app| {
            app?.condition("Stalled")?;
            app?.trouble().map(|(reason, message)| (reason.to_owned(), message.to_owned()))
        })
        .await;
    println!("a program that is not there reads: {reason}: {message}");
    assert_eq!(reason, "RunContainerError");
    assert!(message.contains("executable file not found"), "{message}");
    // kubelet says now this and now CrashLoopBackOff; the words here stay the same.
    let history = ns.record::<MyApp>("web").await;
    let restarted = |pod: &Pod| pod.status.as_ref()?.container_statuses.as_ref()?.first().map(|c| c.restart_count);
    ns.eventually("two more tries", || async {
        let pods = ns.api::<Pod>().list(&ListParams::default()).await.map_err(|error| error.to_string())?;
        let most = pods.items.iter().filter_map(restarted).max();
        if most >= Some(2) { Ok(()) } else { Err(format!("{most:?} restarts")) }
    })
    .await;
    let objects = history.objects();
    let said: std::collections::BTreeSet<_> = objects.iter().filter_map(|app| app.trouble()).collect();
    assert_eq!(said.len(), 1, "{said:?}");
}

#[tokio::test]
async fn a_refusal_by_quota_is_told() {
    let ns = Namespace::new("quota").await;
    let quota = "apiVersion: v1\nkind: ResourceQuota\nmetadata: {name: few}\nspec: {hard: {pods: 2}}\n";
    ns.apply(quota).await;
    ns.apply(&my_app("web", "{replicas: 3, image: nginx:1.25}")).await;
    ns.until::<MyApp, ()>("web", "the quota in the conditions, with 2 pods", |app| {
        let (reason, message) = app?.trouble()?;
        let two = status(app?)?.ready_replicas == 2 && phase(app?) == Some(Phase::Degraded);
        (two && reason == "FailedCreate" && message.contains("exceeded quota: few")).then_some(())
    })
    .await;
    drop(ns.kubectl(&["delete", "resourcequota/few"]).await.ok());
    running(&ns, 3).await;
}

#[tokio::test]
async fn a_restricted_namespace_needs_restricted_security() {
    let restricted = [("pod-security.kubernetes.io/enforce", "restricted")];
    let ns = Namespace::labelled("restricted", &restricted).await;
    // An image that runs as a numeric user other than root.
    ns.apply(&my_app("web", "{replicas: 1, image: 'localhost/multi-operator-pause:1'}")).await;
    let message = stalled(&ns, "FailedCreate").await;
    assert!(
        message.contains("violates PodSecurity") && message.contains("set spec.security to Restricted"),
        "{message}"
    );
    ns.patch("myapp/web", &json!({ "spec": { "security": "Restricted" } })).await;
    running(&ns, 1).await;
}

#[tokio::test]
async fn restricted_with_an_image_of_root_is_told() {
    let ns = Namespace::new("root").await;
    ns.apply(&my_app("web", "{replicas: 1, image: nginx:1.25, security: Restricted}")).await;
    let message = stalled(&ns, "CreateContainerConfigError").await;
    assert!(message.contains("run as root"), "{message}");
    ns.patch("myapp/web", &json!({ "spec": { "security": "Baseline" } })).await;
    running(&ns, 1).await;
}
