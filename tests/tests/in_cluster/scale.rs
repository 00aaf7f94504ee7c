//! Who may decide how many pods there are: a user, kubectl scale, and autoscalers.

use api::my_app::MyApp;
use e2e::cluster;
use e2e::namespace::Namespace;
use e2e::objects::{replicas, runs};
use k8s_openapi::api::apps::v1::Deployment;
use serde_json::json;

use crate::manifest::my_app;
use crate::writes::{lines, to, writes};

/// An autoscaler acts without metrics where the number is out of its bounds.
fn autoscaler(api_version: &str, kind: &str, min: i32, max: i32) -> String {
    format!(
        "apiVersion: autoscaling/v2\nkind: HorizontalPodAutoscaler\nmetadata: {{name: web}}\nspec:\n  minReplicas: {min}\n  \
         maxReplicas: {max}\n  scaleTargetRef: {{apiVersion: {api_version}, kind: {kind}, name: web}}\n"
    )
}

async fn runs_with(ns: &Namespace, pods: i32) {
    let what = format!("{pods} pods to run");
    ns.until::<MyApp, ()>("web", &what, |app| runs(app?, pods).then_some(())).await;
    assert_eq!(replicas(&ns.get::<Deployment>("web").await), Some(pods));
}

#[tokio::test]
async fn an_edit_and_kubectl_scale_change_the_number() {
    let ns = Namespace::new("scale").await;
    ns.apply(&my_app("web", "{replicas: 1, image: nginx:1.25}")).await;
    runs_with(&ns, 1).await;
    ns.patch("myapp/web", &json!({ "spec": { "replicas": 3 } })).await;
    runs_with(&ns, 3).await;
    drop(ns.kubectl(&["scale", "myapp", "web", "--replicas=2"]).await.ok());
    runs_with(&ns, 2).await;
    let audit = cluster::audit();
    ns.patch("myapp/web", &json!({ "spec": { "replicas": 0 } })).await;
    ns.until::<MyApp, ()>("web", "no pods", |app| {
        let status = app?.status.as_ref()?;
        (status.phase == Some(api::my_app::MyAppPhase::ScaledToZero) && status.replicas == 0).then_some(())
    })
    .await;
    assert_eq!(ns.kubectl(&["get", "myapp", "web", "--output=jsonpath={.status.ready}"]).await.ok(), "0/0");
    let written = writes(&audit, &ns);
    assert_eq!(to(&written, "deployments").len(), 1, "one write scales:\n{}", lines(&written));
}

#[tokio::test]
async fn an_autoscaler_may_aim_at_the_my_app() {
    let ns = Namespace::new("hpa-app").await;
    ns.apply(&my_app("web", "{replicas: 1, image: nginx:1.25}")).await;
    runs_with(&ns, 1).await;
    ns.apply(&autoscaler("example.com/v1", "MyApp", 2, 4)).await;
    runs_with(&ns, 2).await;
    assert_eq!(ns.get::<MyApp>("web").await.spec.replicas, Some(2), "the autoscaler writes the MyApp");
    ns.patch("hpa/web", &json!({ "spec": { "minReplicas": 1, "maxReplicas": 1 } })).await;
    runs_with(&ns, 1).await;
}

#[tokio::test]
async fn without_replicas_an_autoscaler_owns_the_deployment() {
    let ns = Namespace::new("hpa-deploy").await;
    let audit = cluster::audit();
    ns.apply(&my_app("web", "{image: nginx:1.25}")).await;
    runs_with(&ns, 1).await;
    let history = ns.record::<Deployment>("web").await;
    ns.apply(&autoscaler("apps/v1", "Deployment", 3, 5)).await;
    runs_with(&ns, 3).await;
    ns.patch("hpa/web", &json!({ "spec": { "minReplicas": 1, "maxReplicas": 2 } })).await;
    runs_with(&ns, 2).await;
    // Another change by the operator leaves the number alone.
    ns.patch("myapp/web", &json!({ "spec": { "env": [{ "name": "A", "value": "b" }] } })).await;
    ns.until::<MyApp, ()>("web", "the new environment on 2 pods", |app| {
        (app?.metadata.generation == Some(2) && runs(app?, 2)).then_some(())
    })
    .await;
    let mut numbers: Vec<_> = history.objects().iter().filter_map(replicas).collect();
    numbers.dedup();
    assert_eq!(numbers, [1, 3, 2], "only the autoscaler changes the number");
    assert_eq!(ns.get::<MyApp>("web").await.spec.replicas, None);
    let written = writes(&audit, &ns);
    assert_eq!(to(&written, "deployments").len(), 2, "created once, changed once:\n{}", lines(&written));
}

#[tokio::test]
async fn taking_the_number_away_keeps_the_pods() {
    let ns = Namespace::new("hand-over").await;
    ns.apply(&my_app("web", "{replicas: 4, image: nginx:1.25}")).await;
    runs_with(&ns, 4).await;
    let history = ns.record::<Deployment>("web").await;
    // kubectl apply takes away what the manifest no longer has.
    ns.apply(&my_app("web", "{image: nginx:1.25}")).await;
    ns.until::<MyApp, ()>("web", "the unset number to be seen", |app| {
        (app?.spec.replicas.is_none() && runs(app?, 4)).then_some(())
    })
    .await;
    // From here on another client owns the number.
    drop(ns.kubectl(&["scale", "deployment", "web", "--replicas=2"]).await.ok());
    runs_with(&ns, 2).await;
    ns.apply(&my_app("web", "{replicas: 3, image: nginx:1.25}")).await;
    runs_with(&ns, 3).await;
    let mut numbers: Vec<_> = history.objects().iter().filter_map(replicas).collect();
    numbers.dedup();
    assert_eq!(numbers, [4, 2, 3], "the Deployment never asked for another number");
    // Once the spec sets it, the operator owns it again: a foreign change is reverted.
    drop(ns.kubectl(&["scale", "deployment", "web", "--replicas=1"]).await.ok());
    ns.until::<Deployment, ()>("web", "3 pods to be asked for again", |seen| {
        (replicas(seen?) == Some(3)).then_some(())
    })
    .await;
}
