//! Pure: a hash of the owned part of an object. It ignores what the API server drops or normalizes.

use std::hash::{DefaultHasher, Hash, Hasher};

use serde_json::{Map, Value};

use super::selector::NamedItems;
use crate::quantity;

/// The hash of the owned part of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Fingerprint(u64);

/// Fields of metadata that an apply never owns.
const UNOWNED_META: [&str; 8] = [
    "name",
    "namespace",
    "uid",
    "resourceVersion",
    "generation",
    "creationTimestamp",
    "managedFields",
    "deletionTimestamp",
];

impl Fingerprint {
    /// The fingerprint of an object as we would send it.
    #[must_use]
    pub fn of_rendered(body: &Value) -> Self {
        let mut part = body.clone();
        if let Some(object) = part.as_object_mut() {
            object.remove("apiVersion");
            object.remove("kind");
            if let Some(meta) = object.get_mut("metadata").and_then(Value::as_object_mut) {
                UNOWNED_META.iter().for_each(|key| drop(meta.remove(*key)));
            }
        }
        Self::of(part)
    }

    /// The fingerprint of an object of which we own nothing.
    #[must_use]
    pub fn of_nothing() -> Self {
        Self::of(Value::Null)
    }

    /// The fingerprint of the part of a live object that `owned` (a FieldsV1) names.
    #[must_use]
    pub fn of_owned(live: &Value, owned: &Value) -> Self {
        Self::of(part(live, owned))
    }

    pub(super) fn of(mut part: Value) -> Self {
        normalize(&mut part, false);
        let mut hasher = DefaultHasher::new();
        feed(&part, &mut hasher);
        Self(hasher.finish())
    }
}

/// The part of `live` that `owned` names; an empty set names all of it.
pub(super) fn part(live: &Value, owned: &Value) -> Value {
    let Some(owned) = owned.as_object().filter(|o| !o.is_empty()) else { return live.clone() };
    match live {
        Value::Object(fields) => Value::Object(object_part(fields, owned)),
        Value::Array(items) => Value::Array(list_part(items, owned)),
        scalar => scalar.clone(),
    }
}

fn object_part(fields: &Map<String, Value>, owned: &Map<String, Value>) -> Map<String, Value> {
    owned
        .iter()
        .filter_map(|(path, below)| {
            let name = path.strip_prefix("f:")?;
            Some((name.to_owned(), part(fields.get(name)?, below)))
        })
        .collect()
}

fn list_part(items: &[Value], owned: &Map<String, Value>) -> Vec<Value> {
    let named = NamedItems::by(owned);
    items.iter().filter_map(|item| named.of(item).map(|below| part(item, below))).collect()
}

/// Fields that are maps of strings.
const MAPS: [&str; 7] = ["data", "labels", "annotations", "matchLabels", "nodeSelector", "volumeAttributes", "options"];

/// Fields whose empty value has a meaning: an empty selector selects everything, and an empty storage class means none, not the
/// default one.
const MEANINGFUL_EMPTY: [&str; 3] = ["labelSelector", "namespaceSelector", "storageClassName"];

/// Below these fields, text that parses as a quantity is one. (`target` is that of an autoscaler's metric.)
const QUANTITIES: [&str; 4] = ["requests", "limits", "sizeLimit", "target"];

/// Removes what the API server does not store (null, empty strings, maps and lists, and `paused: false`), and writes quantities
/// in one form.
fn normalize(value: &mut Value, quantities: bool) {
    match value {
        Value::Object(fields) => {
            for (key, field) in fields.iter_mut() {
                match field {
                    // Entries are kept even if they are empty.
                    Value::Object(entries) if MAPS.contains(&&**key) => entries.retain(|_, entry| !entry.is_null()),
                    _ => normalize(field, quantities || QUANTITIES.contains(&&**key)),
                }
            }
            let is_unpaused = |key: &str, field: &Value| key == "paused" && *field == false;
            let has_meaning = |key: &str, field: &Value| MEANINGFUL_EMPTY.contains(&key) && !field.is_null();
            fields.retain(|key, field| (!is_empty(field) || has_meaning(key, field)) && !is_unpaused(key, field));
        }
        Value::Array(items) => items.iter_mut().for_each(|item| normalize(item, quantities)),
        Value::String(text) if quantities => {
            if let Some(canonical) = quantity::canonical(text) {
                *text = canonical;
            }
        }
        Value::Number(number) if quantities => *value = Value::String(number.to_string()),
        _ => {}
    }
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        _ => false,
    }
}

fn feed(value: &Value, hasher: &mut impl Hasher) {
    std::mem::discriminant(value).hash(hasher);
    match value {
        Value::Null => {}
        Value::Bool(flag) => flag.hash(hasher),
        Value::Number(number) => number.hash(hasher),
        Value::String(text) => text.hash(hasher),
        Value::Array(items) => {
            items.len().hash(hasher);
            items.iter().for_each(|item| feed(item, hasher));
        }
        Value::Object(fields) => {
            fields.len().hash(hasher);
            for (key, field) in fields {
                key.hash(hasher);
                feed(field, hasher);
            }
        }
    }
}
