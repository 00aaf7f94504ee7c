use serde_json::{Value, json};

use super::*;
use crate::api_server::request::{Answer, ApiError};

fn apply(bench: &mut Bench, manager: &str, plural: &str, force: bool, body: &Value) -> Result<Answer, ApiError> {
    let verb = Verb::Patch(Patch::Apply { body: body.clone(), force });
    let request = ApiRequest { manager: manager.to_owned(), ..bench.request(plural, Some("a"), verb) };
    bench.perform(&request)
}

#[test]
fn an_apply_creates_changes_and_then_does_nothing() {
    let mut bench = Bench::new();
    let created = apply(&mut bench, "m", "configmaps", false, &config_map("a", "1")).unwrap();
    assert_eq!((created.code, text(&created.body, "/data/a")), (201, "1"));
    let changed = apply(&mut bench, "m", "configmaps", false, &config_map("a", "2")).unwrap();
    assert_eq!((changed.code, text(&changed.body, "/data/a")), (200, "2"));
    let version = bench.state.version();
    bench.now = "2026-01-01T01:00:00Z".parse().unwrap();
    let same = apply(&mut bench, "m", "configmaps", false, &config_map("a", "2")).unwrap();
    assert_eq!((same.code, same.body), (200, changed.body));
    assert_eq!(bench.state.version(), version);
    assert_eq!(bench.state.audit().last().unwrap().verb, "apply");
}

#[test]
fn a_field_of_another_is_taken_by_force_only() {
    let mut bench = Bench::new();
    apply(&mut bench, "m", "configmaps", false, &config_map("a", "1")).unwrap();
    let error = apply(&mut bench, "other", "configmaps", false, &config_map("a", "2")).unwrap_err();
    assert_eq!((error.code, error.reason), (409, "Conflict"));
    assert_eq!(error.message, r#"Apply failed with 1 conflict: conflict with "m": .data.a"#);
    assert_eq!(error.causes, [("FieldManagerConflict", ".data.a".to_owned(), r#"conflict with "m""#.to_owned())]);
    let forced = apply(&mut bench, "other", "configmaps", true, &config_map("a", "2")).unwrap();
    assert_eq!(text(&forced.body, "/data/a"), "2");
}

#[test]
fn a_uid_in_an_apply_is_a_precondition() {
    let mut bench = Bench::new();
    let mut body = config_map("a", "1");
    body["metadata"]["uid"] = json!("of-the-past");
    let error = apply(&mut bench, "m", "configmaps", true, &body).unwrap_err();
    assert_eq!(error.code, 409);
    assert!(error.message.contains("uid mismatch"), "{}", error.message);
    let created = bench.create("configmaps", &config_map("a", "1"));
    let error = apply(&mut bench, "m", "configmaps", true, &body).unwrap_err();
    assert_eq!((error.code, &*error.causes[0].1), (422, "metadata.uid"));
    body["metadata"]["uid"] = created["metadata"]["uid"].clone();
    body["metadata"]["resourceVersion"] = json!("1");
    assert_eq!(apply(&mut bench, "m", "configmaps", true, &body).unwrap_err().code, 409, "an old version");
    body["metadata"]["resourceVersion"] = created["metadata"]["resourceVersion"].clone();
    assert_eq!(apply(&mut bench, "m", "configmaps", true, &body).unwrap().code, 200);
}

#[test]
fn an_apply_to_the_status_owns_nothing_else() {
    let mut bench = Bench::new();
    let mut status = sample("a", "y");
    status["status"] = json!({ "observedGeneration": 3 });
    let verb = |body: &Value| Verb::Patch(Patch::Apply { body: body.clone(), force: true });
    let missing = bench.send_to(Subresource::Status, "samples", "a", verb(&status));
    assert_eq!(missing.unwrap_err().code, 404, "a status creates no object");
    bench.create("samples", &sample("a", "x"));
    let after = bench.send_to(Subresource::Status, "samples", "a", verb(&status)).unwrap();
    assert_eq!((text(&after, "/testString"), &after["status"]["observedGeneration"]), ("x", &json!(3)));
    let managers = after["metadata"]["managedFields"].as_array().unwrap();
    let own = managers.iter().find(|entry| entry["operation"] == "Apply").unwrap();
    assert_eq!(own["subresource"], "status");
    assert_eq!(own["fieldsV1"].as_object().unwrap().keys().collect::<Vec<_>>(), ["f:status"]);
    let main = apply(&mut bench, "m", "samples", true, &status).unwrap();
    assert_eq!((text(&main.body, "/testString"), &main.body["status"]["observedGeneration"]), ("y", &json!(3)));
}

#[test]
fn a_field_that_the_schema_lacks_is_no_object_of_the_kind() {
    let mut bench = Bench::new();
    let mut body = sample("a", "x");
    body["tsetString"] = json!("y");
    let error = apply(&mut bench, "m", "samples", true, &body).unwrap_err();
    assert_eq!(error.code, 500);
    assert_eq!(
        error.message,
        "failed to create typed patch object (/a; example.com/v1alpha1, Kind=Sample): .tsetString: field not declared in \
         schema"
    );
}

#[test]
fn the_first_apply_to_an_object_without_owners_leaves_its_status_to_nobody() {
    let mut bench = Bench::new();
    bench.create("samples", &sample("a", "x"));
    bench.merge("samples", "a", &json!({ "metadata": { "managedFields": [{}] } })).unwrap();
    let after = apply(&mut bench, "m", "samples", true, &sample("a", "x")).unwrap().body;
    let managers = after["metadata"]["managedFields"].as_array().unwrap();
    assert!(managers.iter().any(|entry| entry["manager"] == "before-first-apply"), "{managers:?}");
    assert!(managers.iter().all(|entry| entry["fieldsV1"].get("f:status").is_none()), "{managers:?}");
}

#[test]
fn an_apply_says_what_it_is_about() {
    let mut bench = Bench::new();
    let code =
        |bench: &mut Bench, body: Value| apply(bench, "m", "configmaps", true, &body).map_err(|error| error.code);
    assert_eq!(code(&mut bench, json!({ "metadata": { "name": "a" } })).unwrap_err(), 400);
    assert_eq!(code(&mut bench, config_map("b", "1")).unwrap_err(), 400);
    let mut body = config_map("a", "1");
    body["metadata"]["managedFields"] = json!([]);
    assert_eq!(code(&mut bench, body).unwrap_err(), 400);
}
