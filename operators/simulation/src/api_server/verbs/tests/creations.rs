use serde_json::{Value, json};

use super::*;
use crate::api_server::request::DeleteOptions;

#[test]
fn the_api_server_decides_what_identifies_a_new_object() {
    let mut bench = Bench::new();
    let mut body = config_map("a", "1");
    body["metadata"]["uid"] = json!("mine");
    body["metadata"]["deletionTimestamp"] = json!("2020-01-01T00:00:00Z");
    let first = bench.create("configmaps", &body);
    let second = bench.create("configmaps", &config_map("b", "1"));
    let metadata = &first["metadata"];
    assert_eq!(text(metadata, "/creationTimestamp"), "2026-01-01T00:00:00Z");
    assert_eq!((text(metadata, "/namespace"), metadata.get("deletionTimestamp")), ("n", None));
    let uid = text(metadata, "/uid");
    assert!(uid.len() == 36 && uid.split('-').map(str::len).eq([8, 4, 4, 4, 12]), "{uid}");
    assert_ne!(uid, text(&second, "/metadata/uid"));
    let version = |object: &Value| text(object, "/metadata/resourceVersion").parse::<u64>().unwrap();
    assert_eq!((version(&first) + 1, version(&second)), (version(&second), bench.state.version()));
    assert_eq!(metadata["managedFields"][0]["manager"], "user");
    assert_eq!(metadata.get("generation"), None, "nothing counts that of a ConfigMap");
    let deployment = bench.create("deployments", &deployment("a", 1));
    assert_eq!(deployment["metadata"]["generation"], 1);
}

#[test]
fn the_same_requests_give_the_same_objects() {
    let run = || {
        let mut bench = Bench::new();
        [bench.create("configmaps", &config_map("a", "1")), bench.create("deployments", &deployment("a", 1))]
    };
    assert_eq!(run(), run());
}

#[test]
fn a_name_is_taken_once() {
    let mut bench = Bench::new();
    bench.create("configmaps", &config_map("a", "1"));
    let version = bench.state.version();
    let error = bench.try_create("configmaps", &config_map("a", "2")).unwrap_err();
    assert_eq!((error.code, error.reason), (409, "AlreadyExists"));
    assert_eq!(error.message, r#"configmaps "a" already exists"#);
    assert_eq!(bench.state.version(), version);
    bench.merge("configmaps", "a", &json!({ "metadata": { "finalizers": ["example.com/hold"] } })).unwrap();
    bench.delete("configmaps", "a", DeleteOptions::default()).unwrap();
    let error = bench.try_create("configmaps", &config_map("a", "2")).unwrap_err();
    assert_eq!(error.message, r#"object is being deleted: configmaps "a" already exists"#);
}

#[test]
fn a_name_is_generated_if_there_is_none() {
    let mut bench = Bench::new();
    let mut body = config_map("", "1");
    body["metadata"]["generateName"] = json!("a-");
    let names: Vec<_> = (0..3).map(|_| text(&bench.create("configmaps", &body), "/metadata/name").to_owned()).collect();
    assert!(names.iter().all(|name| name.len() == 7 && name.starts_with("a-")), "{names:?}");
    assert!(names[0] != names[1] && names[1] != names[2]);
    let created = bench.state.audit().last().unwrap();
    assert_eq!(created.key.1, names[2]);
    let error = bench.try_create("configmaps", &config_map("", "1")).unwrap_err();
    assert_eq!((error.code, &*error.causes[0].1), (422, "metadata.name"));
}

#[test]
fn a_body_of_another_place_is_refused() {
    let mut bench = Bench::new();
    let code = |bench: &mut Bench, change: fn(&mut Value)| {
        let mut body = config_map("a", "1");
        change(&mut body);
        bench.try_create("configmaps", &body).map_err(|error| error.code).map(|answer| answer.code)
    };
    assert_eq!(code(&mut bench, |body| body["kind"] = json!("Secret")), Err(400));
    assert_eq!(code(&mut bench, |body| body["apiVersion"] = json!("v2")), Err(400));
    assert_eq!(code(&mut bench, |body| body["metadata"]["namespace"] = json!("other")), Err(400));
    assert_eq!(code(&mut bench, |body| body["metadata"]["resourceVersion"] = json!("1")), Err(500));
    assert_eq!(code(&mut bench, |body| body["metadata"]["managedFields"] = json!([{ "manager": "a" }])), Err(501));
    assert_eq!(code(&mut bench, |body| body["metadata"]["namespace"] = json!("n")), Ok(201));
}

#[test]
fn a_namespace_has_to_exist_and_to_stay() {
    let mut bench = Bench::new();
    let create = Verb::Create { body: config_map("a", "1"), strict: false };
    let mut elsewhere = bench.request("configmaps", None, create);
    elsewhere.namespace = Some("other".to_owned());
    let error = bench.perform(&elsewhere).unwrap_err();
    assert_eq!((error.code, &*error.message), (404, r#"namespaces "other" not found"#));
    bench.delete("namespaces", "n", DeleteOptions::default()).unwrap();
    let error = bench.try_create("configmaps", &config_map("a", "1")).unwrap_err();
    assert_eq!((error.code, error.causes[0].0), (403, "NamespaceTerminating"));
    assert_eq!(
        error.message,
        "configmaps \"a\" is forbidden: unable to create new content in namespace n because it is being terminated"
    );
}

#[test]
fn an_unknown_field_is_refused_if_the_request_is_strict() {
    let mut bench = Bench::new();
    let mut body = sample("a", "x");
    body["unknown"] = json!(1);
    assert_eq!(bench.try_create("samples", &body).unwrap_err().code, 400);
    let request = bench.request("samples", None, Verb::Create { body, strict: false });
    assert_eq!(bench.perform(&request).unwrap().body.get("unknown"), None);
}
