//! The MyApp reports what keeps its pods from running, and pods that ran keep running.

use api::my_app::{MyApp, MyAppPhase};
use e2e::namespace::{Namespace, RESTRICTED};
use e2e::objects::{ManagedKind, phase, status};
use k8s_openapi::api::core::v1::Pod;
use kube::api::ListParams;
use serde_json::json;

use crate::manifest::my_app;
use crate::running::{running, serving};

/// Waits until Ready is False for this reason; returns the message. Stalled says the same as Ready.
pub async fn stalled(ns: &Namespace, reason: &str) -> String {
    let what = format!("the reason {reason} in the conditions");
    ns.until::<MyApp, _>("web", &what, |app| {
        let (seen, message) = app?.not_ready()?;
        let stalled = app?.condition("Stalled")?;
        (seen == reason && stalled.reason.as_str() == reason).then(|| message.to_owned())
    })
    .await
}

#[tokio::test]
async fn a_crash_loop_is_reported() {
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
async fn a_program_that_cannot_be_started_is_reported() {
    let ns = Namespace::new("no-start").await;
    ns.apply(&my_app("web", "{replicas: 1, image: nginx:1.25, env: [{name: PATH, value: /nowhere}]}")).await;
    let (reason, message) = ns
        .until::<MyApp, _>("web", "the failed start in the conditions", |app| {
            app?.condition("Stalled")?;
            app?.not_ready().map(|(reason, message)| (reason.to_owned(), message.to_owned()))
        })
        .await;
    println!("a program that is not there reads: {reason}: {message}");
    assert_eq!(reason, "RunContainerError");
    assert!(message.contains("executable file not found"), "{message}");
    // The kubelet alternates between this and CrashLoopBackOff; the message here does not change.
    let history = ns.record::<MyApp>("web").await;
    let restarted = |pod: &Pod| pod.status.as_ref()?.container_statuses.as_ref()?.first().map(|c| c.restart_count);
    ns.eventually("two more tries", || async {
        let pods = ns.api::<Pod>().list(&ListParams::default()).await.map_err(|error| error.to_string())?;
        let most = pods.items.iter().filter_map(restarted).max();
        if most >= Some(2) { Ok(()) } else { Err(format!("{most:?} restarts")) }
    })
    .await;
    let objects = history.objects();
    let said: std::collections::BTreeSet<_> = objects.iter().filter_map(|app| app.not_ready()).collect();
    assert_eq!(said.len(), 1, "{said:?}");
}

#[tokio::test]
async fn a_rejection_by_quota_is_reported() {
    let ns = Namespace::new("quota").await;
    let quota = "apiVersion: v1\nkind: ResourceQuota\nmetadata: {name: few}\nspec: {hard: {pods: 2}}\n";
    ns.apply(quota).await;
    ns.apply(&my_app("web", "{replicas: 3, image: nginx:1.25}")).await;
    ns.until::<MyApp, ()>("web", "the quota in the conditions, with 2 pods", |app| {
        let (reason, message) = app?.not_ready()?;
        let two = status(app?)?.ready_replicas == 2 && phase(app?) == Some(MyAppPhase::Degraded);
        (two && reason == "FailedCreate" && message.contains("exceeded quota: few")).then_some(())
    })
    .await;
    drop(ns.kubectl(&["delete", "resourcequota/few"]).await.ok());
    running(&ns, 3).await;
}

#[tokio::test]
async fn a_quota_that_an_edit_exceeds_is_reported_and_the_old_pods_serve() {
    let ns = Namespace::new("quota-cpu").await;
    ns.apply("apiVersion: v1\nkind: ResourceQuota\nmetadata: {name: cores}\nspec: {hard: {requests.cpu: 30m}}\n").await;
    ns.apply(&my_app("web", "{replicas: 2, image: nginx:1.25, resources: {requests: {cpu: 10m}}}")).await;
    running(&ns, 2).await;
    let before = serving(&ns).await;
    ns.patch("myapp/web", &json!({ "spec": { "resources": { "requests": { "cpu": "25m" } } } })).await;
    let message = ns
        .until::<MyApp, _>("web", "the quota in the conditions", |app| {
            let stalled = app?.condition("Stalled").filter(|stalled| stalled.reason.as_str() == "FailedCreate")?;
            Some(stalled.message.clone())
        })
        .await;
    println!("a quota that an edit exceeds reads: {message}");
    assert!(message.starts_with("2 of 2 pods are ready") && message.contains("exceeded quota: cores"), "{message}");
    assert_eq!(serving(&ns).await, before, "the earlier pods serve");
    ns.patch("myapp/web", &json!({ "spec": { "resources": { "requests": { "cpu": "10m" } } } })).await;
    running(&ns, 2).await;
    assert_eq!(serving(&ns).await, before, "nothing was replaced");
}

#[tokio::test]
async fn a_missing_service_account_is_reported_and_the_old_pods_serve() {
    let ns = Namespace::new("no-account").await;
    ns.apply(&my_app("web", "{replicas: 2, image: nginx:1.25}")).await;
    running(&ns, 2).await;
    ns.patch("myapp/web", &json!({ "spec": { "serviceAccountName": "till" } })).await;
    let message = stalled(&ns, "FailedCreate").await;
    println!("a missing service account reads: {message}");
    assert!(message.starts_with("2 of 2 pods are ready"), "{message}");
    assert!(message.contains("serviceaccount \"till\" not found"), "{message}");
    drop(ns.kubectl(&["create", "serviceaccount", "till"]).await.ok());
    running(&ns, 2).await;
}

/// A webhook for pods of these namespaces whose server does not exist.
fn unanswered(name: &str, label: &str) -> String {
    json!({
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingWebhookConfiguration",
        "metadata": { "name": name },
        "webhooks": [{
            "name": "pods.away.example.com",
            "admissionReviewVersions": ["v1"],
            "sideEffects": "None",
            "failurePolicy": "Fail",
            "timeoutSeconds": 1,
            "namespaceSelector": { "matchLabels": { label: "yes" } },
            "rules": [{ "apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"] }],
            "clientConfig": { "url": "https://127.0.0.1:1/away" },
        }],
    })
    .to_string()
}

#[tokio::test]
async fn a_webhook_that_rejects_all_pods_is_reported_and_the_old_pods_serve() {
    const LABEL: &str = "hooked";
    let ns = Namespace::labelled("webhook", &[(LABEL, "yes")]).await;
    ns.apply(&my_app("web", "{replicas: 2, image: nginx:1.25}")).await;
    running(&ns, 2).await;
    let hook = format!("away-{}", ns.name);
    ns.apply(&unanswered(&hook, LABEL)).await;
    ns.patch("myapp/web", &json!({ "spec": { "image": "nginx:1.26" } })).await;
    let message = stalled(&ns, "FailedCreate").await;
    println!("a webhook that does not answer reads: {message}");
    assert!(message.starts_with("2 of 2 pods are ready"), "{message}");
    assert!(message.contains("failed calling webhook \"pods.away.example.com\""), "{message}");
    drop(ns.kubectl(&["delete", "validatingwebhookconfiguration", &hook]).await.ok());
    running(&ns, 2).await;
}

#[tokio::test]
async fn a_restricted_namespace_needs_restricted_security() {
    let ns = Namespace::labelled("restricted", &[RESTRICTED]).await;
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
async fn restricted_security_with_an_image_of_root_is_reported() {
    let ns = Namespace::new("root").await;
    ns.apply(&my_app("web", "{replicas: 1, image: nginx:1.25, security: Restricted}")).await;
    let message = stalled(&ns, "CreateContainerConfigError").await;
    assert!(message.contains("run as root"), "{message}");
    ns.patch("myapp/web", &json!({ "spec": { "security": "Baseline" } })).await;
    running(&ns, 1).await;
}
