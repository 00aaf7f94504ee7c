//! An object without some of its fields: a port of `TypedValue.RemoveItems` of structured-merge-diff.

use serde_json::{Map, Value};

use super::items::element;
use crate::api_server::field_set::{FieldSet, PathElement};
use crate::api_server::field_types::{FieldType, ListType, Shape};

/// The value without these fields and items, each with all below it. A list or map that becomes empty becomes null, which is not
/// stored in the end (as in 1.33 to 1.36, but for 1.36.0 and 1.36.1, in which it stays empty).
pub(super) fn remove(types: &FieldType, value: &Value, fields: &FieldSet) -> Value {
    match types.shape(Some(value)) {
        Some(Shape::Map(types)) => value.as_object().map_or(Value::Null, |map| remove_of_map(types, map, fields)),
        Some(Shape::List(list, items)) => {
            value.as_array().map_or(Value::Null, |found| remove_of_list(list, items, found, fields))
        }
        // Nothing within an atomic list or map is owned on its own.
        Some(Shape::Leaf) | None if value.is_array() || value.is_object() => Value::Null,
        Some(Shape::Leaf) | None => value.clone(),
    }
}

/// The value at a path, if the path itself stays.
fn remove_below(types: &FieldType, value: &Value, element: &PathElement, fields: &FieldSet) -> Option<Value> {
    if fields.contains(std::slice::from_ref(element)) {
        return None;
    }
    Some(fields.below(element).map_or_else(|| value.clone(), |fields| remove(types, value, fields)))
}

fn remove_of_map(types: &FieldType, map: &Map<String, Value>, fields: &FieldSet) -> Value {
    let kept = map.iter().filter_map(|(name, value)| {
        let value = remove_below(types.field(name), value, &PathElement::Field(name.clone()), fields)?;
        Some((name.clone(), value))
    });
    let kept: Map<String, Value> = kept.collect();
    if kept.is_empty() { Value::Null } else { Value::Object(kept) }
}

fn remove_of_list(list: &ListType, items: &FieldType, found: &[Value], fields: &FieldSet) -> Value {
    let kept = found.iter().enumerate().filter_map(|(index, item)| {
        let element = element(list, item, index);
        remove_below(items, item, &element, fields)
    });
    let kept: Vec<Value> = kept.collect();
    if kept.is_empty() { Value::Null } else { Value::Array(kept) }
}
