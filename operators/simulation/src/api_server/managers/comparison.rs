//! What differs between two objects: a port of `typed.Compare` of structured-merge-diff.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::items::element;
use crate::api_server::field_set::{FieldSet, PathElement};
use crate::api_server::field_types::{FieldType, ListType, Shape};

/// The fields in which two objects differ. Each is in one of the sets.
#[derive(Debug, Default)]
pub(super) struct Comparison {
    pub(super) removed: FieldSet,
    pub(super) modified: FieldSet,
    pub(super) added: FieldSet,
}

/// Compares two objects of a type.
pub(super) fn compare(types: &FieldType, before: &Value, after: &Value) -> Comparison {
    let mut walk = Walk::default();
    walk.field(types, Some(before), Some(after));
    walk.found
}

#[derive(Default)]
struct Walk {
    path: Vec<PathElement>,
    found: Comparison,
}

impl Walk {
    fn field(&mut self, types: &FieldType, before: Option<&Value>, after: Option<&Value>) {
        // Most of an object stays as it is, and in equal values nothing differs.
        if before.is_some() && before == after {
            return;
        }
        let whole = match (types.shape(before), types.shape(after)) {
            (None, None) => self.leaf(before, after),
            (Some(shape), None) | (None, Some(shape)) => self.shape(shape, before, after),
            (Some(old), Some(new)) => {
                if !old.is_like(new) {
                    self.shape(old, before, after);
                }
                self.shape(new, before, after)
            }
        };
        match (whole, before, after) {
            (Whole::No, None, _) => self.found.added.insert(&self.path),
            (Whole::No, _, None) => self.found.removed.insert(&self.path),
            _ => {}
        }
    }

    fn below(&mut self, element: PathElement, types: &FieldType, before: Option<&Value>, after: Option<&Value>) {
        self.path.push(element);
        self.field(types, before, after);
        self.path.pop();
    }

    fn leaf(&mut self, before: Option<&Value>, after: Option<&Value>) -> Whole {
        match (before, after) {
            (None, _) => self.found.added.insert(&self.path),
            (_, None) => self.found.removed.insert(&self.path),
            (Some(before), Some(after)) if before != after => self.found.modified.insert(&self.path),
            _ => {}
        }
        Whole::Yes
    }

    /// An empty list or map is a leaf if the other one is empty too: so an empty one differs from none.
    fn shape(&mut self, shape: Shape<'_>, before: Option<&Value>, after: Option<&Value>) -> Whole {
        match shape {
            Shape::Leaf => self.leaf(before, after),
            Shape::List(list, items) => {
                let [old, new] = [before, after].map(array);
                if old.is_empty() && new.is_empty() {
                    return self.leaf(before, after);
                }
                self.list(list, items, old, new)
            }
            Shape::Map(types) => {
                let [old, new] = [before, after].map(|value| value.and_then(Value::as_object));
                if old.is_none_or(Map::is_empty) && new.is_none_or(Map::is_empty) {
                    return self.leaf(before, after);
                }
                self.map(types, old, new)
            }
        }
    }

    fn map(&mut self, types: &FieldType, old: Option<&Map<String, Value>>, new: Option<&Map<String, Value>>) -> Whole {
        for (name, before) in old.into_iter().flatten() {
            let after = new.and_then(|new| new.get(name));
            self.below(PathElement::Field(name.clone()), types.field(name), Some(before), after);
        }
        for (name, after) in new.into_iter().flatten() {
            if old.is_none_or(|old| !old.contains_key(name)) {
                self.below(PathElement::Field(name.clone()), types.field(name), None, Some(after));
            }
        }
        Whole::No
    }

    fn list(&mut self, list: &ListType, items: &FieldType, old: &[Value], new: &[Value]) -> Whole {
        let mut pairs: BTreeMap<PathElement, (Vec<&Value>, Vec<&Value>)> = BTreeMap::new();
        for (index, item) in old.iter().enumerate() {
            pairs.entry(element(list, item, index)).or_default().0.push(item);
        }
        for (index, item) in new.iter().enumerate() {
            pairs.entry(element(list, item, index)).or_default().1.push(item);
        }
        for (element, (old, new)) in pairs {
            self.item(element, items, &old, &new);
        }
        Whole::No
    }

    /// Items that a list has twice are owned together, as a whole.
    fn item(&mut self, element: PathElement, items: &FieldType, old: &[&Value], new: &[&Value]) {
        let mut path = self.path.clone();
        path.push(element.clone());
        match (old, new) {
            ([] | [_], [] | [_]) => self.below(element, items, old.first().copied(), new.first().copied()),
            ([_, _, ..], [_, _, ..]) => {
                if old != new {
                    self.found.modified.insert(&path);
                }
            }
            ([_, _, ..], _) => {
                if let Some(new) = new.first().copied() {
                    self.below(element, items, None, Some(new));
                }
                self.found.removed.insert(&path);
            }
            (_, [_, _, ..]) => {
                if let Some(old) = old.first().copied() {
                    self.below(element, items, Some(old), None);
                }
                self.found.added.insert(&path);
            }
        }
    }
}

/// Whether the path that was compared is owned as a whole.
#[derive(Clone, Copy)]
enum Whole {
    Yes,
    No,
}

fn array(value: Option<&Value>) -> &[Value] {
    value.and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}
