//! With rollback enabled, an image that does not get ready is replaced by the one before; a transient error is no failure.

use api::my_app::{MyApp, MyAppPhase, RolledBack};
use e2e::namespace::Namespace;
use e2e::objects::{ManagedKind, image, phase, status};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::Pod;
use kube::api::ListParams;
use serde_json::json;

use crate::manifest::my_app;
use crate::running::{running, serving};

/// Waits until this generation is rolled back, with this many pods of the image before; returns the reported message.
async fn rolled_back(ns: &Namespace, generation: i64, pods: i32) -> String {
    let what = format!("generation {generation} to be rolled back, with {pods} pods");
    ns.until::<MyApp, _>("web", &what, |app| {
        let (status, stalled) = (status(app?)?, app?.condition("Stalled")?);
        let from = status.rolled_back_from.as_ref()?;
        let all = [status.replicas, status.ready_replicas, status.updated_replicas] == [pods; 3];
        let this =
            from.generation == generation && from.image == "nginx:nope" && stalled.reason.as_str() == "RolledBack";
        (all && this).then(|| stalled.message.clone())
    })
    .await
}

#[tokio::test]
async fn a_bad_image_is_left_for_the_one_before_until_the_spec_changes() {
    let ns = Namespace::new("rollback").await;
    ns.apply(&my_app("web", "{replicas: 3, image: nginx:1.25, rollback: Automatic}")).await;
    running(&ns, 3).await;
    let first = serving(&ns).await;
    let (apps, deployments) = (ns.record::<MyApp>("web").await, ns.record::<Deployment>("web").await);
    ns.patch("myapp/web", &json!({ "spec": { "image": "nginx:nope", "progressDeadlineSeconds": 10 } })).await;
    let message = rolled_back(&ns, 2, 3).await;
    println!("a rollback reads: {message}");
    assert!(
        message.starts_with("3 of 3 pods are ready; rolled back to nginx:1.25: nginx:nope made no progress"),
        "{message}"
    );
    assert!(message.contains("cannot be pulled") && message.contains("change the spec to try again"), "{message}");
    let app = ns.get::<MyApp>("web").await;
    assert_eq!(phase(&app), Some(MyAppPhase::Degraded));
    assert_eq!(status(&app).and_then(|status| status.image.as_deref()), Some("nginx:1.25"));
    assert_eq!(image(&ns.get("web").await), "nginx:1.25");
    assert_eq!(serving(&ns).await, first, "the pods that served serve, and none was started again");
    let fewest = deployments.objects().iter().filter_map(|d| d.status.as_ref()?.ready_replicas).min();
    assert_eq!(fewest, Some(3), "the old pods served all the time");
    let untrue = |app: &&MyApp| app.metadata.generation == Some(2) && app.is_ready();
    assert!(!apps.objects().iter().any(|app| untrue(&app)), "it was never Ready with what it asks for");
    let events = ns.kubectl(&["events", "--for=myapp/web"]).await.ok();
    assert_eq!(events.matches("RolledBack").count(), 1, "one Event:\n{events}");

    // An autoscaler's change is no new try.
    let since = ns.record::<Deployment>("web").await;
    drop(ns.kubectl(&["scale", "myapp/web", "--replicas=4"]).await.ok());
    rolled_back(&ns, 3, 4).await;
    assert!(since.objects().iter().all(|deployment| image(deployment) == "nginx:1.25"), "it was not tried again");
    // Anything else is.
    ns.patch("myapp/web", &json!({ "spec": { "image": "nginx:1.26", "progressDeadlineSeconds": null } })).await;
    running(&ns, 4).await;
    assert_eq!(image(&ns.get("web").await), "nginx:1.26");
    let left: Option<RolledBack> = ns.get::<MyApp>("web").await.status.and_then(|status| status.rolled_back_from);
    assert_eq!(left, None);
}

#[tokio::test]
async fn without_a_version_that_was_ready_there_is_no_way_back_and_no_loop() {
    let ns = Namespace::new("no-way-back").await;
    let spec = "{replicas: 1, image: 'nginx:nope', rollback: Automatic, progressDeadlineSeconds: 5}";
    ns.apply(&my_app("web", spec)).await;
    ns.until::<MyApp, ()>("web", "to report that there is no rollback", |app| {
        let stalled = app?.condition("Stalled")?;
        let reported = stalled.message.contains("no image of this MyApp has been Ready yet");
        (reported && stalled.reason.as_str() == "ImagePullBackOff").then_some(())
    })
    .await;
    ns.until::<Deployment, ()>("web", "the deadline to pass", |deployment| {
        let conditions = deployment?.status.as_ref()?.conditions.as_ref()?;
        conditions.iter().any(|c| c.reason.as_deref() == Some("ProgressDeadlineExceeded")).then_some(())
    })
    .await;
    let history = ns.record::<MyApp>("web").await;
    tokio::time::sleep(std::time::Duration::from_secs(3)).await;
    assert_eq!(ns.get::<Deployment>("web").await.metadata.generation, Some(1), "nothing is tried");
    assert!(history.objects().len() <= 2, "and nothing reported again: {:#?}", history.objects());
}

#[tokio::test]
async fn a_container_that_ends_once_and_comes_back_stalls_nothing() {
    let ns = Namespace::new("one-crash").await;
    let script = "if [ -e /s/been ]; then exec nginx -g 'daemon off;'; fi; touch /s/been; sleep 2; exit 1";
    let spec = json!({
        "image": "nginx:1.25", "replicas": 1, "command": ["sh", "-c", script],
        "scratch": [{ "mountPath": "/s", "sizeLimit": "1Mi" }],
        "probes": { "readiness": { "exec": { "command": ["true"] }, "initialDelaySeconds": 4, "periodSeconds": 1 } },
    });
    ns.apply(&my_app("web", "{image: nginx:1.25, replicas: 0}")).await;
    ns.until::<MyApp, ()>("web", "it to ask for nothing", |app| app?.is_ready().then_some(())).await;
    let history = ns.record::<MyApp>("web").await;
    ns.patch("myapp/web", &json!({ "spec": spec })).await;
    running(&ns, 1).await;
    let pods = ns.api::<Pod>().list(&ListParams::default()).await.expect("pods can be listed");
    let ended = |pod: &Pod| pod.status.as_ref()?.container_statuses.as_ref()?.first().map(|c| c.restart_count);
    assert_eq!(pods.items.iter().find_map(ended), Some(1), "it has ended once");
    let objects = history.objects();
    let stalled = objects.iter().find(|app| app.condition("Stalled").is_some());
    assert!(stalled.is_none(), "{stalled:#?}");
    let reported = objects
        .iter()
        .filter_map(|app| app.not_ready())
        .any(|(_, message)| message.contains("has ended, and is started again"));
    assert!(reported, "the delay is reported");
}

#[tokio::test]
async fn scaled_to_zero_amid_a_rollout_it_gets_there_whatever_the_strategy_has_become() {
    let ns = Namespace::new("standstill").await;
    ns.apply(&my_app("web", "{image: nginx:1.25, resources: {requests: {memory: 900Gi}}}")).await;
    let counts = |deployment: &Deployment| {
        let status = deployment.status.as_ref()?;
        (status.observed_generation == deployment.metadata.generation)
            .then_some((status.replicas.unwrap_or(0), status.updated_replicas.unwrap_or(0)))
    };
    ns.until::<Deployment, ()>("web", "a pod", |it| (counts(it?)? == (1, 1)).then_some(())).await;
    ns.patch("myapp/web", &json!({ "spec": { "image": "nginx:1.26" } })).await;
    ns.until::<Deployment, ()>("web", "a pod of each template", |it| (counts(it?)? == (2, 1)).then_some(())).await;
    // Neither is the MyApp's, which sets neither. Kubernetes' own controller does nothing more from here on.
    ns.patch(
        "deployment/web",
        &json!({ "spec": { "replicas": 0, "strategy": { "type": "Recreate", "rollingUpdate": null } } }),
    )
    .await;
    ns.until::<MyApp, ()>("web", "no pods", |app| (phase(app?) == Some(MyAppPhase::ScaledToZero)).then_some(())).await;
}
