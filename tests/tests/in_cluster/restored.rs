//! The operator restores what others change and remove, by one write, and keeps what belongs to others.

use e2e::audit::Audit;
use e2e::cluster;
use e2e::namespace::Namespace;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::Service;
use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};

use crate::edits::{By, content, is_back, spec, with_container};
use crate::manifest::my_app;
use crate::writes::{lines, settled, to, writes};

const OURS: &str = "multi-operator-my-app";

const SPEC: &str = "{
  image: nginx:1.25, replicas: 0,
  ports: [{name: dns, port: 53}, {name: web, port: 80}, {name: admin, port: 81}],
  env: [{name: A, value: a}, {name: B, valueFrom: {secretKeyRef: {name: s, key: b}}}, {name: C, value: 'c && d > <e>'}],
  files: [{mountPath: /a, configMap: {name: a}}, {mountPath: /b, configMap: {name: b}}],
  resources: {requests: {cpu: 10m, memory: 16Mi}},
}";

fn items(list: &mut Value) -> &mut Vec<Value> {
    list.as_array_mut().expect("a list")
}

/// What is edited, and how its first container is changed.
type Edit = (&'static str, fn(&mut Value));

const EDITS: [Edit; 8] = [
    ("the first variable", |app| drop(items(&mut app["env"]).remove(0))),
    ("all variables", |app| app["env"] = Value::Null),
    ("the order of variables", |app| items(&mut app["env"]).reverse()),
    ("another key", |app| {
        app["env"][1]["valueFrom"]["secretKeyRef"] = json!({ "name": "s", "key": "c", "optional": true })
    }),
    ("the second port", |app| drop(items(&mut app["ports"]).remove(1))),
    ("a mounted volume", |app| drop(items(&mut app["volumeMounts"]).remove(0))),
    ("a request", |app| app["resources"]["requests"]["cpu"] = json!("20m")),
    ("the image", |app| app["image"] = json!("nginx:1.26")),
];

/// Waits until the MyApp has its children. Without pods an edit takes no rollout.
async fn create_app(ns: &Namespace, audit: &Audit) {
    ns.until::<Deployment, ()>("web", "it to be there", |deployment| deployment.map(drop)).await;
    settled(audit, ns).await;
}

#[tokio::test]
async fn what_others_take_from_a_pod_template_is_back_in_its_place_by_one_write() {
    let ns = Namespace::new("restored").await;
    let audit = cluster::audit();
    ns.apply(&my_app("web", SPEC)).await;
    create_app(&ns, &audit).await;
    let foreign = json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": { "annotations": { "theirs": "x" } },
        "spec": { "template": { "spec": {
            "containers": [{ "name": "sidecar", "image": "nginx:1.25" }], "nodeSelector": { "theirs": "x" },
        } } },
    });
    let deployments = ns.api::<Deployment>();
    deployments.patch("web", &PatchParams::apply("injector"), &Patch::Apply(foreign)).await.expect("it is taken");
    for by in [By::Update, By::Patch] {
        for (what, edit) in EDITS {
            let change = with_container(&ns.get::<Deployment>("web").await, edit);
            is_back::<Deployment>(&ns, &audit, "web", by, what, change).await;
        }
    }
    let live = ns.get::<Deployment>("web").await;
    let pod = &content(&live)[0]["template"]["spec"];
    assert_eq!((&pod["containers"][1]["name"], &pod["nodeSelector"]), (&json!("sidecar"), &json!({ "theirs": "x" })));
    assert_eq!(live.metadata.annotations.as_ref().and_then(|all| all.get("theirs")).map(String::as_str), Some("x"));
}

#[tokio::test]
async fn a_port_that_serves_both_protocols_is_restored_too() {
    let ns = Namespace::new("restored-ports").await;
    let audit = cluster::audit();
    let ports = "[{name: dns, port: 53, protocol: UDP}, {name: dns-tcp, port: 53, protocol: TCP}]";
    ns.apply(&my_app("web", &format!("{{image: nginx:1.25, replicas: 0, ports: {ports}}}"))).await;
    create_app(&ns, &audit).await;
    for by in [By::Update, By::Patch] {
        let live = ns.get::<Deployment>("web").await;
        let change = with_container(&live, |app| drop(items(&mut app["ports"]).remove(0)));
        is_back::<Deployment>(&ns, &audit, "web", by, "one of the two", change).await;
        let mut ports = content(&ns.get::<Service>("web").await)[0]["ports"].clone();
        items(&mut ports)[1]["targetPort"] = json!(99);
        is_back::<Service>(&ns, &audit, "web", by, "where the other leads", spec(json!({ "ports": ports }))).await;
    }
}

/// As when another client changes a field and reverts the change before the operator sees it: a patch would change nothing.
#[tokio::test]
async fn fields_that_changed_owner_only_are_owned_again_by_one_write() {
    let ns = Namespace::new("restored-owner").await;
    let audit = cluster::audit();
    ns.apply(&my_app("web", "{image: nginx:1.25, replicas: 0, port: 80}")).await;
    create_app(&ns, &audit).await;
    let mark = audit.mark().expect("the audit log is there");
    let of_image = "/fieldsV1/f:spec/f:template/f:spec/f:containers/k:{\"name\":\"app\"}";
    let mut managed = json!(ns.get::<Deployment>("web").await.metadata.managed_fields);
    let entry =
        items(&mut managed).iter_mut().find(|entry| entry["manager"] == OURS).expect("an entry of the operator");
    let container = entry.pointer_mut(of_image).and_then(Value::as_object_mut).expect("so is its container");
    let image = container.remove("f:image").expect("and the image");
    let fields = json!({ "f:spec": { "f:template": { "f:spec": { "f:containers": { "k:{\"name\":\"app\"}": { "f:image": image } } } } } });
    let foreign = json!({ "manager": "other-writer", "operation": "Update", "apiVersion": "apps/v1", "fieldsType": "FieldsV1", "fieldsV1": fields });
    items(&mut managed).push(foreign);
    ns.patch("deployment/web", &json!({ "metadata": { "managedFields": managed } })).await;
    ns.until::<Deployment, ()>("web", "the image to be owned", |live| {
        let managed = json!(live?.metadata.managed_fields);
        let is_owned =
            |entry: &&Value| entry["manager"] == OURS && entry.pointer(&format!("{of_image}/f:image")).is_some();
        managed.as_array()?.iter().find(is_owned).map(|_| ())
    })
    .await;
    settled(&mark, &ns).await;
    let written = writes(&mark, &ns);
    assert_eq!(to(&written, "deployments").len(), 1, "{}", lines(&written));
}
