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
        let Value::Object(fields) = body else { return Self::of(body) };
        let sent = fields.iter().filter(|(name, _)| !matches!(&***name, "apiVersion" | "kind"));
        let content = object(sent.map(|(name, field)| match field {
            Value::Object(meta) if name == "metadata" => {
                let owned = meta.iter().filter(|(name, _)| !UNOWNED_META.contains(&&***name));
                let owned = object(owned.map(|(name, field)| (&**name, field_content(name, field, Form::Stored))));
                (&**name, Some(owned).filter(|owned| !owned.is_empty))
            }
            _ => (&**name, field_content(name, field, Form::Stored)),
        }));
        Self(content.hash)
    }

    /// The fingerprint of an object of which we own nothing.
    #[must_use]
    pub fn of_nothing() -> Self {
        Self::of(&Value::Null)
    }

    /// The fingerprint of the part of a live object that `owned` (a FieldsV1) names.
    #[must_use]
    pub fn of_owned(live: &Value, owned: &Value) -> Self {
        Self::of(&part(live, owned))
    }

    pub(super) fn of(part: &Value) -> Self {
        Self(content(part, Form::Stored).hash)
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

/// How a value is compared.
#[derive(Clone, Copy, PartialEq)]
enum Form {
    /// As the API server stores it: without null, empty text, maps and lists, and `paused: false`.
    Stored,
    /// In addition, numbers and text that are quantities are in their canonical form.
    Quantities,
    /// As it is, without null.
    Entry,
}

/// What a value contributes to the fingerprint of the value that holds it. Nothing is copied for it: each event of a child and
/// each plan computes fingerprints.
struct Content {
    hash: u64,
    is_empty: bool,
}

fn content(value: &Value, form: Form) -> Content {
    let text = |text: &str| Content { hash: hash_of((3_u8, text)), is_empty: text.is_empty() };
    match value {
        Value::Null => Content { hash: hash_of(0_u8), is_empty: true },
        Value::Bool(flag) => Content { hash: hash_of((1_u8, flag)), is_empty: false },
        Value::Number(number) if form == Form::Quantities => text(&number.to_string()),
        Value::Number(number) => Content { hash: hash_of((2_u8, number)), is_empty: false },
        Value::String(quantity) if form == Form::Quantities => {
            quantity::canonical(quantity).map_or_else(|| text(quantity), |canonical| text(&canonical))
        }
        Value::String(other) => text(other),
        Value::Array(items) => {
            let mut hasher = DefaultHasher::new();
            4_u8.hash(&mut hasher);
            items.iter().for_each(|item| content(item, form).hash.hash(&mut hasher));
            Content { hash: hasher.finish(), is_empty: items.is_empty() }
        }
        Value::Object(fields) => object(fields.iter().map(|(name, field)| (&**name, field_content(name, field, form)))),
    }
}

fn field_content(name: &str, field: &Value, form: Form) -> Option<Content> {
    if form == Form::Entry {
        return (!field.is_null()).then(|| content(field, form));
    }
    let below = match field {
        Value::Object(_) if MAPS.contains(&name) => Form::Entry,
        _ if QUANTITIES.contains(&name) => Form::Quantities,
        _ => form,
    };
    let is_unpaused = name == "paused" && *field == false;
    let has_meaning = MEANINGFUL_EMPTY.contains(&name) && !field.is_null();
    Some(content(field, below)).filter(|content| (!content.is_empty || has_meaning) && !is_unpaused)
}

/// The content of an object with these fields, of which some are not stored.
fn object<'f>(fields: impl Iterator<Item = (&'f str, Option<Content>)>) -> Content {
    let mut hasher = DefaultHasher::new();
    5_u8.hash(&mut hasher);
    let mut is_empty = true;
    for (name, content) in fields {
        let Some(content) = content else { continue };
        is_empty = false;
        name.hash(&mut hasher);
        content.hash.hash(&mut hasher);
    }
    Content { hash: hasher.finish(), is_empty }
}

fn hash_of(part: impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    part.hash(&mut hasher);
    hasher.finish()
}
