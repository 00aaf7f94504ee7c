//! Drops fields that the schema does not have.

use std::fmt;

use serde_json::Value;

use super::field_schema::{FieldSchema, is_set};

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
        let path = Path::Field(&Path::Root, "metadata");
        metadata.retain(|name, _| is_known(METADATA.contains(&name.as_str()), &Path::Field(&path, name), &mut unknown));
    }
    fields.retain(|name, field| {
        let path = Path::Field(&Path::Root, name);
        OF_ALL.contains(&name.as_str()) || prune_field(Some(schema), name, field, &path, &mut unknown)
    });
    unknown.sort();
    unknown
}

/// Where a field is. It becomes a text only if the field is unknown.
enum Path<'a> {
    Root,
    Field(&'a Path<'a>, &'a str),
    Item(&'a Path<'a>, usize),
}

impl fmt::Display for Path<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Root => Ok(()),
            Self::Field(Self::Root, name) => out.write_str(name),
            Self::Field(path, name) => write!(out, "{path}.{name}"),
            Self::Item(path, at) => write!(out, "{path}[{at}]"),
        }
    }
}

fn is_known(known: bool, path: &Path<'_>, unknown: &mut Vec<String>) -> bool {
    if !known {
        unknown.push(path.to_string());
    }
    known
}

/// Prunes below a field, and returns whether it stays itself.
fn prune_field(
    schema: Option<&Value>,
    name: &str,
    field: &mut Value,
    path: &Path<'_>,
    unknown: &mut Vec<String>,
) -> bool {
    match schema.map_or(FieldSchema::Unknown, |schema| FieldSchema::of(schema, name)) {
        FieldSchema::Known(within) => prune_below(Some(within), field, path, unknown),
        FieldSchema::Any => prune_below(None, field, path, unknown),
        FieldSchema::Unknown => return is_known(keeps_all(schema), path, unknown),
    }
    true
}

fn prune_below(schema: Option<&Value>, value: &mut Value, path: &Path<'_>, unknown: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            fields.retain(|name, field| prune_field(schema, name, field, &Path::Field(path, name), unknown));
        }
        Value::Array(items) => {
            let within = schema.and_then(|schema| schema.get("items"));
            if within.is_none() && keeps_all(schema) {
                return;
            }
            for (at, item) in items.iter_mut().enumerate() {
                prune_below(within, item, &Path::Item(path, at), unknown);
            }
        }
        _ => {}
    }
}

fn keeps_all(schema: Option<&Value>) -> bool {
    schema.is_some_and(|schema| is_set(schema, "x-kubernetes-preserve-unknown-fields"))
}
