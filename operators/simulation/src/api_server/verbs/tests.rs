use serde_json::{Value, json};

use super::testing::{Bench, config_map, deployment, sample, text};
use crate::api_server::request::{ApiRequest, ListOptions, Patch, Subresource, Verb, WatchOptions};

mod applies;
mod creations;
mod lists;
mod updates;

#[test]
fn an_object_is_read_complete_or_its_metadata_only() {
    let mut bench = Bench::new();
    bench.create("configmaps", &config_map("a", "1"));
    assert_eq!(bench.get("configmaps", "a").unwrap()["data"], json!({ "a": "1" }));
    let request = ApiRequest { metadata_only: true, ..bench.request("configmaps", Some("a"), Verb::Get) };
    let partial = bench.perform(&request).unwrap().body;
    assert_eq!(text(&partial, "/kind"), "PartialObjectMetadata");
    assert_eq!((text(&partial, "/metadata/name"), partial.get("data")), ("a", None));
    let missing = bench.get("configmaps", "b").unwrap_err();
    assert_eq!((missing.code, &*missing.message), (404, r#"configmaps "b" not found"#));
    let missing = bench.get("deployments", "b").unwrap_err();
    assert_eq!(missing.message, r#"deployments.apps "b" not found"#);
}

#[test]
fn what_the_model_lacks_fails_with_the_request_and_is_noted() {
    let mut bench = Bench::new();
    let watch = bench.request("configmaps", None, Verb::Watch(WatchOptions::default()));
    let collection =
        bench.request("configmaps", None, Verb::Delete(crate::api_server::request::DeleteOptions::default()));
    for request in [watch, collection] {
        let error = bench.perform(&request).unwrap_err();
        assert_eq!(error.code, 501);
        assert!(error.message.contains("ApiRequest"), "{}", error.message);
    }
    let body = json!({ "metadata": { "name": "a" } });
    let eviction = bench.send_to(Subresource::Eviction, "pods", "a", Verb::Create { body, strict: false });
    assert_eq!(eviction.unwrap_err().code, 501);
    assert_eq!(bench.state.unmodelled().len(), 3);
}

#[test]
fn a_path_that_is_not_served_is_not_found() {
    let mut bench = Bench::new();
    for (part, plural) in
        [(Subresource::Status, "configmaps"), (Subresource::Scale, "samples"), (Subresource::Eviction, "samples")]
    {
        let error = bench.send_to(part, plural, "a", Verb::Get).unwrap_err();
        assert_eq!(
            (error.code, &*error.message),
            (404, "the server could not find the requested resource"),
            "{plural}"
        );
    }
}

#[test]
fn a_scale_reads_and_writes_the_replicas() {
    let mut bench = Bench::new();
    let before = bench.create("deployments", &deployment("a", 2));
    let scale = bench.send_to(Subresource::Scale, "deployments", "a", Verb::Get).unwrap();
    assert_eq!((text(&scale, "/kind"), text(&scale, "/status/selector")), ("Scale", "app=a"));
    assert_eq!(scale["spec"], json!({ "replicas": 2 }));
    let merge = Verb::Patch(Patch::Merge(json!({ "spec": { "replicas": 5 } })));
    let scaled = bench.send_to(Subresource::Scale, "deployments", "a", merge).unwrap();
    assert_eq!(scaled["spec"], json!({ "replicas": 5 }));
    let after = bench.get("deployments", "a").unwrap();
    assert_eq!((&after["spec"]["replicas"], &after["metadata"]["generation"]), (&json!(5), &json!(2)));
    assert_eq!(after["spec"]["template"], before["spec"]["template"]);
    let managers = after["metadata"]["managedFields"].as_array().unwrap();
    let scaling = managers.iter().find(|entry| entry["subresource"] == "scale").unwrap();
    assert_eq!(scaling.get("time"), None);
    let stale = bench.send_to(Subresource::Scale, "deployments", "a", Verb::Update { body: scale });
    assert_eq!(stale.unwrap_err().code, 409);
    let merge = Verb::Patch(Patch::Merge(json!({ "spec": { "replicas": -1 } })));
    assert_eq!(bench.send_to(Subresource::Scale, "deployments", "a", merge).unwrap_err().code, 422);
}

#[test]
fn a_scale_of_a_custom_kind_needs_its_replicas() {
    let mut bench = Bench::new();
    let app = |replicas: Value| json!({ "metadata": { "name": "a" }, "spec": { "image": "x", "replicas": replicas } });
    let error = bench.try_create("myapps", &app(json!("two"))).unwrap_err();
    let fields: Vec<_> = error.causes.iter().map(|cause| cause.1.as_str()).collect();
    assert_eq!(fields, ["spec.replicas", ".spec.replicas", "<nil>"], "the rules are not checked");
    let error = bench.try_create("myapps", &app(json!(-1))).unwrap_err();
    assert_eq!(error.causes.len(), 2, "the rules are checked");
    bench.create("myapps", &json!({ "metadata": { "name": "a" }, "spec": { "image": "x" } }));
    let error = bench.send_to(Subresource::Scale, "myapps", "a", Verb::Get).unwrap_err();
    assert_eq!((error.code, error.reason), (500, "InternalError"));
    let merge = Verb::Patch(Patch::Merge(json!({ "spec": { "replicas": 1 } })));
    assert_eq!(bench.send_to(Subresource::Scale, "myapps", "a", merge).unwrap()["spec"]["replicas"], 1);
    let after = bench.get("myapps", "a").unwrap();
    let managers = after["metadata"]["managedFields"].as_array().unwrap();
    assert!(managers.iter().all(|entry| entry.get("subresource").is_none()), "{managers:?}");
}

#[test]
fn each_write_is_audited() {
    let mut bench = Bench::new();
    bench.create("configmaps", &config_map("a", "1"));
    bench.try_create("configmaps", &config_map("a", "1")).unwrap_err();
    bench.merge("configmaps", "a", &json!({ "data": { "a": "1" } })).unwrap();
    bench.get("configmaps", "a").unwrap();
    bench.list("configmaps", ListOptions::default()).unwrap();
    let entries: Vec<_> =
        bench.state.audit().iter().skip(1).map(|entry| (entry.verb, entry.code, entry.changed)).collect();
    assert_eq!(entries, [("create", 201, true), ("create", 409, false), ("patch", 200, false)]);
    let last = bench.state.audit().last().unwrap();
    assert_eq!((last.key.0.as_str(), last.key.1.as_str(), last.user.as_str()), ("n", "a", "user"));
}

#[test]
fn a_status_is_written_apart() {
    let mut bench = Bench::new();
    bench.create("samples", &sample("a", "x"));
    let body = json!({ "testString": "y", "status": { "observedGeneration": 1 } });
    let merge = Verb::Patch(Patch::Merge(body.clone()));
    let after = bench.send_to(Subresource::Status, "samples", "a", merge).unwrap();
    assert_eq!((text(&after, "/testString"), &after["status"]["observedGeneration"]), ("x", &json!(1)));
    assert_eq!(after["metadata"]["generation"], 1, "a status is nothing desired");
    let after =
        bench.merge("samples", "a", &json!({ "testString": "z", "status": { "observedGeneration": 7 } })).unwrap();
    assert_eq!((text(&after, "/testString"), &after["status"]["observedGeneration"]), ("z", &json!(1)));
    assert_eq!(after["metadata"]["generation"], 2);
}
