use serde_json::{Value, json};

use super::*;

/// The fields of the errors of a change of one field of a base object, by its JSON pointer.
fn change(plural: &str, base: &Value, pointer: &str, value: Value) -> Vec<FieldError> {
    let mut after = base.clone();
    *after.pointer_mut(pointer).unwrap() = value;
    problems(plural, base, &after)
}

fn invalid(field: &str, value: &Value) -> Vec<FieldError> {
    vec![FieldError::invalid(field, value, IMMUTABLE)]
}

#[test]
fn selectors_stay() {
    let base = json!({ "spec": { "replicas": 1, "selector": { "matchLabels": { "app": "a" } } } });
    let other = json!({ "matchLabels": { "app": "b" } });
    for plural in ["deployments", "replicasets"] {
        assert_eq!(change(plural, &base, "/spec/selector", other.clone()), invalid("spec.selector", &other));
        assert_eq!(change(plural, &base, "/spec/replicas", json!(2)), []);
    }
    let set = json!({ "spec": { "replicas": 1, "serviceName": "a", "template": {} } });
    assert_eq!(change("statefulsets", &set, "/spec/replicas", json!(2)), []);
    assert_eq!(change("statefulsets", &set, "/spec/template", json!({ "a": 1 })), []);
    assert_eq!(change("statefulsets", &set, "/spec/serviceName", json!("b")).len(), 1);
}

#[test]
fn the_template_of_a_job_stays_once_it_may_have_started() {
    let template = json!({ "metadata": { "labels": {} }, "spec": { "containers": [1], "tolerations": [] } });
    let mut job = json!({ "spec": { "suspend": false, "parallelism": 1, "completions": 1, "template": template } });
    let tolerations = "/spec/template/spec/tolerations";
    assert_eq!(change("jobs", &job, "/spec/parallelism", json!(2)), []);
    assert_eq!(change("jobs", &job, "/spec/completions", json!(2)), invalid("spec.completions", &json!(2)));
    assert_eq!(change("jobs", &job, tolerations, json!([1])).len(), 1);
    job["spec"]["suspend"] = json!(true);
    assert_eq!(change("jobs", &job, tolerations, json!([1])), []);
    assert_eq!(change("jobs", &job, "/spec/template/spec/containers", json!([2])).len(), 1);
}

#[test]
fn of_a_pod_only_images_deadline_and_additional_tolerations_change() {
    let base = json!({ "spec": {
        "containers": [{ "name": "a", "image": "a:1" }], "tolerations": [{ "key": "a", "tolerationSeconds": 1 }],
        "terminationGracePeriodSeconds": 30, "activeDeadlineSeconds": 5,
    } });
    let allowed = |pointer: &str, value: Value| change("pods", &base, pointer, value).is_empty();
    assert!(allowed("/spec/containers/0/image", json!("a:2")));
    assert!(allowed("/spec/activeDeadlineSeconds", json!(4)));
    assert!(allowed("/spec/tolerations", json!([{ "key": "b" }, { "key": "a" }])));
    assert!(!allowed("/spec/tolerations", json!([{ "key": "b" }])));
    assert!(!allowed("/spec/terminationGracePeriodSeconds", json!(1)));
    assert!(!allowed("/spec/containers/0/name", json!("b")));
    assert!(!allowed("/spec/containers", json!([])));
    let mut bound = base.clone();
    bound["spec"]["nodeName"] = json!("n1");
    assert_eq!(problems("pods", &base, &bound), [], "the scheduler sets it");
    assert!(!change("pods", &bound, "/spec/nodeName", json!("n2")).is_empty());
}

#[test]
fn a_claim_grows_once_it_is_bound() {
    let size = "/spec/resources/requests/storage";
    let mut claim = json!({
        "spec": { "accessModes": ["ReadWriteOnce"], "resources": { "requests": { "storage": "2Gi" } } },
        "status": { "phase": "Pending" },
    });
    assert_eq!(change("persistentvolumeclaims", &claim, size, json!("3Gi")).len(), 1);
    claim["status"] = json!({ "phase": "Bound", "capacity": { "storage": "1Gi" } });
    assert_eq!(change("persistentvolumeclaims", &claim, size, json!("3Gi")), []);
    assert_eq!(change("persistentvolumeclaims", &claim, size, json!("1536Mi")), [], "the growth has not happened");
    let shrunk = change("persistentvolumeclaims", &claim, size, json!("1Gi"));
    let detail = "field can not be less than status.capacity";
    assert_eq!(shrunk, [FieldError::forbidden("spec.resources.requests.storage", detail)]);
    assert_eq!(change("persistentvolumeclaims", &claim, "/spec/accessModes", json!([])).len(), 1);
    let mut bound = claim.clone();
    bound["spec"]["volumeName"] = json!("v");
    assert_eq!(problems("persistentvolumeclaims", &claim, &bound), []);
    assert_eq!(problems("persistentvolumeclaims", &bound, &claim).len(), 1);
}

#[test]
fn addresses_and_immutable_contents_stay() {
    let service = json!({ "spec": { "type": "ClusterIP", "clusterIP": "10.96.0.9", "clusterIPs": ["10.96.0.8"] } });
    let moved = change("services", &service, "/spec/clusterIP", json!("10.96.0.8"));
    assert_eq!(moved, [FieldError::invalid("spec.clusterIPs[0]", &json!(["10.96.0.8"]), "may not change once set")]);
    let map = json!({ "data": { "a": "1" }, "immutable": true });
    assert_eq!(change("configmaps", &map, "/data/a", json!("2")), [FieldError::forbidden("data", IMMUTABLE_SET)]);
    assert_eq!(
        change("configmaps", &map, "/immutable", json!(false)),
        [FieldError::forbidden("immutable", IMMUTABLE_SET)]
    );
    let emptied_map = json!({ "data": { "a": "1" }, "binaryData": {}, "immutable": true });
    assert_eq!(emptied("configmaps", &map, &emptied_map), [FieldError::forbidden("binaryData", IMMUTABLE_SET)]);
    assert_eq!(emptied("configmaps", &map, &map), []);
    let open = json!({ "type": "Opaque", "data": { "a": "1" } });
    assert_eq!(change("secrets", &open, "/data/a", json!("2")), []);
    assert_eq!(change("secrets", &open, "/type", json!("T")), invalid("type", &json!("T")));
}
