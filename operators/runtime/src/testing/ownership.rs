//! Field ownership, coarser than the API server's: lists belong to a manager whole. And the paths that it is made of.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use serde_json::{Map, Value, json};

pub(super) type Path = Vec<String>;
pub(super) type Owned = BTreeSet<Path>;

/// The leaves of what an apply sends, without what it never owns.
pub(super) fn of(body: &Value) -> Owned {
    let mut owned = Owned::new();
    collect(body, &mut Vec::new(), &mut owned);
    let identity = |path: &Path| match path.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["apiVersion" | "kind"] => true,
        ["metadata", part] => matches!(part, "name" | "namespace" | "uid" | "generation" | "resourceVersion"),
        _ => false,
    };
    owned.retain(|path| !identity(path));
    owned
}

fn collect(value: &Value, path: &mut Path, owned: &mut Owned) {
    match value {
        // A selector belongs to a manager whole as well.
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

/// What a manager owns by a patch is kept under its name with this before it.
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

/// The same as the API server writes it.
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

/// What is at a path, if anything.
pub(super) fn at<'a>(value: &'a Value, path: &Path) -> Option<&'a Value> {
    path.iter().try_fold(value, |value, key| value.get(key))
}

/// Puts a leaf at a path, making what leads there.
pub(super) fn set(value: &mut Value, path: &Path, leaf: Value) {
    let mut place = value;
    for key in path {
        if !place.is_object() {
            *place = Value::Object(Map::new());
        }
        place = &mut place[key.as_str()];
    }
    *place = leaf;
}

/// Takes away what is at a path.
pub(super) fn remove(value: &mut Value, path: &Path) {
    let Some((last, parents)) = path.split_last() else { return };
    let parent = parents.iter().try_fold(value, |value, key| value.get_mut(key));
    if let Some(parent) = parent.and_then(Value::as_object_mut) {
        parent.remove(last);
    }
}
