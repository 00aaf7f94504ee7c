//! Field ownership, coarser than that of the API server: a manager owns complete lists. And the paths of fields.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use serde_json::{Map, Value, json};

pub(super) type LeafPath = Vec<String>;
pub(super) type Owned = BTreeSet<LeafPath>;

/// The leaves that an apply sends, without those that it never owns.
pub(super) fn of(body: &Value) -> Owned {
    let mut owned = Owned::new();
    collect(body, &mut Vec::new(), &mut owned);
    let identity = |path: &LeafPath| match path.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["apiVersion" | "kind"] => true,
        ["metadata", part] => matches!(part, "name" | "namespace" | "uid" | "generation" | "resourceVersion"),
        _ => false,
    };
    owned.retain(|path| !identity(path));
    owned
}

fn collect(value: &Value, path: &mut LeafPath, owned: &mut Owned) {
    match value {
        // A selector is atomic as well.
        Value::Object(fields) if !fields.is_empty() && path.last().is_none_or(|last| last != "selector") => {
            for (key, field) in fields {
                path.push(key.clone());
                collect(field, path, owned);
                path.pop();
            }
        }
        _ => drop(owned.insert(path.clone())),
    }
}

/// The prefix of a manager for the fields that it owns through patches.
pub(super) const PATCHED: &str = "patched/";

/// `managedFields`, with the times at which managers last changed what they own.
pub(super) fn managed_fields(owned: &BTreeMap<String, Owned>, changed: &BTreeMap<String, Timestamp>) -> Value {
    let entry = |(manager, owned): (&String, &Owned)| {
        let time = changed.get(manager);
        let (manager, operation) = match manager.strip_prefix(PATCHED) {
            Some(manager) => (manager, "Update"),
            None => (&**manager, "Apply"),
        };
        json!({ "manager": manager, "operation": operation, "time": time, "fieldsV1": fields_v1(owned) })
    };
    owned.iter().filter(|(_, owned)| !owned.is_empty()).map(entry).collect()
}

/// The fields as a FieldsV1.
fn fields_v1(owned: &Owned) -> Value {
    let mut fields = Value::Object(Map::new());
    for path in owned {
        let mut place = &mut fields;
        for key in path {
            if !place.is_object() {
                *place = Value::Object(Map::new());
            }
            place = &mut place[format!("f:{key}").as_str()];
        }
        if place.is_null() {
            *place = Value::Object(Map::new());
        }
    }
    fields
}

/// The value at a path.
pub(super) fn at<'a>(value: &'a Value, path: &LeafPath) -> Option<&'a Value> {
    path.iter().try_fold(value, |value, key| value.get(key))
}

/// Sets a leaf at a path, and creates its parents.
pub(super) fn set(value: &mut Value, path: &LeafPath, leaf: Value) {
    let mut place = value;
    for key in path {
        if !place.is_object() {
            *place = Value::Object(Map::new());
        }
        place = &mut place[key.as_str()];
    }
    *place = leaf;
}

/// Removes the value at a path.
pub(super) fn remove(value: &mut Value, path: &LeafPath) {
    let Some((last, parents)) = path.split_last() else { return };
    let parent = parents.iter().try_fold(value, |value, key| value.get_mut(key));
    if let Some(parent) = parent.and_then(Value::as_object_mut) {
        parent.remove(last);
    }
}
