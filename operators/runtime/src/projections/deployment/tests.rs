//! What is read of a Deployment.

use super::*;

fn rollout(updated: i32, conditions: &serde_json::Value) -> Rollout {
    serde_json::from_value(json!({ "updatedReplicas": updated, "conditions": conditions })).unwrap()
}

fn pod(of: &str) -> Meta {
    let owner = json!([{ "apiVersion": "apps/v1", "kind": "ReplicaSet", "name": of, "uid": "r", "controller": true }]);
    serde_json::from_value(json!({ "name": "p", "namespace": "n", "uid": "u", "resourceVersion": "1",
        "ownerReferences": owner }))
    .unwrap()
}

#[test]
fn pods_of_an_earlier_template_are_recognized_by_the_named_replica_set() {
    for message in [
        "ReplicaSet \"a-2\" is progressing.",
        "Created new replica set \"a-2\"",
        "Found new replica set \"a-2\"",
        "ReplicaSet \"a-2\" has successfully progressed.",
        "ReplicaSet \"a-2\" has timed out progressing.",
    ] {
        for status in ["True", "False"] {
            let named = rollout(1, &json!([{ "type": "Progressing", "status": status, "message": message }]));
            assert!(named.is_past(&pod("a-1")) && !named.is_past(&pod("a-2")), "{message}");
            assert_eq!(named.conditions.failures.len(), usize::from(status == "False"));
        }
    }
    let unnamed = json!([{ "type": "Progressing", "status": "True", "message": "Deployment is progressing." }]);
    assert!(!rollout(1, &unnamed).is_past(&pod("a-1")) && !rollout(1, &json!(null)).is_past(&pod("a-1")));
    assert!(rollout(0, &unnamed).is_past(&pod("a-1")), "no pod is of the present template");
}

/// As after an image that cannot be pulled was reverted: the earlier ReplicaSet is reused, but not named.
#[test]
fn a_replica_set_that_was_named_before_the_last_change_may_be_of_an_earlier_template() {
    const APPLIED: &str = "2026-01-01T00:00:10Z";
    let since = |named: &str, updated: i32| {
        let progressing = json!({ "type": "Progressing", "status": "True", "lastUpdateTime": named,
            "message": "ReplicaSet \"a-2\" is progressing." });
        let managed = json!([{ "manager": "multi-operator-my-app", "operation": "Apply", "time": APPLIED,
            "fieldsV1": { "f:spec": {} } }]);
        let object = json!({ "metadata": { "name": "a", "namespace": "n", "managedFields": managed },
            "status": { "replicas": 2, "updatedReplicas": updated, "conditions": [progressing] } });
        Deployment::decode(&object.to_string()).unwrap().unnamed_since()
    };
    assert_eq!(since("2026-01-01T00:00:09Z", 1), Some(APPLIED.parse().unwrap()));
    assert_eq!(
        since("2026-01-01T00:00:10Z", 1),
        None,
        "the ReplicaSet of the applied template is named within the same second"
    );
    assert_eq!(since("2026-01-01T00:00:09Z", 2), None, "all pods are of the present template");
}

#[test]
fn the_owned_part_of_a_template_is_read() {
    let annotations = json!({ "kubectl.kubernetes.io/default-container": "app", RESTARTED_AT: "now", CONTENTS: "c" });
    let read = |template: &serde_json::Value, owned: &serde_json::Value| {
        let managed = json!([{ "manager": "multi-operator-my-app", "operation": "Apply",
            "fieldsV1": { "f:spec": { "f:template": owned } } }]);
        let metadata =
            json!({ "name": "a", "namespace": "n", "uid": "u", "resourceVersion": "1", "managedFields": managed });
        let object = json!({ "metadata": metadata, "spec": { "template": template } });
        Deployment::decode(&object.to_string()).unwrap().template
    };
    let contents = json!({ format!("f:{CONTENTS}"): {} });
    let ours = json!({ "f:metadata": { "f:annotations": contents }, "f:spec": { "f:hostname": {} } });
    // Additions of others are not in it.
    let theirs = json!({ "metadata": { "annotations": annotations }, "spec": { "hostname": "h", "subdomain": "s" } });
    let plain = read(&theirs, &ours);
    let sent = json!({ "metadata": { "annotations": { CONTENTS: "c" } }, "spec": { "hostname": "h" } });
    assert!(plain.created.is_created_from(&Template::rendered(&json!({ "spec": { "template": sent } }))));
    assert!(!plain.created.is_created_from(&Template::rendered(&json!({ "spec": { "template": theirs } }))));
    assert_eq!((plain.restarted_at.as_deref(), plain.contents.as_deref()), (Some("now"), Some("c")));
    assert!(!plain.has_defaults, "an annotation of others is no default of ours");

    let named = json!({ "f:metadata": { "f:annotations": { "f:kubectl.kubernetes.io/default-container": {} } } });
    let spread = json!({ "f:spec": { "f:topologySpreadConstraints": {} } });
    assert!([named, spread].iter().all(|ours| read(&theirs, ours).has_defaults));
}

/// A creation owns defaults of the API server, too.
#[test]
fn a_created_template_matches_what_was_sent() {
    let template = json!({ "spec": { "restartPolicy": "Always", "containers": [{ "name": "app", "image": "i:1",
        "imagePullPolicy": "IfNotPresent", "terminationMessagePolicy": "File" }] } });
    let container = json!({ "f:name": {}, "f:image": {}, "f:imagePullPolicy": {}, "f:terminationMessagePolicy": {} });
    let owned = json!({ "f:spec": { "f:restartPolicy": {}, "f:containers": { "k:{\"name\":\"app\"}": container } } });
    let read = |operation: &str| {
        let managed = json!([{ "manager": "multi-operator-my-app", "operation": operation,
            "fieldsV1": { "f:spec": { "f:template": owned } } }]);
        let metadata = json!({ "name": "a", "namespace": "n", "uid": "u", "managedFields": managed });
        let object = json!({ "metadata": metadata, "spec": { "template": template } });
        Deployment::decode(&object.to_string()).unwrap().template.created
    };
    let of = |image: &str| {
        let template = json!({ "spec": { "containers": [{ "name": "app", "image": image }] } });
        Template::rendered(&json!({ "spec": { "replicas": 3, "template": template } }))
    };
    assert!(read("Update").is_created_from(&of("i:1")));
    assert!(!read("Update").is_created_from(&of("i:2")));
    assert!(!read("Apply").is_created_from(&of("i:1")), "an apply has sent more");
}
