//! Which pods are kept, and what of them.

use super::*;
use serde_json::{Value, json};

fn pod(controller: &Value) -> Pod {
    let labels =
        json!({ "multi-operator.example.com/owner-kind": "Thing.example.com", "app.kubernetes.io/instance": "a" });
    let owners = json!([{ "apiVersion": controller[0], "kind": controller[1], "name": controller[2], "uid": "u", "controller": true }]);
    let status = json!({
        "podIP": "10.0.0.1",
        "conditions": [{ "type": "Ready", "status": "True", "lastTransitionTime": "2026-11-21T10:00:02Z" }],
        "initContainerStatuses": [{ "name": "wait", "state": { "terminated": { "exitCode": 0 } } }],
        "containerStatuses": [{ "name": "app", "ready": true, "restartCount": 2,
            "state": { "running": { "startedAt": "2026-11-21T10:00:00Z" } },
            "lastState": { "terminated": { "exitCode": 3, "message": "why" } } }],
    });
    let metadata = json!({ "namespace": "n", "name": "a-1", "labels": labels, "ownerReferences": owners });
    Pod::decode(&json!({ "metadata": metadata, "status": status }).to_string()).unwrap()
}

#[test]
fn a_pod_that_our_object_controls_is_kept_with_details() {
    let pod = pod(&json!(["example.com/v1", "Thing", "a"]));
    let details = pod.details.as_deref().unwrap();
    assert!(pod.is_retained() && details.ready);
    assert_eq!(details.ip.as_deref(), Some("10.0.0.1"));
    let app = details.container("app").unwrap();
    assert_eq!((app.running, app.restarts, app.in_backoff), (true, 2, false));
    let waited = details.ready_since.zip(app.since).map(|(ready, since)| ready.duration_since(since).as_secs());
    assert_eq!(waited, Some(2));
    assert_eq!(app.terminated, Some(Terminated { code: 3, message: "why".into() }));
}

#[test]
fn a_healthy_pod_of_a_replica_set_is_not_kept() {
    let pod = pod(&json!(["apps/v1", "ReplicaSet", "a"]));
    assert!(!pod.is_retained() && pod.details.is_none());
    assert_eq!(pod.owner().map(|owner| &*owner.kind), Some("Thing.example.com"));
}

#[test]
fn a_pod_of_a_replica_set_is_kept_while_it_waits_for_its_volumes() {
    let labels =
        json!({ "multi-operator.example.com/owner-kind": "Thing.example.com", "app.kubernetes.io/instance": "a" });
    let pod = |kind: &str, sandbox: &str| {
        let owners = json!([{ "apiVersion": "apps/v1", "kind": kind, "name": "a", "uid": "u", "controller": true }]);
        let metadata = json!({ "namespace": "n", "name": "a-1", "labels": labels, "ownerReferences": owners });
        let spec = json!({ "volumes": [{ "name": "a", "configMap": { "name": "settings" } }] });
        let conditions = json!([
            { "type": "PodScheduled", "status": "True", "lastTransitionTime": "2026-11-21T10:00:02Z" },
            { "type": "PodReadyToStartContainers", "status": sandbox },
        ]);
        let pod = json!({ "metadata": metadata, "spec": spec, "status": { "conditions": conditions } });
        Pod::decode(&pod.to_string()).unwrap()
    };
    let (waits, starts) = (pod("ReplicaSet", "False"), pod("ReplicaSet", "True"));
    assert!(waits.is_retained() && !starts.is_retained() && !starts.has_same_content(&waits));
    assert!(!pod("StatefulSet", "False").is_retained());
}

#[test]
fn a_pod_of_a_replica_set_in_a_terminal_phase_has_no_diagnosis() {
    let labels =
        json!({ "multi-operator.example.com/owner-kind": "Thing.example.com", "app.kubernetes.io/instance": "a" });
    let pod = |kind: &str, phase: &str| {
        let owners = json!([{ "apiVersion": "apps/v1", "kind": kind, "name": "a", "uid": "u", "controller": true }]);
        let metadata = json!({ "namespace": "n", "name": "a-1", "labels": labels, "ownerReferences": owners });
        let ended = json!({ "terminated": { "reason": "Error", "exitCode": 1 } });
        let containers = json!([{ "name": "app", "restartCount": 3, "state": ended }]);
        let pod = json!({ "metadata": metadata, "status": { "phase": phase, "containerStatuses": containers } });
        Pod::decode(&pod.to_string()).unwrap()
    };
    assert!(pod("ReplicaSet", "Running").is_retained() && pod("StatefulSet", "Failed").is_retained());
    assert!(!pod("ReplicaSet", "Failed").is_retained(), "an evicted pod exists until it is garbage collected");
}

#[test]
fn a_pod_with_the_uid_of_an_object_is_kept_with_details_whatever_controls_it() {
    let labels = json!({ "multi-operator.example.com/owner-uid": "u" });
    let pod = json!({ "metadata": { "namespace": "n", "name": "a-1", "labels": labels }, "status": {} });
    let pod = Pod::decode(&pod.to_string()).unwrap();
    assert!(pod.is_retained() && pod.details.is_some());
}

#[test]
fn a_pod_that_was_read_by_its_name_needs_no_label() {
    let status = json!({ "podIP": "10.0.0.1" });
    let text = json!({ "metadata": { "namespace": "n", "name": "a-1" }, "status": status }).to_string();
    assert!(Pod::decode(&text).unwrap().details.is_none());
    assert_eq!(Pod::with_details(&text).unwrap().details.unwrap().ip.as_deref(), Some("10.0.0.1"));
}
