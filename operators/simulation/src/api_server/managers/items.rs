//! The items of lists that are not atomic, and the fields that an object has.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::api_server::field_set::{FieldSet, PathElement, display};
use crate::api_server::field_types::{FieldType, ListType, Shape};

/// The element of a path that means this item. Only an invalid item is known by its index.
pub(super) fn element(list: &ListType, item: &Value, index: usize) -> PathElement {
    list.element(item).unwrap_or(PathElement::Index(index))
}

/// The fields that an apply of this object owns: a port of `typed.ToFieldSet` of structured-merge-diff.
pub(super) fn fields_of(types: &FieldType, object: &Value) -> FieldSet {
    let mut set = FieldSet::default();
    collect(types, object, &mut Vec::new(), &mut set);
    set
}

fn collect(types: &FieldType, value: &Value, path: &mut Vec<PathElement>, set: &mut FieldSet) {
    match types.shape(Some(value)) {
        None | Some(Shape::Leaf) => set.insert(path),
        Some(Shape::Map(types)) => {
            for (name, value) in value.as_object().into_iter().flatten() {
                path.push(PathElement::Field(name.clone()));
                collect(types.field(name), value, path, set);
                let empty = value.as_object().is_some_and(serde_json::Map::is_empty);
                if empty || !types.names(name) {
                    set.insert(path);
                }
                path.pop();
            }
        }
        Some(Shape::List(list, items)) => {
            let mut by_element: BTreeMap<PathElement, Vec<&Value>> = BTreeMap::new();
            for (index, item) in value.as_array().into_iter().flatten().enumerate() {
                by_element.entry(element(list, item, index)).or_default().push(item);
            }
            for (element, found) in by_element {
                path.push(element);
                if let [item] = found.as_slice() {
                    collect(items, item, path, set);
                }
                set.insert(path);
                path.pop();
            }
        }
    }
}

/// Why an object cannot be applied: the error of `typed.AsTyped` about the first list that has an item twice, or an item
/// without its key. The real API server answers with it as `failed to create typed patch object (NAMESPACE/NAME; GROUP/VERSION,
/// Kind=KIND): ERROR` and code 500.
pub(super) fn error_of(types: &FieldType, value: &Value, path: &mut Vec<PathElement>) -> Option<String> {
    match types.shape(Some(value))? {
        Shape::Leaf => None,
        Shape::Map(types) => value.as_object()?.iter().find_map(|(name, value)| {
            path.push(PathElement::Field(name.clone()));
            let error = error_of(types.field(name), value, path);
            path.pop();
            error
        }),
        Shape::List(list, items) => {
            let mut seen = Vec::new();
            value.as_array()?.iter().enumerate().find_map(|(index, item)| {
                let element = match list.element(item) {
                    Ok(element) => element,
                    Err(error) => return Some(format!("{}: element {index}: {error}", display(path))),
                };
                if seen.contains(&element) {
                    return Some(format!("{}: duplicate entries for key {element}", display(path)));
                }
                seen.push(element.clone());
                path.push(element);
                let error = error_of(items, item, path);
                path.pop();
                error
            })
        }
    }
}
