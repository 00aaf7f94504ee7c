//! The types of a custom kind: a port of `schemaconv.ToSchemaFromOpenAPI` of kube-openapi.

use std::collections::BTreeMap;

use serde_json::Value;

use super::built_in::object_meta;
use super::field_type::{FieldType, ListKey, ListType};

/// The type of an object. Its metadata is that of all kinds, whatever the schema says.
pub(super) fn root(schema: &Value) -> FieldType {
    let mut root = parse(schema, false);
    if let FieldType::Map { fields, .. } = &mut root {
        fields.insert("apiVersion".to_owned(), FieldType::Plain);
        fields.insert("kind".to_owned(), FieldType::Plain);
        fields.insert("metadata".to_owned(), object_meta());
    }
    root
}

/// `preserve` if a schema above keeps unknown fields.
fn parse(schema: &Value, preserve: bool) -> FieldType {
    let preserve = preserve || schema["x-kubernetes-preserve-unknown-fields"] == true;
    match schema["type"].as_str() {
        Some("object") => map(schema, preserve),
        Some("array") => list(schema, preserve),
        Some(_) => FieldType::Plain,
        None if schema["x-kubernetes-int-or-string"] == true => FieldType::Plain,
        None => map(schema, preserve),
    }
}

fn map(schema: &Value, preserve: bool) -> FieldType {
    if schema["x-kubernetes-map-type"] == "atomic" {
        return FieldType::Atomic;
    }
    let properties = schema["properties"].as_object();
    let fields: BTreeMap<_, _> =
        properties.into_iter().flatten().map(|(name, schema)| (name.clone(), parse(schema, preserve))).collect();
    let others = match &schema["additionalProperties"] {
        Value::Null => (preserve || fields.is_empty()).then_some(FieldType::Untyped),
        Value::Bool(allowed) => allowed.then_some(FieldType::Untyped),
        values => Some(parse(values, preserve)),
    };
    FieldType::Map { fields, others: others.map(Box::new) }
}

fn list(schema: &Value, preserve: bool) -> FieldType {
    let items = &schema["items"];
    let list = match schema["x-kubernetes-list-type"].as_str() {
        Some("set") => ListType::Set,
        Some("map") => ListType::Map(keys(schema, items)),
        _ => return FieldType::Atomic,
    };
    FieldType::List { list, items: Box::new(parse(items, preserve)) }
}

fn keys(schema: &Value, items: &Value) -> Vec<ListKey> {
    let names = schema["x-kubernetes-list-map-keys"].as_array().map(Vec::as_slice).unwrap_or_default();
    let key = |name: &str| ListKey {
        name: name.to_owned(),
        default: items.pointer(&format!("/properties/{name}/default")).cloned(),
    };
    names.iter().filter_map(Value::as_str).map(key).collect()
}
