//! Overrides of pods are merged and kept, within the default limit of managers; impossible ones are reported while the existing
//! pods serve.

use api::my_app::MyApp;
use e2e::namespace::Namespace;
use e2e::objects::{ManagedKind, serves};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{Pod, PodTemplateSpec};
use kube::api::ListParams;
use serde_json::{Value, json};

use crate::manifest::my_app;
use crate::running::{running, running_as, serving};

fn template(deployment: &Deployment) -> Option<&PodTemplateSpec> {
    Some(&deployment.spec.as_ref()?.template)
}

#[tokio::test]
async fn placement_labels_and_annotations_are_merged_and_put_back() {
    let ns = Namespace::new("overrides").await;
    let spec = "
  replicas: 1
  image: nginx:1.25
  podOverrides:
    metadata:
      labels: {team: shop}
      annotations: {prometheus.io/scrape: 'true'}
    spec:
      nodeSelector: {kubernetes.io/os: linux}
      tolerations: [{key: dedicated, operator: Exists}]
      topologySpreadConstraints:
      - {maxSkew: 2, topologyKey: kubernetes.io/hostname, whenUnsatisfiable: ScheduleAnyway, labelSelector: {matchLabels: {team: shop}}}
";
    ns.apply(&my_app("web", spec)).await;
    running_as(&ns, 1, 1).await;
    let pods = ns.api::<Pod>().list(&ListParams::default().labels("team=shop")).await.expect("pods can be listed");
    assert_eq!(pods.items.iter().filter(|pod| serves(pod)).count(), 1);
    let judge = |foreign: bool| {
        move |deployment: Option<&Deployment>| {
            let template = template(deployment?)?;
            let (metadata, pod) = (template.metadata.as_ref()?, template.spec.as_ref()?);
            let annotations = metadata.annotations.as_ref()?;
            let merged = metadata.labels.as_ref()?.get("team").is_some_and(|team| team == "shop")
                && annotations.get("prometheus.io/scrape").is_some_and(|scrape| scrape == "true")
                && annotations.get("kubectl.kubernetes.io/default-container").is_some_and(|name| name == "app")
                && pod.node_selector.as_ref().is_some_and(|nodes| nodes.len() == 1)
                && pod.tolerations.as_ref().is_some_and(|tolerations| tolerations.len() == 1)
                && pod
                    .topology_spread_constraints
                    .as_ref()
                    .is_some_and(|list| list.len() == 1 && list[0].max_skew == 2);
            (merged && annotations.contains_key("theirs") == foreign).then_some(())
        }
    };
    ns.until::<Deployment, ()>("web", "what was given", judge(false)).await;
    let edit = json!({ "spec": { "template": {
        "metadata": { "labels": { "team": "other" }, "annotations": { "theirs": "x" } },
        "spec": { "nodeSelector": { "kubernetes.io/os": "windows" }, "tolerations": [] },
    } } });
    ns.patch("deployment/web", &edit).await;
    ns.until::<Deployment, ()>("web", "what was given, and what is others'", judge(true)).await;

    ns.patch("myapp/web", &json!({ "spec": { "podOverrides": null } })).await;
    running_as(&ns, 2, 1).await;
    let deployment = ns.get::<Deployment>("web").await;
    let pod = template(&deployment).and_then(|template| template.spec.as_ref()).expect("a template");
    assert!(pod.node_selector.is_none() && pod.tolerations.is_none(), "{pod:?}");
    assert_eq!(pod.topology_spread_constraints.as_ref().map(Vec::len), Some(2), "over zones and nodes again");
}

#[tokio::test]
async fn impossible_overrides_are_reported_while_the_pods_serve() {
    let ns = Namespace::new("no-overrides").await;
    ns.apply(&my_app("web", "{replicas: 2, image: nginx:1.25, strategy: {type: Recreate}}")).await;
    running_as(&ns, 1, 2).await;
    let first = serving(&ns).await;
    let cases: [(Value, &str, &str); 4] = [
        (json!({ "priorityClassName": "nope" }), "Rejected", "no PriorityClass with name nope was found"),
        (json!({ "tolerations": [{ "operator": "Sometimes" }] }), "Rejected", "spec.tolerations[0].operator"),
        (
            json!({ "tolerations": [{ "operators": "Exists" }] }),
            "PodOverridesInvalid",
            "spec.podOverrides.spec.tolerations[0].operators: unknown field",
        ),
        (
            json!({ "containers": [{ "name": "side", "image": "nginx:1.25" }] }),
            "PodOverridesNotAllowed",
            "spec.podOverrides.spec.containers is not allowed",
        ),
    ];
    for (spec, reason, expected) in cases {
        ns.patch("myapp/web", &json!({ "spec": { "podOverrides": null } })).await;
        ns.patch("myapp/web", &json!({ "spec": { "podOverrides": { "spec": spec } } })).await;
        let message = ns
            .until::<MyApp, _>("web", &format!("{reason} for {spec}"), |app| {
                let stalled = app?.condition("Stalled")?;
                (stalled.reason.as_str() == reason && stalled.message.contains(expected))
                    .then(|| stalled.message.clone())
            })
            .await;
        println!("overrides: {reason}: {message}");
        assert!(message.starts_with("2 of 2 pods are ready"), "{message}");
    }
    assert_eq!(serving(&ns).await, first, "no pod was touched");
    ns.patch("myapp/web", &json!({ "spec": { "podOverrides": { "spec": null } } })).await;
    running(&ns, 2).await;
    assert_eq!(serving(&ns).await, first);
}
