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
    assert_eq!(bench.update("configmaps", "a", &body).unwrap_err().code, 404);
    let created = bench.update("leases", "a", &lease("x")).unwrap();
    assert_eq!(created, bench.get("leases", "a").unwrap(), "an update creates a lease");
}

#[test]
fn the_first_write_of_a_custom_object_stores_its_default_status() {
    let mut bench = Bench::new();
    let created = bench.create("samples", &sample("a", "x"));
    assert!(created["status"].is_object(), "{created}");
    let after = bench.merge("samples", "a", &json!({ "testString": "x" })).unwrap();
    assert_ne!(after["metadata"]["resourceVersion"], created["metadata"]["resourceVersion"]);
    assert_eq!(bench.merge("samples", "a", &json!({ "testString": "x" })).unwrap(), after);
}

#[test]
fn a_change_of_what_identifies_an_object_is_refused_twice_but_for_disruption_budgets() {
    let mut bench = Bench::new();
    bench.create("configmaps", &config_map("a", "1"));
    bench.create("poddisruptionbudgets", &json!({ "metadata": { "name": "a" }, "spec": { "maxUnavailable": 1 } }));
    for (plural, count) in [("configmaps", 2), ("poddisruptionbudgets", 1)] {
        let error = bench.merge(plural, "a", &json!({ "metadata": { "uid": "other" } })).unwrap_err();
        assert_eq!(error.causes.len(), count, "{plural}");
        assert_eq!(error.message.matches("metadata.uid").count(), 1, "{}", error.message);
    }
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
    let added =
        patch(json!([{ "op": "replace", "path": "/data/c", "value": "5" }, { "op": "remove", "path": "/data/c" }]));
    assert_eq!(added.unwrap()["data"]["a"], "2", "the replacement of an absent field adds it");
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

#[test]
fn a_quantity_that_is_written_in_another_form_gets_another_owner() {
    let mut bench = Bench::new();
    let metrics = |value: &str| {
        let target = json!({ "type": "AverageValue", "averageValue": value });
        json!([{ "type": "Resource", "resource": { "name": "memory", "target": target } }])
    };
    let target = json!({ "apiVersion": "apps/v1", "kind": "Deployment", "name": "a" });
    let spec = json!({ "maxReplicas": 2, "scaleTargetRef": target, "metrics": metrics("1024Mi") });
    let created = bench.create("horizontalpodautoscalers", &json!({ "metadata": { "name": "a" }, "spec": spec }));
    assert_eq!(created["spec"]["metrics"], metrics("1Gi"));
    let mut merge = |value: &str| {
        let patch = Verb::Patch(Patch::Merge(json!({ "spec": { "metrics": metrics(value) } })));
        let request = bench.request("horizontalpodautoscalers", Some("a"), patch);
        bench.perform(&ApiRequest { manager: "other".to_owned(), ..request }).unwrap().body
    };
    assert_eq!(*merge("1Gi"), created);
    let after = merge("1024Mi");
    assert_eq!(after["spec"], created["spec"]);
    assert!(after["metadata"]["managedFields"].to_string().contains("other"), "{after}");
}
