//! What an apply removes: fields and items that the manager applied last time, applies no more, and that no other manager owns.
//! A port of `Updater.prune` of structured-merge-diff.

use serde_json::Value;

use super::items::fields_of;
use super::removal::remove;
use crate::api_server::field_set::FieldSet;
use crate::api_server::field_types::{FieldType, FieldTypes};

/// The merged object without what the apply removes. `last` is what the manager applied last time, `now` what it applies,
/// `owned` what all managers own, this one included.
pub(super) fn prune(types: &FieldType, merged: &Value, last: &FieldSet, now: &FieldSet, owned: &FieldSet) -> Value {
    // What is applied stays, with all that it is in.
    if last.difference(now).is_empty() {
        return merged.clone();
    }
    let last = last.with_named_fields(types);
    let present = fields_of(types, merged).with_named_fields(types);
    let without_last = fields_of(types, &remove(types, merged, &last)).with_named_fields(types);

    // Back comes what is owned.
    let owned = without_last.union(&owned.with_named_fields(types));
    let without_unowned = remove(types, merged, &present.difference(&owned));

    // Back comes what the manager never owned. It went with the item that it is in, which has come back since.
    let kept = fields_of(types, &without_unowned).with_named_fields(types);
    remove(types, merged, &present.difference(&kept).intersection(&last))
}

/// Writes an object as the API server would: a Go struct has no null, and no empty map or list. Of a custom kind, only the
/// metadata is a Go struct; elsewhere, a list or map that the schema describes is not null (it is taken not to be nullable).
pub(super) fn tidy(types: &FieldTypes, object: &mut Value) {
    if types.is_built_in() {
        return retain(types.root(), object, &is_written_of_struct);
    }
    retain(types.root(), object, &|types: &FieldType, value: &Value| {
        !value.is_null() || !matches!(types, FieldType::Map { .. } | FieldType::List { .. } | FieldType::Atomic)
    });
    if let Some(metadata) = object.get_mut("metadata") {
        retain(types.root().field("metadata"), metadata, &is_written_of_struct);
    }
}

/// Removes the fields that are not written, the deepest first.
fn retain(types: &FieldType, value: &mut Value, is_written: &dyn Fn(&FieldType, &Value) -> bool) {
    match value {
        Value::Object(map) => {
            for (name, value) in map.iter_mut() {
                retain(types.field(name), value, is_written);
            }
            map.retain(|name, value| is_written(types.field(name), value));
        }
        Value::Array(items) => {
            for item in items {
                retain(types.items(), item, is_written);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// An empty struct is written, an empty map or list is not.
fn is_written_of_struct(types: &FieldType, value: &Value) -> bool {
    match (types, value) {
        (_, Value::Null) => false,
        (FieldType::List { .. }, Value::Array(items)) => !items.is_empty(),
        (FieldType::Map { others: Some(_), .. }, Value::Object(map)) => !map.is_empty(),
        _ => true,
    }
}
