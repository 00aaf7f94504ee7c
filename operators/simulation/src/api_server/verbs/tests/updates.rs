use serde_json::{Value, json};

use super::*;

fn lease(holder: &str) -> Value {
    json!({ "apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": { "name": "a" }, "spec": {
        "holderIdentity": holder,
    } })
}

#[test]
fn an_update_needs_the_present_version() {
    let mut bench = Bench::new();
    let first = bench.create("leases", &lease("x"));
    let mut body = first.clone();
    body["spec"]["holderIdentity"] = json!("y");
    let second = bench.update("leases", "a", &body).unwrap();
    assert_eq!(text(&second, "/spec/holderIdentity"), "y");
    let error = bench.update("leases", "a", &first).unwrap_err();
    assert_eq!((error.code, error.reason), (409, "Conflict"));
    assert!(error.message.contains("the object has been modified"), "{}", error.message);
    let error = bench.update("leases", "a", &lease("z")).unwrap_err();
    assert_eq!((error.code, &*error.causes[0].1), (422, "metadata.resourceVersion"));
    bench.create("configmaps", &config_map("a", "1"));
    let after = bench.update("configmaps", "a", &config_map("a", "2")).unwrap();
    assert_eq!(text(&after, "/data/a"), "2", "a ConfigMap may be replaced blindly");
}

#[test]
fn a_write_that_changes_nothing_is_none() {
    let mut bench = Bench::new();
    let created = bench.create("deployments", &deployment("a", 1));
    let version = bench.state.version();
    bench.now = "2026-01-01T01:00:00Z".parse().unwrap();
    assert_eq!(bench.update("deployments", "a", &created).unwrap(), created);
    assert_eq!(bench.merge("deployments", "a", &json!({ "spec": { "replicas": 1 } })).unwrap(), created);
    assert_eq!(bench.update("deployments", "a", &deployment("a", 1)).unwrap(), created, "defaults are filled in again");
    assert_eq!(bench.state.version(), version);
    assert!(!bench.state.audit().last().unwrap().changed);
}

#[test]
fn only_what_is_desired_counts_a_generation() {
    let mut bench = Bench::new();
    bench.create("deployments", &deployment("a", 1));
    let mut generation =
        |patch: Value| bench.merge("deployments", "a", &patch).unwrap()["metadata"]["generation"].clone();
    assert_eq!(generation(json!({ "metadata": { "labels": { "a": "b" } } })), 1);
    assert_eq!(generation(json!({ "metadata": { "annotations": { "a": "b" } } })), 2, "as Deployments do");
    assert_eq!(generation(json!({ "spec": { "replicas": 2 } })), 3);
    assert_eq!(generation(json!({ "metadata": { "generation": 9 } })), 3);
    bench.create("samples", &sample("a", "x"));
    let mut generation = |patch: Value| bench.merge("samples", "a", &patch).unwrap()["metadata"]["generation"].clone();
    assert_eq!(generation(json!({ "metadata": { "annotations": { "a": "b" } } })), 1);
    assert_eq!(generation(json!({ "testString": "y" })), 2);
}

#[test]
fn what_identifies_an_object_stays() {
    let mut bench = Bench::new();
    let created = bench.create("configmaps", &config_map("a", "1"));
    let mut body = created.clone();
    body["metadata"]["uid"] = json!("other");
    let error = bench.update("configmaps", "a", &body).unwrap_err();
    assert_eq!(error.code, 409);
    assert!(error.message.contains("Precondition failed: UID in precondition: other"), "{}", error.message);
    let error = bench.merge("configmaps", "a", &json!({ "metadata": { "uid": "other" } })).unwrap_err();
    assert_eq!((error.code, &*error.causes[0].1), (422, "metadata.uid"));
    let marked = json!({ "metadata": { "deletionTimestamp": "2026-01-01T00:00:00Z" } });
    assert_eq!(bench.merge("configmaps", "a", &marked).unwrap_err().code, 422);
    let renamed = bench.update("configmaps", "a", &config_map("b", "1")).unwrap_err();
    assert_eq!(renamed.code, 400);
    let older = json!({ "metadata": { "creationTimestamp": null, "labels": null } });
    assert_eq!(bench.merge("configmaps", "a", &older).unwrap(), created);
}

#[test]
fn an_object_that_is_gone_cannot_be_changed() {
    let mut bench = Bench::new();
    assert_eq!(bench.merge("configmaps", "a", &json!({})).unwrap_err().code, 404);
    assert_eq!(bench.update("configmaps", "a", &config_map("a", "1")).unwrap_err().code, 404);
    let mut body = config_map("a", "1");
    body["metadata"]["uid"] = json!("of-the-past");
    assert_eq!(bench.update("configmaps", "a", &body).unwrap_err().code, 409, "it is another object");
    assert_eq!(bench.update("leases", "a", &lease("x")).unwrap_err().code, 501, "the real one would create it");
}

#[test]
fn json_patches_apply_as_a_whole_or_not_at_all() {
    let mut bench = Bench::new();
    let created = bench.create("configmaps", &config_map("a", "1"));
    let mut patch = |steps: Value| bench.send("configmaps", "a", Verb::Patch(Patch::Json(steps)));
    let after = patch(json!([
        { "op": "test", "path": "/metadata/uid", "value": created["metadata"]["uid"] },
        { "op": "test", "path": "/metadata/labels", "value": null },
        { "op": "replace", "path": "/data/a", "value": "2" },
        { "op": "add", "path": "/data/b", "value": "3" },
    ]));
    assert_eq!(after.unwrap()["data"], json!({ "a": "2", "b": "3" }));
    let failed = patch(json!([
        { "op": "replace", "path": "/data/a", "value": "4" },
        { "op": "test", "path": "/data/b", "value": "other" },
    ]));
    assert_eq!(failed.unwrap_err().code, 422);
    assert_eq!(patch(json!([{ "op": "remove", "path": "/data/c" }])).unwrap_err().code, 422);
    assert_eq!(patch(json!([{ "op": "grow" }])).unwrap_err().code, 400);
    assert_eq!(bench.get("configmaps", "a").unwrap()["data"]["a"], "2");
}

#[test]
fn a_patch_may_replace_the_owners_of_fields() {
    let mut bench = Bench::new();
    let created = bench.create("configmaps", &config_map("a", "1"));
    let mut managers = created["metadata"]["managedFields"].clone();
    managers[0]["manager"] = json!("other");
    let patch = json!({ "metadata": { "managedFields": managers } });
    let after = bench.merge("configmaps", "a", &patch).unwrap();
    assert_eq!(after["metadata"]["managedFields"], managers);
    assert_ne!(after["metadata"]["resourceVersion"], created["metadata"]["resourceVersion"]);
    let after = bench.merge("configmaps", "a", &json!({ "metadata": { "managedFields": [{}] } })).unwrap();
    assert_eq!(after["metadata"].get("managedFields"), None);
}
