use serde_json::json;

use super::*;

const UID: &str = "3f0c2b1a-0000-4000-8000-0000000000aa";
const OTHER_UID: &str = "4f0c2b1a-0000-4000-8000-0000000000bb";

fn ok(body: Value) -> Reply {
    Reply { code: 200, body }
}

fn found(real: &Value, model: &Value) -> Vec<String> {
    differences(&ok(real.clone()), &ok(model.clone()))
}

fn deployment() -> Value {
    let entry = |manager: &str| {
        json!({ "manager": manager, "operation": "Apply", "apiVersion": "apps/v1", "time": "2026-01-01T00:00:00Z",
                "fieldsType": "FieldsV1", "fieldsV1": { "f:spec": { "f:replicas": {} } } })
    };
    json!({
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {
            "name": "a",
            "uid": UID,
            "resourceVersion": "7",
            "generation": 1,
            "creationTimestamp": "2026-01-01T00:00:00Z",
            "labels": { "tier": "a" },
            "annotations": { "deployment.kubernetes.io/revision": "1", "note": "n" },
            "finalizers": ["kubernetes.io/pvc-protection", "example.com/hold"],
            "managedFields": [entry("alpha"), entry("kube-controller-manager")],
        },
        "spec": { "replicas": 0, "clusterIP": "10.0.0.1", "clusterIPs": ["10.0.0.1"] },
        "status": { "replicas": 1 },
    })
}

/// The pointers of all values that are no map and no list.
fn leaves(value: &Value, pointer: &str, all: &mut Vec<String>) {
    let escaped = |name: &str| name.replace('/', "~1");
    match value {
        Value::Object(fields) if !fields.is_empty() => {
            fields.iter().for_each(|(name, field)| leaves(field, &format!("{pointer}/{}", escaped(name)), all));
        }
        Value::Array(items) => {
            items.iter().enumerate().for_each(|(index, item)| leaves(item, &format!("{pointer}/{index}"), all));
        }
        _ => all.push(pointer.to_owned()),
    }
}

/// Those of which a change to another text is not reported.
fn unreported(object: &Value, change: &Value) -> Vec<String> {
    let mut all = Vec::new();
    leaves(object, "", &mut all);
    let is_unreported = |pointer: &String| {
        let mut changed = object.clone();
        *changed.pointer_mut(pointer).unwrap() = change.clone();
        found(object, &changed).is_empty()
    };
    all.into_iter().filter(is_unreported).collect()
}

#[test]
fn only_what_the_table_lists_is_ignored() {
    let ignored = [
        "/metadata/annotations/deployment.kubernetes.io~1revision",
        "/metadata/creationTimestamp",
        "/metadata/managedFields/0/time",
        "/metadata/managedFields/1/apiVersion",
        "/metadata/managedFields/1/fieldsType",
        "/metadata/managedFields/1/fieldsV1/f:spec/f:replicas",
        "/metadata/managedFields/1/operation",
        "/metadata/managedFields/1/time",
        "/metadata/resourceVersion",
        "/status/replicas",
    ];
    assert_eq!(unreported(&deployment(), &json!("other")), ignored);
    let mut with_other = deployment();
    with_other["metadata"]["uid"] = json!(OTHER_UID);
    with_other["spec"]["clusterIP"] = json!("10.0.0.2");
    with_other["spec"]["clusterIPs"] = json!(["10.0.0.2"]);
    with_other["metadata"]["finalizers"] = json!(["example.com/hold"]);
    with_other["metadata"]["managedFields"].as_array_mut().unwrap().pop();
    with_other["metadata"]["annotations"] = json!({ "note": "n" });
    with_other.as_object_mut().unwrap().remove("status");
    assert_eq!(found(&deployment(), &with_other), Vec::<String>::new());
    assert!(IGNORED.iter().all(|ignored| !ignored.reason.is_empty()));
}

#[test]
fn a_changed_field_code_or_message_is_reported() {
    let mut model = deployment();
    model["spec"]["replicas"] = json!(1);
    model["metadata"]["labels"] = json!({ "tier": "a", "more": "b" });
    model["metadata"].as_object_mut().unwrap().remove("generation");
    let lines = [
        ".metadata.generation: really 1, in the model absent",
        r#".metadata.labels.more: really absent, in the model "b""#,
        ".spec.replicas: really 0, in the model 1",
    ];
    assert_eq!(found(&deployment(), &model), lines);
    let created = Reply { code: 201, body: deployment() };
    assert_eq!(differences(&created, &ok(deployment())), ["code: really 201, in the model 200"]);
}

fn failure(message: &str) -> Value {
    json!({ "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "message": message, "code": 409,
            "reason": "Conflict", "details": { "name": "a", "kind": "things",
                                               "causes": [{ "reason": "R", "field": "f", "message": "m" }] } })
}

#[test]
fn of_a_refusal_reason_message_and_causes_are_compared() {
    let real = failure("no");
    for (pointer, line) in [
        ("/reason", r#".reason: really "Conflict", in the model "x""#),
        ("/message", r#".message: really "no", in the model "x""#),
        ("/details/causes/0/field", r#".details.causes[0].field: really "f", in the model "x""#),
    ] {
        let mut model = real.clone();
        *model.pointer_mut(pointer).unwrap() = json!("x");
        assert_eq!(found(&real, &model), [line]);
    }
    let mut model = real.clone();
    model["details"] = json!({ "causes": real["details"]["causes"] });
    assert_eq!(found(&real, &model), Vec::<String>::new());
    let mut without = real.clone();
    without["details"].as_object_mut().unwrap().remove("causes");
    model.as_object_mut().unwrap().remove("details");
    assert_eq!(found(&without, &model), Vec::<String>::new());
}

#[test]
fn what_a_deletion_says_is_compared() {
    let of = |name: &str, uid: &str| json!({ "kind": "Status", "status": "Success", "details": { "name": name, "kind": "things", "uid": uid } });
    assert_eq!(found(&of("a", UID), &of("a", OTHER_UID)), Vec::<String>::new());
    assert_eq!(found(&of("a", UID), &of("b", UID)), [r#".details.name: really "a", in the model "b""#]);
}

#[test]
fn versions_and_uids_in_messages_are_placeholders() {
    let message = |uid: &str, met: &str, version: u64| {
        failure(&format!(
            "Precondition failed: UID in precondition: {uid}, UID in object meta: {met}; \
             ResourceVersion in precondition: 1, ResourceVersion in object meta: {version}"
        ))
    };
    assert_eq!(found(&message(UID, OTHER_UID, 5), &message(OTHER_UID, UID, 66)), Vec::<String>::new());
    assert_eq!(found(&message(UID, OTHER_UID, 5), &message(UID, UID, 5)).len(), 1);
    let of_lines = |lines: &str| failure(&format!("spec: Forbidden: immutable{lines}"));
    assert_eq!(found(&of_lines("\n  a\n  b"), &of_lines("")), Vec::<String>::new());
}

#[test]
fn an_owner_is_reported_and_the_order_of_owners_is_not() {
    let with = |entries: Value| json!({ "kind": "ConfigMap", "metadata": { "managedFields": entries } });
    let entry =
        |manager: &str, field: &str| json!({ "manager": manager, "fieldsV1": { field: {} }, "operation": "Apply" });
    let real = with(json!([entry("alpha", "f:a"), entry("beta", "f:b")]));
    assert_eq!(found(&real, &with(json!([entry("beta", "f:b"), entry("alpha", "f:a")]))), Vec::<String>::new());
    assert_eq!(found(&real, &with(json!([entry("alpha", "f:a"), entry("beta", "f:c")]))).len(), 2);
    assert_eq!(found(&real, &with(json!([entry("alpha", "f:a"), entry("gamma", "f:b")]))).len(), 1);
    assert_eq!(found(&real, &with(json!([entry("alpha", "f:a")]))).len(), 1);
}

#[test]
fn items_of_a_list_are_compared_as_objects_of_their_kind() {
    let list = |kind: &str, status: u64, uid: &str| {
        let item = json!({ "metadata": { "name": "a", "uid": uid, "resourceVersion": uid }, "status": status });
        json!({ "kind": kind, "metadata": { "resourceVersion": uid, "continue": uid }, "items": [item] })
    };
    assert_eq!(found(&list("DeploymentList", 1, UID), &list("DeploymentList", 2, OTHER_UID)), Vec::<String>::new());
    let line = ".items[0].status: really 1, in the model 2";
    assert_eq!(found(&list("SampleList", 1, UID), &list("SampleList", 2, UID)), [line]);
}

#[test]
fn a_null_time_of_a_template_is_as_none() {
    let with = |metadata: Value| json!({ "spec": { "template": { "metadata": metadata } } });
    assert_eq!(found(&with(json!({ "creationTimestamp": null })), &with(json!({}))), Vec::<String>::new());
    assert_eq!(found(&with(json!({ "creationTimestamp": "t" })), &with(json!({}))).len(), 1);
}

#[test]
fn an_order_at_random_is_ignored_and_any_other_is_not() {
    let refused = |kind: &str, order: [&str; 2]| json!({ "kind": "Status", "status": "Failure", "message": format!("{kind} \"a\" is invalid: [{}]", order.join(", ")) });
    let (one, other) = (["spec.a: no", "spec.b: no"], ["spec.b: no", "spec.a: no"]);
    assert_eq!(found(&refused("MyApp.example.com", one), &refused("MyApp.example.com", other)), Vec::<String>::new());
    assert_eq!(found(&refused("Deployment.apps", one), &refused("Deployment.apps", other)).len(), 1);
    let list = |metadata: Value| json!({ "kind": "MyAppList", "metadata": metadata });
    assert_eq!(found(&list(json!({ "continue": "", "uid": UID })), &list(json!({ "uid": UID }))), Vec::<String>::new());
    assert_eq!(found(&list(json!({ "continue": "x" })), &list(json!({}))).len(), 1);
}
