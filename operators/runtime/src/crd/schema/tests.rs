use serde_json::json;

use super::*;

const SAMPLE: Kind = Kind { group: "example.com", version: "v1alpha1", kind: "Sample", plural: "samples" };

fn needed() -> Needed {
    Needed::of(&SAMPLE, api::FIELDS).expect("it is one of ours")
}

/// What an API server publishes of a CRD of Samples with that schema.
fn published(schema: &Value, paths: &[&str]) -> Document {
    let mut schema = schema.clone();
    schema["x-kubernetes-group-version-kind"] =
        json!([{ "group": "example.com", "version": "v1alpha1", "kind": "Sample" }]);
    schema["properties"]["metadata"] =
        json!({ "allOf": [{ "$ref": "#/components/schemas/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta" }] });
    let paths: BTreeMap<String, Value> =
        paths.iter().map(|path| (format!("/apis/example.com/v1alpha1/{path}"), json!({ "get": {} }))).collect();
    let other = json!({ "type": "object", "properties": { "kind": { "type": "string" } } });
    let document = json!({ "openapi": "3.0.0", "paths": paths, "components": { "schemas": {
        "com.example.v1alpha1.Other": other, "com.example.v1alpha1.Sample": schema } } });
    serde_json::from_value(document).unwrap()
}

const PATHS: [&str; 4] = [
    "samples",
    "namespaces/{namespace}/samples",
    "namespaces/{namespace}/samples/{name}",
    "namespaces/{namespace}/samples/{name}/status",
];

/// The fields of ours.
fn ours() -> Value {
    let line = api::FIELDS.lines().find(|line| line.contains("\"kind\":\"Sample\"")).unwrap();
    serde_json::from_str::<Value>(line).unwrap()["schema"].take()
}

fn told(schema: &Value, paths: &[&str]) -> String {
    let lacks = lacks(Some(&published(schema, paths)), &SAMPLE, &needed());
    if lacks.is_empty() { String::new() } else { sentence(&SAMPLE, &lacks) }
}

#[test]
fn ours_lacks_nothing_and_neither_does_a_newer_one() {
    assert_eq!(told(&ours(), &PATHS), "");
    let mut newer = ours();
    newer["properties"]["spec"] = json!({ "type": "object" });
    newer["properties"]["testString"]["maxLength"] = json!(9);
    assert_eq!(told(&newer, &PATHS), "");
}

#[test]
fn what_keeps_every_field_lacks_none() {
    let open = json!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true, "properties": {} });
    assert_eq!(told(&open, &PATHS), "");
    let mut below = open.clone();
    below["properties"]["status"] = json!({ "type": "object", "properties": {} });
    assert_eq!(
        told(&below, &PATHS),
        "the CRD samples.example.com is not the one that this manager needs: it has no .status.conditions, \
         .status.managedBy, .status.observedGeneration; apply kustomize/crds of this manager's version"
    );
}

#[test]
fn the_minimal_one_has_no_status_and_its_string_elsewhere() {
    let minimal = json!({ "type": "object", "properties": {
        "spec": { "type": "object", "properties": { "testString": { "type": "string" } } } } });
    assert_eq!(
        told(&minimal, &PATHS[..3]),
        "the CRD samples.example.com is not the one that this manager needs: it has no subresource status, so that no \
         status can be written, it has no .status, .testString; apply kustomize/crds of this manager's version"
    );
}

#[test]
fn another_version_another_scope_and_other_types_are_told() {
    assert_eq!(lacks(None, &SAMPLE, &needed()), [Lack::Version("v1alpha1")]);
    let others = published(&json!({ "type": "object" }), &["others"]);
    assert_eq!(lacks(Some(&others), &SAMPLE, &needed()), [Lack::Version("v1alpha1")]);
    let of_cluster = published(&ours(), &["samples", "samples/{name}", "samples/{name}/status"]);
    assert_eq!(lacks(Some(&of_cluster), &SAMPLE, &needed()), [Lack::Namespaces]);
    let mut other = ours();
    other["properties"]["status"]["properties"]["conditions"]["items"]["properties"]["reason"] =
        json!({ "type": "integer" });
    let words = told(&other, &PATHS);
    assert!(words.contains(": .status.conditions[].reason is of type integer instead of string; apply"), "{words}");
}

#[test]
fn few_of_many_missing_fields_are_named() {
    let field = |name: &str| Lack::Field(vec![Step::Field("spec".into()), Step::Field(name.into())]);
    let words = sentence(&SAMPLE, &["g", "f", "e", "d", "c", "b", "a"].map(field));
    assert!(words.contains("it has no .spec.a, .spec.b, .spec.c, .spec.d, .spec.e and 2 more; "), "{words}");
}

#[test]
fn what_it_can_hold_is_left_of_an_object() {
    let mut object = json!({ "metadata": { "name": "a" }, "status": { "a": 1, "b": 2, "list": [{ "c": 3, "d": 4 }],
        "map": { "x": { "e": 5, "f": 6 } } } });
    let path = |steps: &[Step]| Lack::Field([&[Step::Field("status".into())], steps].concat());
    let name = |name: &str| Step::Field(name.into());
    let lacks = [
        Lack::Status,
        path(&[name("b")]),
        path(&[name("list"), Step::Items, name("d")]),
        path(&[name("map"), Step::Values, name("f")]),
        path(&[name("absent"), name("g")]),
    ];
    hold(&mut object, &lacks);
    let held =
        json!({ "metadata": { "name": "a" }, "status": { "a": 1, "list": [{ "c": 3 }], "map": { "x": { "e": 5 } } } });
    assert_eq!(object, held);
}

#[test]
fn every_kind_of_ours_lacks_nothing_of_itself() {
    for line in api::FIELDS.lines() {
        let (one, other): (Needed, Needed) = (serde_json::from_str(line).unwrap(), serde_json::from_str(line).unwrap());
        let mut lacks = Vec::new();
        compare(&one.schema, &other.schema, &mut Vec::new(), &mut lacks);
        assert_eq!(lacks, [], "{line}");
    }
}
