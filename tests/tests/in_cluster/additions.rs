//! Additions of others to fully owned parts of children, by update, patch and forced apply: the operator removes them at once, by
//! one write, and reports no failure meanwhile, although an apply would keep them or be rejected because of them.

use api::my_app::{MyApp, MyAppPhase};
use api::sample::Sample;
use e2e::cluster;
use e2e::namespace::Namespace;
use e2e::objects::{ManagedKind, phase, runs};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{ConfigMap, Service};
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use kube::ResourceExt;
use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};

use crate::edits::{By, content, edit, is_back, spec, with_container};
use crate::manifest::{my_app, sample};
use crate::running::running;
use crate::writes::{lines, settled, to, writes};

fn port(name: &str, port: u16) -> Value {
    json!({ "name": name, "port": port, "protocol": "TCP", "targetPort": 80 })
}

#[tokio::test]
async fn what_others_add_to_a_service_or_a_budget_goes_at_once_by_one_write() {
    let ns = Namespace::new("added").await;
    let audit = cluster::audit();
    ns.apply(&my_app("web", "{replicas: 1, image: nginx:1.25, port: 80, disruptionBudget: {minAvailable: 1}}")).await;
    running(&ns, 1).await;
    let history = ns.record::<MyApp>("web").await;

    let more = |by| match by {
        By::ForcedApply => spec(json!({ "ports": [port("more", 81)] })),
        _ => spec(json!({ "ports": [port("app", 80), port("more", 81)] })),
    };
    for by in By::ALL {
        let change = spec(json!({ "selector": { "x": "y" } }));
        is_back::<Service>(&ns, &audit, "web", by, "a key of the selector", change).await;
        let change = spec(json!({ "type": "NodePort" }));
        is_back::<Service>(&ns, &audit, "web", by, "the type", change).await;
        is_back::<Service>(&ns, &audit, "web", by, "another port", more(by)).await;
    }
    for by in [By::Update, By::Patch] {
        let change = spec(json!({ "ports": [port("app", 8080)] }));
        is_back::<Service>(&ns, &audit, "web", by, "the number of a port", change).await;
        let change = spec(json!({ "minAvailable": null, "maxUnavailable": 0 }));
        is_back::<PodDisruptionBudget>(&ns, &audit, "web", by, "the other number of a budget", change).await;
    }
    let change = spec(json!({
        "type": "LoadBalancer", "loadBalancerSourceRanges": ["10.0.0.0/8"], "ports": [port("app", 8080), port("more", 81)],
        "selector": { "x": "y" },
    }));
    is_back::<Service>(&ns, &audit, "web", By::Update, "type, ports and selector", change).await;
    let stalled: Vec<_> = history.objects().iter().filter_map(|app| app.condition("Stalled").cloned()).collect();
    assert!(stalled.is_empty(), "none of that is a failure: {stalled:?}");

    // A value that a patch has restored is owned like the others: it is removed once the spec does not set it any more. No pod
    // exists that a Service to another port would lose.
    let budget = json!({ "minAvailable": null, "maxUnavailable": 1 });
    ns.patch("myapp/web", &spec(json!({ "port": 8081, "replicas": 0, "disruptionBudget": budget }))).await;
    let ports = |service: &Service| {
        content(service)[0]["ports"]
            .as_array()
            .cloned()
            .unwrap_or_default()
            .into_iter()
            .map(|port| port["port"].clone())
            .collect::<Vec<_>>()
    };
    ns.until::<Service, ()>("web", "the other port alone", |service| (ports(service?) == [json!(8081)]).then_some(()))
        .await;
    settled(&audit, &ns).await;
    assert_eq!(ports(&ns.get::<Service>("web").await), [json!(8081)]);
    let budget = ns.get::<PodDisruptionBudget>("web").await;
    assert_eq!(content(&budget)[0]["minAvailable"], Value::Null, "{budget:?}");
    let owned = |entry: &&k8s_openapi::apimachinery::pkg::apis::meta::v1::ManagedFieldsEntry| {
        let by_us = entry.manager.as_deref() == Some("multi-operator-my-app");
        by_us && entry.operation.as_deref() == Some("Update")
    };
    let service = ns.get::<Service>("web").await;
    assert_eq!(service.managed_fields().iter().filter(owned).count(), 0, "{:?}", service.managed_fields());
}

/// One reconcile finds both the additions of others and the fields that the spec does not set any more, and no other one follows
/// it.
#[tokio::test]
async fn what_is_not_asked_for_any_more_goes_with_what_others_added_meanwhile() {
    let ns = Namespace::new("added-both").await;
    let audit = cluster::audit();
    let service = "{type: LoadBalancer, annotations: {pool: blue}}";
    ns.apply(&my_app("web", &format!("{{replicas: 1, image: nginx:1.25, port: 80, service: {service}}}"))).await;
    running(&ns, 1).await;
    ns.patch("myapp/web", &spec(json!({ "paused": true }))).await;
    ns.until::<MyApp, ()>("web", "it to be paused", |app| (phase(app?) == Some(MyAppPhase::Paused)).then_some(()))
        .await;
    settled(&audit, &ns).await;
    let change = spec(json!({ "selector": { "x": "y" } }));
    edit::<Service>(&ns.api(), "web", By::Patch, &change).await;
    ns.patch("myapp/web", &spec(json!({ "paused": null, "service": null }))).await;
    running(&ns, 1).await;
    let live = ns.get::<Service>("web").await;
    let annotation = live.annotations().get("pool");
    assert_eq!((&content(&live)[0]["type"], annotation), (&json!("ClusterIP"), None), "as it says: {live:?}");
    assert_eq!(content(&live)[0]["selector"]["x"], Value::Null, "{live:?}");
}

#[tokio::test]
async fn what_others_add_to_a_pod_template_goes_at_once_and_what_is_injected_stays() {
    let ns = Namespace::new("injected").await;
    let audit = cluster::audit();
    ns.apply(&my_app("web", "{replicas: 1, image: nginx:1.25, port: 80, env: [{name: A, value: x}]}")).await;
    running(&ns, 1).await;
    let mut injected = spec(json!({ "template": {
        "metadata": { "annotations": { "theirs": "yes" } },
        "spec": {
            "containers": [
                { "name": "app", "env": [{ "name": "THEIRS", "value": "y" }], "volumeMounts": [{ "name": "theirs", "mountPath": "/theirs" }] },
                { "name": "sidecar", "image": "nginx:1.25", "command": ["sleep", "infinity"] },
            ],
            "volumes": [{ "name": "theirs", "emptyDir": {} }],
        },
    } }));
    let deployments = ns.api::<Deployment>();
    let mark = audit.mark().expect("the audit log is there");
    (injected["apiVersion"], injected["kind"]) = (json!("apps/v1"), json!("Deployment"));
    // By another manager than edits: what that one applies next would take away what it had applied before.
    let injector = PatchParams::apply("injector").force();
    deployments.patch("web", &injector, &Patch::Apply(injected)).await.expect("it is taken");
    ns.until::<MyApp, ()>("web", "it to run with what was injected", |app| runs(app?, 1).then_some(())).await;
    settled(&mark, &ns).await;
    let written = writes(&mark, &ns);
    assert_eq!(to(&written, "deployments").len(), 0, "it is theirs:\n{}", lines(&written));
    let history = ns.record::<MyApp>("web").await;

    let handler = json!({ "readinessProbe": { "tcpSocket": null, "httpGet": { "port": 80 } } });
    let env = json!({ "env": [
        { "name": "A", "valueFrom": { "fieldRef": { "fieldPath": "metadata.name" } } }, { "name": "THEIRS", "value": "y" },
    ] });
    let said = json!({ "args": ["nginx-debug"], "resources": { "limits": { "cpu": "1" } }, "lifecycle": { "preStop": { "sleep": { "seconds": 1 } } } });
    let privileges = json!({ "securityContext": { "allowPrivilegeEscalation": true, "privileged": true } });
    for (what, change) in [
        ("a probe's handler", handler),
        ("a variable's source", env),
        ("what the spec could say", said),
        ("privileges", privileges),
    ] {
        let live = ns.get::<Deployment>("web").await;
        let change = with_container(&live, |app| json_patch::merge(app, &change));
        is_back::<Deployment>(&ns, &audit, "web", By::Update, what, change).await;
        running(&ns, 1).await;
    }
    let paces =
        spec(json!({ "minReadySeconds": 3, "progressDeadlineSeconds": 5, "revisionHistoryLimit": 1, "paused": true }));
    for by in By::ALL {
        is_back::<Deployment>(&ns, &audit, "web", by, "times and a pause", paces.clone()).await;
    }
    let stalled: Vec<_> = history.objects().iter().filter_map(|app| app.condition("Stalled").cloned()).collect();
    assert!(stalled.is_empty(), "none of that is a failure: {stalled:?}");
    let deployment = content(&ns.get::<Deployment>("web").await);
    let containers = deployment[0]["template"]["spec"]["containers"].as_array().map_or(0, Vec::len);
    assert_eq!(containers, 2, "{deployment}");
}

#[tokio::test]
async fn an_entry_that_is_moved_is_back_and_an_immutable_config_map_makes_way() {
    let ns = Namespace::new("moved").await;
    let audit = cluster::audit();
    ns.apply(&sample("greeting", "hello")).await;
    ns.until::<Sample, ()>("greeting", "it to be kept", |sample| sample?.is_ready().then_some(())).await;
    let history = ns.record::<Sample>("greeting").await;
    let moved = json!({ "data": { "testString": null }, "binaryData": { "testString": "aGVsbG8=" } });
    for by in [By::Update, By::Patch] {
        is_back::<ConfigMap>(&ns, &audit, "greeting", by, "the entry", moved.clone()).await;
    }
    edit(&ns.api::<ConfigMap>(), "greeting", By::Patch, &json!({ "immutable": true })).await;
    ns.patch("sample/greeting", &json!({ "testString": "good evening" })).await;
    ns.until::<ConfigMap, ()>("greeting", "another ConfigMap", |map| {
        (map?.data.as_ref()?.get("testString")? == "good evening").then_some(())
    })
    .await;
    settled(&audit, &ns).await;
    let stalled: Vec<_> = history.objects().iter().filter_map(|it| it.condition("Stalled").cloned()).collect();
    assert!(stalled.is_empty(), "none of that is a failure: {stalled:?}");
}
