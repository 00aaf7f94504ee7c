use serde_json::{Value, json};

use super::*;
use crate::api_server::kinds::Kinds;

/// Runs the check with the kind of that name.
fn with<R>(plural: &str, check: impl FnOnce(&Kind) -> R) -> R {
    let kinds = Kinds::all();
    let id = kinds.plural(plural).unwrap();
    check(kinds.get(id).unwrap())
}

fn created(plural: &str, mut object: Value) -> Value {
    with(plural, |kind| create(kind, &mut object, true)).unwrap();
    object
}

fn updated(plural: &str, before: &Value, change: impl FnOnce(&mut Value), part: Option<Subresource>) -> Value {
    let mut after = before.clone();
    change(&mut after);
    with(plural, |kind| update(kind, before, &mut after, part)).unwrap();
    after
}

fn deployment() -> Value {
    json!({
        "metadata": { "name": "web", "namespace": "n" },
        "spec": {
            "paused": false,
            "selector": { "matchLabels": { "app": "web" } },
            "template": {
                "metadata": { "labels": { "app": "web" } },
                "spec": { "containers": [{ "name": "app", "image": "a:1", "resources": { "limits": { "cpu": "1000m" } } }] },
            },
        },
        "status": { "replicas": 7 },
    })
}

#[test]
fn a_created_deployment_has_defaults_and_no_status() {
    let stored = created("deployments", deployment());
    assert_eq!((stored.get("status"), &stored["spec"]["replicas"]), (Some(&json!({})), &json!(1)));
    assert_eq!(stored["spec"].get("paused"), None);
    assert_eq!(stored["spec"]["template"]["spec"]["containers"][0]["resources"]["limits"]["cpu"], "1");
}

#[test]
fn a_refusal_says_what_the_real_one_says() {
    let before = created("deployments", deployment());
    let mut after = before.clone();
    after["spec"]["selector"]["matchLabels"]["app"] = json!("b");
    after["spec"]["template"]["metadata"]["labels"]["app"] = json!("b");
    let refusal = with("deployments", |kind| update(kind, &before, &mut after, None)).unwrap_err();
    let text = r#"Invalid value: {"matchLabels":{"app":"b"}}: field is immutable"#;
    let message = format!(r#"Deployment.apps "web" is invalid: spec.selector: {text}"#);
    let causes = vec![("FieldValueInvalid", "spec.selector".to_owned(), text.to_owned())];
    assert_eq!(refusal, ApiError { code: 422, reason: "Invalid", message, causes });

    let mut pod = json!({ "metadata": { "name": "p" }, "spec": {} });
    let refusal = with("pods", |kind| create(kind, &mut pod, false)).unwrap_err();
    assert_eq!(refusal.message, r#"Pod "p" is invalid: spec.containers: Required value"#);
    pod["spec"] = json!({ "containers": [{}] });
    let refusal = with("pods", |kind| create(kind, &mut pod, false)).unwrap_err();
    let all = "[spec.containers[0].name: Required value, spec.containers[0].image: Required value]";
    assert_eq!(refusal.message, format!(r#"Pod "p" is invalid: {all}"#));
}

#[test]
fn a_write_changes_its_part_only() {
    let mut before = created("deployments", deployment());
    before["status"] = json!({ "replicas": 1 });
    let change = |object: &mut Value| {
        object["spec"]["replicas"] = json!(5);
        object["status"]["replicas"] = json!(5);
        object["metadata"]["labels"] = json!({ "a": "b" });
        object["metadata"]["annotations"] = json!({ "a": "b" });
    };
    let main = updated("deployments", &before, change, None);
    let places = ["/spec/replicas", "/status/replicas", "/metadata/labels/a", "/metadata/annotations/a"];
    let found = |object: &Value| places.map(|place| object.pointer(place).cloned());
    assert_eq!(found(&main), [Some(json!(5)), Some(json!(1)), Some(json!("b")), Some(json!("b"))]);
    let status = updated("deployments", &before, change, Some(Subresource::Status));
    assert_eq!(found(&status), [Some(json!(1)), Some(json!(5)), None, Some(json!("b"))]);

    let sample = json!({ "metadata": { "name": "s" }, "testString": "a" });
    let stored = created("samples", sample);
    assert_eq!(stored["status"]["observedGeneration"], -1);
    let status = updated(
        "samples",
        &stored,
        |object| {
            object["testString"] = json!("b");
            object["metadata"]["annotations"] = json!({ "a": "b" });
            object["status"]["observedGeneration"] = json!(1);
        },
        Some(Subresource::Status),
    );
    let expected = json!({ "metadata": { "name": "s" }, "testString": "a", "status": { "observedGeneration": 1 } });
    assert_eq!((&status["testString"], &status["metadata"]), (&expected["testString"], &expected["metadata"]));
    assert_eq!(status["status"]["observedGeneration"], 1);
    let eviction = with("pods", |kind| update(kind, &json!({}), &mut json!({}), Some(Subresource::Eviction)));
    assert_eq!(eviction.unwrap_err().code, 501);
}

#[test]
fn a_write_may_own_its_part_only() {
    let object = json!({ "kind": "K", "metadata": { "labels": {}, "annotations": {} }, "spec": 1, "status": 2 });
    let part = |plural: &str, part| with(plural, |kind| ownable(kind, &object, part));
    let without_status = json!({ "kind": "K", "metadata": { "labels": {}, "annotations": {} }, "spec": 1 });
    assert_eq!(part("samples", None), without_status);
    assert_eq!(part("deployments", Some(Subresource::Scale)), without_status);
    assert_eq!(part("samples", Some(Subresource::Status)), json!({ "kind": "K", "metadata": {}, "status": 2 }));
    let of_deployments = json!({ "kind": "K", "metadata": { "annotations": {} }, "status": 2 });
    assert_eq!(part("deployments", Some(Subresource::Status)), of_deployments);
}

#[test]
fn strict_requests_name_unknown_fields() {
    let mut sample = json!({ "metadata": { "name": "s" }, "x": 1 });
    let refusal = with("samples", |kind| create(kind, &mut sample.clone(), true)).unwrap_err();
    let message =
        r#"Sample in version "v1alpha1" cannot be handled as a Sample: strict decoding error: unknown field "x""#;
    assert_eq!((refusal.code, refusal.message.as_str()), (400, message));
    with("samples", |kind| create(kind, &mut sample, false)).unwrap();
    assert_eq!(sample.get("x"), None);
}

#[test]
fn a_service_gets_an_address_and_keeps_it() {
    let service = json!({ "metadata": { "name": "a", "namespace": "n" },
        "spec": { "selector": { "a": "b" }, "ports": [{ "port": 80 }] } });
    let stored = created("services", service.clone());
    let address = stored["spec"]["clusterIP"].as_str().unwrap();
    assert!(address.starts_with("10."), "{address}");
    assert_eq!((&stored["spec"]["clusterIPs"], &stored["spec"]["ipFamilies"]), (&json!([address]), &json!(["IPv4"])));
    let replaced = updated("services", &stored, |object| *object = service.clone(), None);
    assert_eq!(replaced, stored, "a replacement without addresses keeps them");

    let on_nodes = updated("services", &stored, |object| object["spec"]["type"] = json!("NodePort"), None);
    let port = on_nodes["spec"]["ports"][0]["nodePort"].as_i64().unwrap();
    assert!((30000..=32767).contains(&port), "{port}");
    assert_eq!(on_nodes["spec"]["externalTrafficPolicy"], "Cluster");
    let back = updated("services", &on_nodes, |object| object["spec"]["type"] = json!("ClusterIP"), None);
    assert_eq!(back, stored);

    let mut moved = stored.clone();
    moved["spec"]["clusterIP"] = json!("10.96.200.200");
    let refusal = with("services", |kind| update(kind, &stored, &mut moved, None)).unwrap_err();
    assert!(refusal.message.contains(r#"["10.96.200.200"]: may not change once set"#), "{}", refusal.message);
    let headless = json!({ "metadata": { "name": "h" }, "spec": { "clusterIP": "None", "selector": { "a": "b" } } });
    assert_eq!(created("services", headless)["spec"]["clusterIPs"], json!(["None"]));
    let unnamed = json!({ "metadata": { "name": "x" }, "spec": { "type": "ExternalName", "externalName": "a.b" } });
    assert_eq!(created("services", unnamed)["spec"].get("clusterIP"), None);
}

#[test]
fn a_pod_and_a_job_get_what_only_the_server_knows() {
    let container = json!({ "name": "a", "image": "a", "resources": { "limits": { "cpu": "1", "memory": "1Gi" } } });
    let pod = created("pods", json!({ "metadata": { "name": "p" }, "spec": { "containers": [container] } }));
    assert_eq!(pod["status"], json!({ "phase": "Pending", "qosClass": "Guaranteed" }));
    let tolerations: Vec<_> = pod["spec"]["tolerations"].as_array().unwrap().iter().map(|one| &one["key"]).collect();
    assert_eq!(tolerations, ["node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"]);
    assert_eq!((&pod["spec"]["priority"], &pod["spec"]["serviceAccount"]), (&json!(0), &json!("default")));

    let spec = json!({ "restartPolicy": "Never", "containers": [{ "name": "a", "image": "a" }] });
    let sent = json!({ "metadata": { "name": "j", "uid": "u" }, "spec": { "template": { "spec": spec } } });
    let job = created("jobs", sent.clone());
    assert_eq!(job["spec"]["selector"], json!({ "matchLabels": { "batch.kubernetes.io/controller-uid": "u" } }));
    assert_eq!(job["spec"]["template"]["metadata"]["labels"]["job-name"], "j");
    let mut early = sent;
    early["metadata"].as_object_mut().unwrap().remove("uid");
    assert_eq!(with("jobs", |kind| create(kind, &mut early, false)).unwrap_err().code, 501);
}
