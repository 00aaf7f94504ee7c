//! `spec.autoscaling`: who decides on the number of pods, and what is reported while there are no metrics (these clusters have no
//! metrics server, and an autoscaler acts without metrics if the number is out of its bounds).

use std::time::Duration;

use api::my_app::{MyApp, SCALING_ACTIVE};
use api::{Condition, ConditionStatus};
use e2e::cluster;
use e2e::namespace::Namespace;
use e2e::objects::{ManagedKind, replicas, runs};
use e2e::patience::{Bar, Moment};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::autoscaling::v2::HorizontalPodAutoscaler;
use serde_json::json;

use crate::manifest::my_app;
use crate::writes::{lines, settled, to, writes};

/// The controller of autoscalers reads metrics every 15 s, and begins with a new autoscaler after that time.
const AUTOSCALER_TIMEOUT: Duration = Duration::from_secs(90);
/// The promise is 5 s from the autoscaler's decision; a failure is what is far from it.
const TOLD: Bar = Bar::work(Duration::from_secs(15));

async fn runs_with(ns: &Namespace, pods: i32) {
    let what = format!("{pods} pods to run");
    ns.until::<MyApp, ()>("web", &what, |app| runs(app?, pods).then_some(())).await;
    assert_eq!(replicas(&ns.get::<Deployment>("web").await), Some(pods));
}

fn inactive(app: &MyApp) -> Option<&Condition> {
    app.condition(SCALING_ACTIVE).filter(|condition| condition.status == ConditionStatus::False)
}

#[tokio::test]
async fn an_autoscaler_keeps_its_bounds_and_reports_what_it_lacks() {
    let ns = Namespace::new("scaling").await;
    ns.apply(&my_app("web", "{image: nginx:1.25, autoscaling: {min: 2, max: 4, cpu: 80%}}")).await;
    // Without waiting for the autoscaler.
    runs_with(&ns, 2).await;
    let scaler = ns.get::<HorizontalPodAutoscaler>("web").await.spec.expect("a spec");
    assert_eq!((scaler.min_replicas, scaler.max_replicas), (Some(2), 4));

    let says = |scaler: Option<&HorizontalPodAutoscaler>| {
        let conditions = scaler?.status.as_ref()?.conditions.clone()?;
        conditions.into_iter().find(|c| c.type_ == SCALING_ACTIVE && c.status == "False").map(|_| ())
    };
    ns.until_within::<HorizontalPodAutoscaler, _>(AUTOSCALER_TIMEOUT, "web", "the autoscaler to miss metrics", says)
        .await;
    let begun = Moment::now();
    let (reason, message) = ns
        .until::<MyApp, _>("web", "the missing metrics in a condition", |app| {
            inactive(app?).map(|condition| (condition.reason.to_string(), condition.message.clone()))
        })
        .await;
    let passed = begun.passed();
    TOLD.holds("what an autoscaler lacks", passed.real, passed.slowness()).unwrap_or_else(|missed| panic!("{missed}"));
    assert!(reason == "FailedGetResourceMetric" && message.contains("cpu"), "{reason}: {message}");
    let app = ns.get::<MyApp>("web").await;
    assert!(runs(&app, 2) && app.condition("Stalled").is_none(), "the pods serve: {:?}", app.status);
    ns.eventually("an Event of it", || async {
        let events = ns.kubectl(&["get", "events", "--output=jsonpath={.items[*].reason}"]).await.ok();
        if events.contains("FailedGetResourceMetric") { Ok(()) } else { Err(events) }
    })
    .await;

    ns.patch("myapp/web", &json!({ "spec": { "autoscaling": { "min": 3 } } })).await;
    runs_with(&ns, 3).await;
    ns.patch("myapp/web", &json!({ "spec": { "autoscaling": { "min": 1, "max": 1 } } })).await;
    runs_with(&ns, 1).await;
    // Zero would disable an autoscaler.
    drop(ns.kubectl(&["scale", "deployment", "web", "--replicas=0"]).await.ok());
    // Until the manager has seen it, the MyApp says that one runs.
    ns.until::<Deployment, ()>("web", "one pod to be asked for", |live| (replicas(live?) == Some(1)).then_some(()))
        .await;
    runs_with(&ns, 1).await;
}

#[tokio::test]
async fn the_number_stays_when_an_autoscaler_comes_and_when_it_goes() {
    let ns = Namespace::new("scaling-switch").await;
    let audit = cluster::audit();
    ns.apply(&my_app("web", "{image: nginx:1.25, replicas: 3}")).await;
    runs_with(&ns, 3).await;
    let history = ns.record::<Deployment>("web").await;
    ns.apply(&my_app("web", "{image: nginx:1.25, autoscaling: {max: 5}}")).await;
    let reported = |app: Option<&MyApp>| inactive(app?).map(|_| ());
    ns.until_within::<MyApp, _>(AUTOSCALER_TIMEOUT, "web", "the autoscaler to have read its metrics", reported).await;
    runs_with(&ns, 3).await;
    // The number is not owned by the operator: another client's number within the bounds stays, as an autoscaler's does.
    drop(ns.kubectl(&["scale", "deployment", "web", "--replicas=4"]).await.ok());
    runs_with(&ns, 4).await;
    ns.apply(&my_app("web", "{image: nginx:1.25, replicas: 4}")).await;
    ns.until_deleted::<HorizontalPodAutoscaler>("web").await;
    ns.until::<MyApp, ()>("web", "4 pods, and no word of an autoscaler", |app| {
        (runs(app?, 4) && app?.condition(SCALING_ACTIVE).is_none()).then_some(())
    })
    .await;
    let mut numbers: Vec<_> = history.objects().iter().filter_map(replicas).collect();
    numbers.dedup();
    assert_eq!(numbers, [3, 4], "the Deployment never asked for another number");
    let generations = history.objects().iter().filter_map(|deployment| deployment.metadata.generation).max();
    assert_eq!(generations, Some(2), "and its template never changed");
    settled(&audit, &ns).await;
    println!("{}", lines(&writes(&audit, &ns)));
}

#[tokio::test]
async fn what_others_do_to_an_autoscaler_is_undone_and_what_is_theirs_stays() {
    let ns = Namespace::new("scaling-drift").await;
    ns.apply(&my_app("web", "{image: nginx:1.25, autoscaling: {min: 1, max: 4}}")).await;
    runs_with(&ns, 1).await;
    let audit = cluster::audit();
    settled(&audit, &ns).await;
    for edit in [
        json!({ "spec": { "maxReplicas": 9 } }),
        json!({ "spec": { "metrics": [{ "type": "Resource", "resource": { "name": "memory", "target": { "type": "AverageValue", "averageValue": "1Gi" } } }] } }),
        json!({ "spec": { "scaleTargetRef": { "name": "other" } } }),
        json!({ "metadata": { "labels": { "app.kubernetes.io/instance": "other" } } }),
    ] {
        let mark = cluster::audit();
        ns.patch("hpa/web", &edit).await;
        ns.until::<HorizontalPodAutoscaler, ()>("web", &format!("{edit} to be undone"), |scaler| {
            let (scaler, spec) = (scaler?, scaler?.spec.as_ref()?);
            let labels = scaler.metadata.labels.as_ref()?;
            let metrics = serde_json::to_string(&spec.metrics).unwrap_or_default();
            let as_asked = spec.max_replicas == 4 && spec.scale_target_ref.name == "web" && metrics.contains("cpu");
            (as_asked && labels.get("app.kubernetes.io/instance").is_some_and(|name| name == "web")).then_some(())
        })
        .await;
        settled(&mark, &ns).await;
        let written = writes(&mark, &ns);
        assert_eq!(to(&written, "horizontalpodautoscalers").len(), 1, "{edit} by one write:\n{}", lines(&written));
    }
    // A MyApp has no field for the speed of scaling. (The condition reports what its controller says of the metrics meanwhile.)
    let mark = cluster::audit();
    ns.patch("hpa/web", &json!({ "spec": { "behavior": { "scaleDown": { "stabilizationWindowSeconds": 7 } } } })).await;
    settled(&mark, &ns).await;
    let behavior = ns.get::<HorizontalPodAutoscaler>("web").await.spec.and_then(|spec| spec.behavior);
    let window = behavior.and_then(|behavior| behavior.scale_down?.stabilization_window_seconds);
    assert_eq!((window, to(&writes(&mark, &ns), "horizontalpodautoscalers").len()), (Some(7), 0));

    drop(ns.kubectl(&["delete", "hpa", "web"]).await.ok());
    ns.until::<HorizontalPodAutoscaler, ()>("web", "it to be back", |scaler| scaler.map(|_| ())).await;
    ns.patch("myapp/web", &json!({ "spec": { "autoscaling": null } })).await;
    ns.until_deleted::<HorizontalPodAutoscaler>("web").await;
    runs_with(&ns, 1).await;
}

#[tokio::test]
async fn a_metric_that_is_rejected_is_reported_and_the_pods_serve() {
    let ns = Namespace::new("scaling-refused").await;
    ns.apply(&my_app("web", "{image: nginx:1.25, replicas: 2}")).await;
    runs_with(&ns, 2).await;
    for metric in [
        json!({ "type": "Pods" }),
        json!({ "type": "Pods", "pods": { "metric": { "name": "a" }, "target": { "type": "AverageValue", "averageValue": "1" }, "oops": 1 } }),
    ] {
        let spec = json!({ "replicas": null, "autoscaling": { "max": 5, "metrics": [metric] } });
        ns.patch("myapp/web", &json!({ "spec": spec })).await;
        let message = ns
            .until::<MyApp, _>("web", "the refusal in a condition", |app| {
                let stalled = app?.condition("Stalled").filter(|stalled| stalled.reason.as_str() == "Rejected")?;
                Some(stalled.message.clone())
            })
            .await;
        println!("{message}");
        let app = ns.get::<MyApp>("web").await;
        assert!(message.contains("pods") || message.contains("oops"), "{message}");
        assert_eq!(app.status.as_ref().map(|status| status.ready_replicas), Some(2), "{:?}", app.status);
        ns.patch("myapp/web", &json!({ "spec": { "replicas": 2, "autoscaling": null } })).await;
        runs_with(&ns, 2).await;
    }
}
