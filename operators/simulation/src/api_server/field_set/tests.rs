use serde_json::{Value, json};

use super::*;

fn field(name: &str) -> PathElement {
    PathElement::Field(name.to_owned())
}

fn key(fields: &[(&str, Value)]) -> PathElement {
    PathElement::Key(fields.iter().map(|(name, value)| ((*name).to_owned(), Scalar::of(value))).collect())
}

fn set(paths: &[&[PathElement]]) -> FieldSet {
    let mut set = FieldSet::default();
    for path in paths {
        set.insert(path);
    }
    set
}

#[test]
fn a_set_is_encoded_as_fields_v1_and_decoded_again() {
    let port = key(&[("port", json!(80)), ("protocol", json!("TCP"))]);
    let fields = set(&[
        &[field("metadata"), field("finalizers"), PathElement::Value(Scalar::Text("x".to_owned()))],
        &[field("spec"), field("ports"), port.clone()],
        &[field("spec"), field("ports"), port, field("name")],
        &[field("spec"), field("type")],
    ]);
    let encoded = json!({
        "f:metadata": { "f:finalizers": { "v:\"x\"": {} } },
        "f:spec": {
            "f:ports": { "k:{\"port\":80,\"protocol\":\"TCP\"}": { ".": {}, "f:name": {} } },
            "f:type": {}
        }
    });
    assert_eq!(fields.to_value(), encoded);
    assert_eq!(FieldSet::from_value(&encoded), Some(fields));
}

#[test]
fn malformed_fields_are_refused() {
    for fields in [json!({ "spec": {} }), json!({ "k:[]": {} }), json!({ "f:spec": 1 }), json!(null)] {
        assert_eq!(FieldSet::from_value(&fields), None, "{fields}");
    }
}

#[test]
fn paths_are_written_as_in_conflicts() {
    let port = key(&[("port", json!(80)), ("protocol", json!("TCP"))]);
    assert_eq!(
        display(&[field("spec"), field("ports"), port, field("name")]),
        r#".spec.ports[port=80,protocol="TCP"].name"#
    );
    assert_eq!(display(&[field("f"), PathElement::Value(Scalar::Text("x".to_owned()))]), r#".f[="x"]"#);
}

#[test]
fn a_member_and_the_paths_below_it_are_apart() {
    let [a, b, c] = ["a", "b", "c"].map(|name| [field(name)]);
    let below_a = [field("a"), field("b")];
    let one = set(&[&a, &below_a, &c]);
    let other = set(&[&a, &b]);
    assert_eq!(one.difference(&other), set(&[&below_a, &c]));
    assert_eq!(one.intersection(&other), set(&[&a]));
    assert_eq!(one.union(&other), set(&[&a, &below_a, &b, &c]));
    assert!(one.contains(&below_a) && !other.contains(&below_a));
    assert!(set(&[&below_a]).difference(&set(&[&below_a])).is_empty(), "no empty nodes stay");
}

#[test]
fn named_fields_join_their_children_but_keys_of_maps_do_not() {
    let types = crate::api_server::field_types::FieldTypes::of_built_in("configmaps");
    let fields = set(&[&[field("metadata"), field("labels"), field("a")]]);
    let named = set(&[
        &[field("metadata")],
        &[field("metadata"), field("labels")],
        &[field("metadata"), field("labels"), field("a")],
    ]);
    assert_eq!(fields.with_named_fields(types.root()), named);
}
