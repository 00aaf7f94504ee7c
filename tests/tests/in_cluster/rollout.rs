//! Changes of what runs replace the pods, step by step.

use api::my_app::MyApp;
use e2e::namespace::Namespace;
use e2e::objects::{image, status};
use k8s_openapi::api::apps::v1::{Deployment, ReplicaSet};
use kube::api::ListParams;
use serde_json::json;

use crate::manifest::my_app;
use crate::running::{running_as, serving};

#[tokio::test]
async fn a_new_image_replaces_pods_within_the_strategys_bounds() {
    let ns = Namespace::new("rollout").await;
    ns.apply(&my_app("web", "{replicas: 4, image: nginx:1.25, port: 80}")).await;
    running_as(&ns, 1, 4).await;
    let (deployments, apps) = (ns.record::<Deployment>("web").await, ns.record::<MyApp>("web").await);
    ns.patch("myapp/web", &json!({ "spec": { "image": "nginx:1.26" } })).await;
    running_as(&ns, 2, 4).await;

    // By default a quarter of the pods may be missing.
    let available = |d: &Deployment| d.status.as_ref().and_then(|status| status.available_replicas).unwrap_or(0);
    let fewest = deployments.objects().iter().map(available).min().unwrap_or(0);
    assert!(fewest >= 3, "at some time only {fewest} of 4 pods were there");
    let apps = apps.objects();
    let early = apps.iter().filter_map(|app| app.status.as_ref()).find(|status| {
        status.image.as_deref() == Some("nginx:1.26") && (status.updated_replicas, status.replicas) != (4, 4)
    });
    assert!(early.is_none(), "status named the new image before all pods ran it: {early:?}");
    assert!(
        apps.iter().filter_map(status).any(|status| status.contract.is_true("Reconciling")),
        "a rollout shows as Reconciling"
    );
    assert_eq!(image(&ns.get("web").await), "nginx:1.26");
    let images = ns.kubectl(&["get", "pods", "--output=jsonpath={.items[*].spec.containers[*].image}"]).await.ok();
    let serving = serving(&ns).await.len();
    assert_eq!(serving, 4);
    println!("images of pods after the rollout: {images}; fewest available on the way: {fewest} of 4");
}

#[tokio::test]
async fn a_rollout_keeps_to_its_own_surge_and_to_its_history() {
    let ns = Namespace::new("pace").await;
    let pace = |surge: i32, missing: i32| json!({ "rollingUpdate": { "maxSurge": surge, "maxUnavailable": missing } });
    let strategy = "strategy: {rollingUpdate: {maxSurge: 0, maxUnavailable: 1}}";
    ns.apply(&my_app("web", &format!("{{replicas: 3, image: nginx:1.25, revisionHistoryLimit: 0, {strategy}}}"))).await;
    running_as(&ns, 1, 3).await;
    let numbers = |d: &Deployment| {
        let status = d.status.clone().unwrap_or_default();
        (status.replicas.unwrap_or(0), status.available_replicas.unwrap_or(0))
    };
    for (generation, image, (surge, missing)) in [(2, "nginx:1.26", (0, 1)), (3, "nginx:1.25", (2, 0))] {
        let history = ns.record::<Deployment>("web").await;
        let strategy = pace(surge, missing);
        ns.patch("myapp/web", &json!({ "spec": { "image": image, "strategy": strategy } })).await;
        running_as(&ns, generation, 3).await;
        let seen: Vec<_> = history.objects().iter().map(numbers).collect();
        let (most, fewest) = (seen.iter().map(|(all, _)| *all).max(), seen.iter().map(|(_, there)| *there).min());
        println!("{strategy}: at most {most:?} pods, and at least {fewest:?} available, of 3");
        // Pods that are on their way out may be counted still.
        assert!(most >= Some(3 + surge), "{seen:?}");
        assert_eq!(fewest, Some(3 - missing), "{seen:?}");
    }
    ns.eventually("earlier ReplicaSets to go", || async {
        let left = ns.api::<ReplicaSet>().list(&ListParams::default()).await.map_err(|error| error.to_string())?;
        if left.items.len() == 1 { Ok(()) } else { Err(format!("{} are there", left.items.len())) }
    })
    .await;
}

#[tokio::test]
async fn a_changed_variable_and_a_restart_roll_the_pods() {
    let ns = Namespace::new("restart").await;
    ns.apply(&my_app("web", "{replicas: 2, image: nginx:1.25, env: [{name: A, value: one}]}")).await;
    running_as(&ns, 1, 2).await;
    let first = serving(&ns).await;
    ns.patch("myapp/web", &json!({ "spec": { "env": [{ "name": "A", "value": "two" }] } })).await;
    running_as(&ns, 2, 2).await;
    let second = serving(&ns).await;
    assert!(first.is_disjoint(&second), "new variables need new pods");

    let at = "kubectl.kubernetes.io/restartedAt=2026-01-02T03:04:05Z";
    drop(ns.kubectl(&["annotate", "myapp/web", at]).await.ok());
    ns.eventually("other pods after the restart", || async {
        let third = serving(&ns).await;
        let replaced = third.is_disjoint(&second) && third.len() == 2;
        if replaced { Ok(()) } else { Err(format!("{third:?} instead of {second:?}")) }
    })
    .await;
    running_as(&ns, 2, 2).await;
    let third = serving(&ns).await;
    // The same value again changes nothing. Removing it does, which is a change of the template, but a desired one.
    drop(ns.kubectl(&["annotate", "--overwrite", "myapp/web", at, "unrelated=yes"]).await.ok());
    running_as(&ns, 2, 2).await;
    assert_eq!(serving(&ns).await, third, "an annotation of another name restarts nothing");
}
