use serde_json::{Value, json};

use super::*;
use crate::api_server::preparation::field_error::FieldError;

fn schema() -> Value {
    json!({
        "type": "object",
        "required": ["spec"],
        "properties": {
            "spec": {
                "type": "object",
                "default": {},
                "required": ["size"],
                "properties": {
                    "size": { "type": "integer", "format": "int32", "minimum": 1.0, "maximum": 7.0, "default": 3 },
                    "mode": { "type": "string", "enum": ["A", "B"] },
                    "name": { "type": "string", "minLength": 1, "maxLength": 3 },
                    "note": { "type": "string", "nullable": true },
                    "port": { "x-kubernetes-int-or-string": true },
                    "free": { "type": "object", "x-kubernetes-preserve-unknown-fields": true,
                        "properties": { "typed": { "type": "object", "properties": {} } } },
                    "labels": { "type": "object", "additionalProperties": { "type": "string" }, "maxProperties": 1 },
                    "items": { "type": "array", "maxItems": 2, "x-kubernetes-list-type": "map",
                        "x-kubernetes-list-map-keys": ["id"],
                        "items": { "type": "object", "required": ["id"], "properties": {
                            "id": { "type": "string" }, "level": { "type": "integer", "default": 1, "minimum": 1 } } } },
                },
            },
            "status": { "type": "object", "default": { "observedGeneration": -1 }, "properties": {
                "observedGeneration": { "type": "integer" }, "at": { "type": "string", "format": "date-time" } } },
        },
    })
}

fn filled(mut object: Value) -> Value {
    fill_in(&schema(), &mut object);
    object
}

fn errors(before: Option<&Value>, object: &Value) -> Vec<FieldError> {
    let found = validation::problems(&schema(), before, object);
    assert_eq!(found.unmodelled, None);
    found.errors
}

#[test]
fn unknown_fields_are_dropped_and_named() {
    let mut object = json!({
        "kind": "T", "metadata": { "name": "a", "color": "red" }, "other": 1,
        "spec": {
            "x": 1, "labels": { "any": "thing" }, "free": { "kept": { "deep": 1 }, "typed": { "y": 1 } },
            "items": [{ "id": "a", "z": null }],
        },
    });
    let unknown = pruning::prune(&schema(), &mut object);
    assert_eq!(unknown, ["metadata.color", "other", "spec.free.typed.y", "spec.items[0].z", "spec.x"]);
    let kept = json!({
        "kind": "T", "metadata": { "name": "a" },
        "spec": { "labels": { "any": "thing" }, "free": { "kept": { "deep": 1 }, "typed": {} }, "items": [{ "id": "a" }] },
    });
    assert_eq!(object, kept);
}

#[test]
fn defaults_are_added_at_each_level() {
    let empty = json!({ "spec": { "size": 3 }, "status": { "observedGeneration": -1 } });
    assert_eq!(filled(json!({})), empty);
    assert_eq!(filled(json!({ "spec": null })), empty, "null counts as missing");
    let sent = json!({ "spec": { "size": null, "note": null, "mode": null, "items": [{ "id": "a" }] }, "status": {} });
    let expected = json!({ "spec": { "size": 3, "note": null, "items": [{ "id": "a", "level": 1 }] }, "status": {} });
    assert_eq!(filled(sent), expected, "null stays where it is allowed");
}

#[test]
fn each_rule_of_the_schema_is_checked() {
    let cases = [
        (
            json!({ "size": 0 }),
            FieldError::invalid("spec.size", &json!(0), "spec.size in body should be greater than or equal to 1"),
        ),
        (
            json!({ "size": 8 }),
            FieldError::invalid("spec.size", &json!(8), "spec.size in body should be less than or equal to 7"),
        ),
        (json!({}), FieldError::required("spec.size", "")),
        (
            json!({ "size": "3" }),
            FieldError::type_invalid(
                "spec.size",
                &json!("string"),
                "spec.size in body must be of type integer: \"string\"",
            ),
        ),
        (
            json!({ "size": 1, "mode": "C" }),
            FieldError::not_supported("spec.mode", &json!("C"), &[json!("A"), json!("B")]),
        ),
        (
            json!({ "size": 1, "name": "" }),
            FieldError::invalid("spec.name", &json!(""), "spec.name in body should be at least 1 chars long"),
        ),
        (json!({ "size": 1, "name": "äöüß" }), FieldError::too_long("spec.name", 3)),
        (
            json!({ "size": 1, "port": true }),
            FieldError::type_invalid(
                "spec.port",
                &json!("boolean"),
                "spec.port in body must be of type integer,string: \"boolean\"",
            ),
        ),
        (json!({ "size": 1, "labels": { "a": "", "b": "" } }), FieldError::too_many("spec.labels", 2, 1)),
        (
            json!({ "size": 1, "items": [{ "id": "a" }, { "id": "a", "level": 2 }] }),
            FieldError::duplicate("spec.items[1]", &json!({ "id": "a" })),
        ),
        (json!({ "size": 1, "items": [{}] }), FieldError::required("spec.items[0].id", "")),
    ];
    for (spec, error) in cases {
        assert_eq!(errors(None, &json!({ "spec": spec })), [error], "{spec}");
    }
    let valid = json!({
        "metadata": 7, "spec": { "size": 7, "name": "äöü", "note": null, "port": "a", "items": [{ "id": "a" }] },
        "status": { "at": "2026-11-25T10:00:00Z" },
    });
    assert_eq!(errors(None, &valid), []);
    let late = json!({ "spec": { "size": 1 }, "status": { "at": "yesterday" } });
    let detail = "status.at in body must be of type date-time: \"yesterday\"";
    assert_eq!(errors(None, &late), [FieldError::type_invalid("status.at", &json!("yesterday"), detail)]);
}

#[test]
fn what_was_invalid_before_may_stay() {
    let before = json!({ "spec": { "size": 9, "items": [{ "id": "a", "level": 0 }, { "id": "b" }] } });
    let mut after = json!({ "spec": { "size": 9, "mode": "A", "items": [{ "id": "b" }, { "id": "a", "level": 0 }] } });
    assert_eq!(errors(Some(&before), &after), []);
    after["spec"]["size"] = json!(10);
    assert_eq!(errors(Some(&before), &after).len(), 1);
}

#[test]
fn an_unknown_keyword_is_reported() {
    let schema = json!({ "type": "object", "properties": { "a": { "oneOf": [] } } });
    assert_eq!(validation::problems(&schema, None, &json!({ "a": 1 })).unmodelled, Some("oneOf"));
    assert_eq!(validation::problems(&schema, None, &json!({})).unmodelled, None);
}

#[test]
fn the_schemas_of_this_project_use_no_unknown_keyword() {
    let wrong =
        ["allOf", "anyOf", "multipleOf", "not", "oneOf", "$ref", "uniqueItems", "x-kubernetes-embedded-resource"];
    for crd in api::crds() {
        for version in &crd.spec.versions {
            let schema = version.schema.as_ref().and_then(|schema| schema.open_api_v3_schema.as_ref());
            let text = json!(schema).to_string();
            let used: Vec<_> = wrong.iter().filter(|keyword| text.contains(&format!("\"{keyword}\":"))).collect();
            assert_eq!(used, Vec::<&&str>::new(), "{:?}", crd.metadata.name);
        }
    }
}
