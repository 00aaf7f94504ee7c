//! Drops fields that the schema does not have.

use serde_json::Value;

use super::field_schema::{FieldSchema, below, is_set};

/// The fields of each object that its own schema need not have.
const OF_ALL: [&str; 3] = ["apiVersion", "kind", "metadata"];

/// The fields of the metadata of each object.
const METADATA: [&str; 15] = [
    "annotations",
    "creationTimestamp",
    "deletionGracePeriodSeconds",
    "deletionTimestamp",
    "finalizers",
    "generateName",
    "generation",
    "labels",
    "managedFields",
    "name",
    "namespace",
    "ownerReferences",
    "resourceVersion",
    "selfLink",
    "uid",
];

/// Drops the unknown fields, and returns their paths in order.
pub(super) fn prune(schema: &Value, object: &mut Value) -> Vec<String> {
    let mut unknown = Vec::new();
    let Some(fields) = object.as_object_mut() else { return unknown };
    if let Some(metadata) = fields.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata
            .retain(|name, _| is_known(METADATA.contains(&name.as_str()), || below("metadata", name), &mut unknown));
    }
    fields.retain(|name, field| {
        OF_ALL.contains(&name.as_str()) || prune_field(Some(schema), name, field, name, &mut unknown)
    });
    unknown.sort();
    unknown
}

fn is_known(known: bool, path: impl FnOnce() -> String, unknown: &mut Vec<String>) -> bool {
    if !known {
        unknown.push(path());
    }
    known
}

/// Prunes below a field, and returns whether it stays itself.
fn prune_field(schema: Option<&Value>, name: &str, field: &mut Value, path: &str, unknown: &mut Vec<String>) -> bool {
    match schema.map_or(FieldSchema::Unknown, |schema| FieldSchema::of(schema, name)) {
        FieldSchema::Known(within) => prune_below(Some(within), field, path, unknown),
        FieldSchema::Any => prune_below(None, field, path, unknown),
        FieldSchema::Unknown => return is_known(keeps_all(schema), || path.to_owned(), unknown),
    }
    true
}

fn prune_below(schema: Option<&Value>, value: &mut Value, path: &str, unknown: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            fields.retain(|name, field| prune_field(schema, name, field, &below(path, name), unknown));
        }
        Value::Array(items) => {
            let within = schema.and_then(|schema| schema.get("items"));
            if within.is_none() && keeps_all(schema) {
                return;
            }
            for (at, item) in items.iter_mut().enumerate() {
                prune_below(within, item, &format!("{path}[{at}]"), unknown);
            }
        }
        _ => {}
    }
}

fn keeps_all(schema: Option<&Value>) -> bool {
    schema.is_some_and(|schema| is_set(schema, "x-kubernetes-preserve-unknown-fields"))
}
