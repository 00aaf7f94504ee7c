use serde_json::json;

use super::*;

const SAMPLE: ResourceKind =
    ResourceKind { group: "example.com", version: "v1alpha1", kind: "Sample", plural: "samples" };

fn needed() -> Needed {
    Needed::of(&SAMPLE, api::FIELDS).expect("it is one of ours")
}

/// The OpenAPI document of a CRD of Samples with that schema.
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

/// The fields of our CRD.
fn ours() -> Value {
    let line = api::FIELDS.lines().find(|line| line.contains("\"kind\":\"Sample\"")).unwrap();
    serde_json::from_str::<Value>(line).unwrap()["schema"].take()
}

fn reported(schema: &Value, paths: &[&str]) -> String {
    let mismatches = mismatches(Some(&published(schema, paths)), &SAMPLE, &needed());
    if mismatches.is_empty() { String::new() } else { message(&SAMPLE, &mismatches) }
}

#[test]
fn our_crd_and_a_newer_one_match() {
    assert_eq!(reported(&ours(), &PATHS), "");
    let mut newer = ours();
    newer["properties"]["spec"] = json!({ "type": "object" });
    newer["properties"]["testString"]["maxLength"] = json!(9);
    assert_eq!(reported(&newer, &PATHS), "");
}

#[test]
fn a_crd_that_preserves_unknown_fields_matches() {
    let open = json!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true, "properties": {} });
    assert_eq!(reported(&open, &PATHS), "");
    let mut below = open.clone();
    below["properties"]["status"] = json!({ "type": "object", "properties": {} });
    assert_eq!(
        reported(&below, &PATHS),
        "the CRD samples.example.com is not the one that this manager needs: it has no .status.conditions, \
         .status.managedBy, .status.observedGeneration; apply kustomize/crds of this manager's version"
    );
}

#[test]
fn a_minimal_crd_has_no_status_and_its_string_elsewhere() {
    let minimal = json!({ "type": "object", "properties": {
        "spec": { "type": "object", "properties": { "testString": { "type": "string" } } } } });
    assert_eq!(
        reported(&minimal, &PATHS[..3]),
        "the CRD samples.example.com is not the one that this manager needs: it has no subresource status, so that no \
         status can be written, it has no .status, .testString; apply kustomize/crds of this manager's version"
    );
}

#[test]
fn another_version_another_scope_and_other_types_are_mismatches() {
    assert_eq!(mismatches(None, &SAMPLE, &needed()), [CrdMismatch::Version("v1alpha1")]);
    let others = published(&json!({ "type": "object" }), &["others"]);
    assert_eq!(mismatches(Some(&others), &SAMPLE, &needed()), [CrdMismatch::Version("v1alpha1")]);
    let of_cluster = published(&ours(), &["samples", "samples/{name}", "samples/{name}/status"]);
    assert_eq!(mismatches(Some(&of_cluster), &SAMPLE, &needed()), [CrdMismatch::NotNamespaced]);
    let mut other = ours();
    other["properties"]["status"]["properties"]["conditions"]["items"]["properties"]["reason"] =
        json!({ "type": "integer" });
    let text = reported(&other, &PATHS);
    assert!(text.contains(": .status.conditions[].reason is of type integer instead of string; apply"), "{text}");
}

#[test]
fn few_of_many_missing_fields_are_named() {
    let field = |name: &str| CrdMismatch::Field(vec![PathStep::Field("spec".into()), PathStep::Field(name.into())]);
    let text = message(&SAMPLE, &["g", "f", "e", "d", "c", "b", "a"].map(field));
    assert!(text.contains("it has no .spec.a, .spec.b, .spec.c, .spec.d, .spec.e and 2 more; "), "{text}");
}

#[test]
fn only_known_fields_are_retained() {
    let mut object = json!({ "metadata": { "name": "a" }, "status": { "a": 1, "b": 2, "list": [{ "c": 3, "d": 4 }],
        "map": { "x": { "e": 5, "f": 6 } } } });
    let path = |steps: &[PathStep]| CrdMismatch::Field([&[PathStep::Field("status".into())], steps].concat());
    let name = |name: &str| PathStep::Field(name.into());
    let mismatches = [
        CrdMismatch::Status,
        path(&[name("b")]),
        path(&[name("list"), PathStep::Items, name("d")]),
        path(&[name("map"), PathStep::Values, name("f")]),
        path(&[name("absent"), name("g")]),
    ];
    retain_known_fields(&mut object, &mismatches);
    let held =
        json!({ "metadata": { "name": "a" }, "status": { "a": 1, "list": [{ "c": 3 }], "map": { "x": { "e": 5 } } } });
    assert_eq!(object, held);
}

#[test]
fn each_of_our_kinds_matches_itself() {
    for line in api::FIELDS.lines() {
        let (one, other): (Needed, Needed) = (serde_json::from_str(line).unwrap(), serde_json::from_str(line).unwrap());
        let mut mismatches = Vec::new();
        compare(&one.schema, &other.schema, &mut Vec::new(), &mut mismatches);
        assert_eq!(mismatches, [], "{line}");
    }
}
