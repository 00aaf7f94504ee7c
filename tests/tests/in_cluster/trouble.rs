//! What keeps pods from running is told on the MyApp, and what ran goes on running.

use std::time::{Duration, Instant};

use api::my_app::{MyApp, Phase};
use e2e::namespace::Namespace;
use e2e::objects::{Ours, phase, runs, status};
use e2e::patience::{Bar, Moment};
use e2e::timing::Timing;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::Pod;
use kube::api::ListParams;
use serde_json::json;

use crate::manifest::my_app;

/// Waits for trouble of that reason; returns its message. Stalled says the same as Ready.
async fn stalled(ns: &Namespace, reason: &str) -> String {
    let what = format!("the reason {reason} in the conditions");
    ns.until::<MyApp, _>("web", &what, |app| {
        let (seen, message) = app?.trouble()?;
        let stalled = app?.condition("Stalled")?;
        (seen == reason && stalled.reason == reason).then(|| message.to_owned())
    })
    .await
}

async fn running(ns: &Namespace, pods: i32) {
    ns.until::<MyApp, ()>("web", "it to run", |app| runs(app?, pods).then_some(())).await;
}

/// From a pod's failure to the condition. The promise is 5 s; a failure is what is far from it.
const TOLD: Bar = Bar::work(Duration::from_secs(10));

#[tokio::test]
async fn a_bad_image_is_told_and_the_old_pods_serve() {
    let ns = Namespace::alone("image").await;
    ns.apply(&my_app("web", "{replicas: 3, image: nginx:1.25}")).await;
    running(&ns, 3).await;
    let (history, deployments) = (ns.record::<MyApp>("web").await, ns.record::<Deployment>("web").await);
    let (timing, begun) = (Timing::exclusive().await, Moment::now());
    ns.patch("myapp/web", &json!({ "spec": { "image": "nginx:does-not-exist" } })).await;
    let failed = ns.eventually("a pod whose image cannot be pulled", || async {
        let pods = ns.api::<Pod>().list(&ListParams::default()).await.map_err(|error| error.to_string())?;
        let waits = pods.items.iter().filter_map(waiting).find(|reason| reason.contains("Image"));
        waits.map(|_| Instant::now()).ok_or_else(|| "no pod waits for an image".to_owned())
    });
    let told = async { (stalled(&ns, "ImagePullBackOff").await, Instant::now()) };
    let (failed, (message, told)) = tokio::join!(failed, told);
    let delay = told.saturating_duration_since(failed);
    drop(timing);
    println!("the pod's failure to the condition: {delay:.1?} (bar: 5 s): {message}");
    TOLD.holds("the condition", delay, begun.passed().slowness()).unwrap_or_else(|missed| panic!("{missed}"));
    assert!(message.contains("nginx:does-not-exist") && message.contains("3 of 3 pods are ready"), "{message}");
    let app = ns.get::<MyApp>("web").await;
    assert_eq!(phase(&app), Some(Phase::Degraded));
    assert_eq!(
        status(&app).and_then(|status| status.image.as_deref()),
        Some("nginx:1.25"),
        "what runs is the old image"
    );

    ns.patch("myapp/web", &json!({ "spec": { "image": "nginx:1.26" } })).await;
    running(&ns, 3).await;
    let fewest = history.objects().iter().filter_map(|app| app.status.as_ref()).map(|s| s.ready_replicas).min();
    assert_eq!(fewest, Some(3), "the old pods served all the time");
    let unavailable = |d: &Deployment| d.status.as_ref().and_then(|s| s.ready_replicas).unwrap_or(0) < 3;
    assert!(!deployments.objects().iter().any(unavailable), "the old pods served all the time");
    let events = ns.kubectl(&["events", "--for=myapp/web"]).await.ok();
    assert_eq!(events.matches("ImagePullBackOff").count(), 1, "one Event for one transition:\n{events}");
}

fn waiting(pod: &Pod) -> Option<String> {
    let container = pod.status.as_ref()?.container_statuses.as_ref()?.first()?;
    container.state.as_ref()?.waiting.as_ref()?.reason.clone()
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
