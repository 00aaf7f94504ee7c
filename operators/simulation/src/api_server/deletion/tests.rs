use serde_json::json;

use super::*;
use crate::api_server::request::{Patch, Propagation, Subresource, Verb};
use crate::api_server::verbs::testing::{Bench, config_map, deployment, pod, text};

fn grace(seconds: i64) -> DeleteOptions {
    DeleteOptions { grace: Some(seconds), ..DeleteOptions::default() }
}

fn with(propagation: Propagation) -> DeleteOptions {
    DeleteOptions { propagation, ..DeleteOptions::default() }
}

#[test]
fn an_object_that_nothing_holds_is_removed() {
    let mut bench = Bench::new();
    let created = bench.create("deployments", &deployment("a", 1));
    let since = bench.state.version();
    let status = bench.delete("deployments", "a", DeleteOptions::default()).unwrap();
    assert_eq!((text(&status, "/kind"), text(&status, "/status")), ("Status", "Success"));
    assert_eq!(
        status["details"],
        json!({
            "name": "a", "group": "apps", "kind": "deployments", "uid": created["metadata"]["uid"],
        })
    );
    assert_eq!(bench.changes(since), ["Deleted a"]);
    assert_eq!(bench.delete("deployments", "a", DeleteOptions::default()).unwrap_err().code, 404);
}

#[test]
fn preconditions_name_the_object() {
    let mut bench = Bench::new();
    let created = bench.create("configmaps", &config_map("a", "1"));
    let uid = text(&created, "/metadata/uid").to_owned();
    let other = DeleteOptions { uid: Some("other".to_owned()), ..DeleteOptions::default() };
    let error = bench.delete("configmaps", "a", other).unwrap_err();
    assert_eq!((error.code, error.reason), (409, "Conflict"));
    assert!(error.message.contains("the UID in the precondition (other) does not match"), "{}", error.message);
    let older = DeleteOptions { uid: Some(uid.clone()), version: Some("1".to_owned()), ..DeleteOptions::default() };
    assert_eq!(bench.delete("configmaps", "a", older).unwrap_err().code, 409);
    let version = Some(text(&created, "/metadata/resourceVersion").to_owned());
    bench.delete("configmaps", "a", DeleteOptions { uid: Some(uid), version, ..DeleteOptions::default() }).unwrap();
}

#[test]
fn an_object_that_is_answered_has_the_version_of_its_deletion() {
    let mut bench = Bench::new();
    let spec = json!({ "ports": [{ "port": 80 }] });
    bench.create("services", &json!({ "metadata": { "name": "a" }, "spec": spec }));
    let answered = bench.delete("services", "a", DeleteOptions::default()).unwrap();
    assert_eq!(text(&answered, "/metadata/resourceVersion"), bench.state.version().to_string());
}

#[test]
fn finalizers_hold_an_object_until_the_last_is_gone() {
    let mut bench = Bench::new();
    let mut body = deployment("a", 1);
    body["metadata"]["finalizers"] = json!(["example.com/one", "example.com/two"]);
    bench.create("deployments", &body);
    let since = bench.state.version();
    let marked = bench.delete("deployments", "a", DeleteOptions::default()).unwrap();
    let metadata = &marked["metadata"];
    assert_eq!(text(metadata, "/deletionTimestamp"), "2026-01-01T00:00:00Z");
    assert_eq!((&metadata["deletionGracePeriodSeconds"], &metadata["generation"]), (&json!(0), &json!(2)));
    bench.now = "2026-01-01T01:00:00Z".parse().unwrap();
    assert_eq!(bench.delete("deployments", "a", DeleteOptions::default()).unwrap(), marked, "it is marked once");

    let more = json!({ "metadata": { "finalizers": ["example.com/one", "example.com/three"] } });
    let error = bench.merge("deployments", "a", &more).unwrap_err();
    assert_eq!((error.code, &*error.causes[0].1), (422, "metadata.finalizers"));
    assert!(error.message.contains(r#"found new finalizers []string{"example.com/three"}"#), "{}", error.message);

    let fewer = json!({ "metadata": { "finalizers": ["example.com/one"], "deletionTimestamp": null } });
    let after = bench.merge("deployments", "a", &fewer).unwrap();
    assert_eq!(text(&after, "/metadata/deletionTimestamp"), "2026-01-01T00:00:00Z", "a deletion cannot be undone");
    bench.merge("deployments", "a", &json!({ "metadata": { "finalizers": null } })).unwrap();
    assert_eq!(bench.changes(since), ["Modified a", "Modified a", "Deleted a"]);
    assert_eq!(bench.get("deployments", "a").unwrap_err().code, 404);
}

#[test]
fn the_garbage_collector_is_asked_by_finalizers() {
    let mut bench = Bench::new();
    bench.create("deployments", &deployment("a", 1));
    let marked = bench.delete("deployments", "a", with(Propagation::Foreground)).unwrap();
    assert_eq!(marked["metadata"]["finalizers"], json!(["foregroundDeletion"]));
    let marked = bench.delete("deployments", "a", with(Propagation::Orphan)).unwrap();
    assert_eq!(marked["metadata"]["finalizers"], json!(["orphan"]));
    bench.delete("deployments", "a", with(Propagation::Background)).unwrap();
    assert_eq!(bench.get("deployments", "a").unwrap_err().code, 404);
}

/// A pod on a node.
fn running(bench: &mut Bench) {
    let mut body = pod("a");
    body["spec"]["nodeName"] = json!("node");
    bench.create("pods", &body);
}

#[test]
fn a_pod_on_a_node_stays_until_the_kubelet_removes_it() {
    let mut bench = Bench::new();
    running(&mut bench);
    let since = bench.state.version();
    let marked = bench.delete("pods", "a", DeleteOptions::default()).unwrap();
    assert_eq!(text(&marked, "/metadata/deletionTimestamp"), "2026-01-01T00:00:20Z");
    assert_eq!(marked["metadata"]["deletionGracePeriodSeconds"], 20);
    assert_eq!(bench.delete("pods", "a", DeleteOptions::default()).unwrap(), marked);
    assert_eq!(bench.delete("pods", "a", grace(30)).unwrap(), marked, "no grace gets longer");
    let shorter = bench.delete("pods", "a", grace(5)).unwrap();
    assert_eq!(text(&shorter, "/metadata/deletionTimestamp"), "2026-01-01T00:00:05Z");
    bench.delete("pods", "a", grace(0)).unwrap();
    assert_eq!(bench.changes(since), ["Modified a", "Modified a", "Modified a", "Deleted a"]);
}

#[test]
fn a_pod_that_does_not_run_is_removed_at_once() {
    let mut bench = Bench::new();
    bench.create("pods", &pod("a"));
    bench.delete("pods", "a", DeleteOptions::default()).unwrap();
    assert_eq!(bench.get("pods", "a").unwrap_err().code, 404);
    running(&mut bench);
    let ended = Verb::Patch(Patch::Merge(json!({ "status": { "phase": "Succeeded" } })));
    bench.send_to(Subresource::Status, "pods", "a", ended).unwrap();
    bench.delete("pods", "a", DeleteOptions::default()).unwrap();
    assert_eq!(bench.get("pods", "a").unwrap_err().code, 404);
}

#[test]
fn a_finalizer_holds_a_pod_beyond_its_grace_and_is_held_by_it() {
    let mut bench = Bench::new();
    running(&mut bench);
    let held = |finalizers: serde_json::Value| json!({ "metadata": { "finalizers": finalizers } });
    bench.merge("pods", "a", &held(json!(["example.com/one"]))).unwrap();
    bench.delete("pods", "a", DeleteOptions::default()).unwrap();
    bench.delete("pods", "a", grace(0)).unwrap();
    assert_eq!(bench.get("pods", "a").unwrap()["metadata"]["deletionGracePeriodSeconds"], 0);
    bench.merge("pods", "a", &held(json!(null))).unwrap();
    assert_eq!(bench.get("pods", "a").unwrap_err().code, 404);

    running(&mut bench);
    bench.merge("pods", "a", &held(json!(["example.com/one"]))).unwrap();
    bench.delete("pods", "a", DeleteOptions::default()).unwrap();
    bench.merge("pods", "a", &held(json!(null))).unwrap();
    assert!(bench.get("pods", "a").is_ok(), "the kubelet has yet to stop it");
}

#[test]
fn a_namespace_ends_once_it_is_empty() {
    let mut bench = Bench::new();
    bench.create("configmaps", &config_map("a", "1"));
    let terminating = bench.delete("namespaces", "n", DeleteOptions::default()).unwrap();
    assert_eq!(text(&terminating, "/status/phase"), "Terminating");
    assert_eq!(terminating["spec"], json!({ "finalizers": ["kubernetes"] }));
    bench.delete("namespaces", "n", DeleteOptions::default()).unwrap();
    let by_controller = |bench: &mut Bench| {
        let mut request = bench.request("namespaces", Some("n"), Verb::Delete(DeleteOptions::default()));
        request.user = "kube-controller-manager".to_owned();
        bench.perform(&request).unwrap();
        bench.get("namespaces", "n").is_ok()
    };
    assert!(by_controller(&mut bench), "the ConfigMap is still there");
    bench.delete("configmaps", "a", DeleteOptions::default()).unwrap();
    assert!(!by_controller(&mut bench));
}

#[test]
fn only_the_controller_finalizes_a_namespace() {
    let mut bench = Bench::new();
    let mut terminating = bench.delete("namespaces", "n", DeleteOptions::default()).unwrap();
    terminating["spec"] = json!({});
    bench.update("namespaces", "n", &terminating).unwrap();
    assert_eq!(bench.get("namespaces", "n").unwrap()["spec"], json!({ "finalizers": ["kubernetes"] }));
    let mut request = bench.request("namespaces", Some("n"), Verb::Update { body: terminating });
    request.user = "kube-controller-manager".to_owned();
    bench.perform(&request).unwrap();
    assert_eq!(bench.get("namespaces", "n").unwrap_err().code, 404);
}
