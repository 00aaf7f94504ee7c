//! The MyApp reports an image that cannot be pulled in time, and the old pods keep running.

use std::time::{Duration, Instant};

use api::my_app::{MyApp, MyAppPhase};
use e2e::namespace::Namespace;
use e2e::objects::{phase, status};
use e2e::patience::{Bar, Moment};
use e2e::timing::Timing;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::Pod;
use kube::api::ListParams;
use serde_json::json;

use crate::diagnosis::stalled;
use crate::manifest::my_app;
use crate::running::running;

/// From a pod's failure to the condition. The promise is 5 s; a failure is what is far from it.
const TOLD: Bar = Bar::work(Duration::from_secs(10));

#[tokio::test]
async fn a_bad_image_is_reported_and_the_old_pods_serve() {
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
    let reported = async { (stalled(&ns, "ImagePullBackOff").await, Instant::now()) };
    let (failed, (message, reported)) = tokio::join!(failed, reported);
    let delay = reported.saturating_duration_since(failed);
    drop(timing);
    println!("the pod's failure to the condition: {delay:.1?} (bar: 5 s): {message}");
    TOLD.holds("the condition", delay, begun.passed().slowness()).unwrap_or_else(|missed| panic!("{missed}"));
    assert!(message.contains("nginx:does-not-exist") && message.contains("3 of 3 pods are ready"), "{message}");
    let app = ns.get::<MyApp>("web").await;
    assert_eq!(phase(&app), Some(MyAppPhase::Degraded));
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
