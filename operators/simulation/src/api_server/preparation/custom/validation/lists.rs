//! Checks of lists and maps: their size, and that the keys of a list are unique.

use serde_json::{Map, Value};

use super::scalars::bound;
use crate::api_server::preparation::field_error::FieldError;

/// The errors of a count that is out of bounds; `of` names what is counted.
pub(super) fn count_errors(
    schema: &Value,
    count: usize,
    [least, most]: [&str; 2],
    path: &str,
    of: &str,
) -> Vec<FieldError> {
    let mut errors = Vec::new();
    if let Some(least) = bound(schema, least).filter(|least| count < *least) {
        let detail = format!("{path} in body should have at least {least} {of}");
        errors.push(FieldError::invalid(path, &count.into(), &detail));
    }
    if let Some(most) = bound(schema, most).filter(|most| count > *most) {
        errors.push(FieldError::too_many(path, count, u64::try_from(most).unwrap_or(u64::MAX)));
    }
    errors
}

/// The errors of items that occur twice in a list whose items have keys.
pub(super) fn duplicates(schema: &Value, items: &[Value], path: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let mut seen: Vec<Value> = Vec::new();
    for (at, item) in items.iter().enumerate() {
        let Some(key) = key(schema, item) else { return errors };
        if seen.contains(&key) {
            errors.push(FieldError::duplicate(format!("{path}[{at}]"), &key));
        } else {
            seen.push(key);
        }
    }
    errors
}

/// The item of the earlier list with the same key; `None` if the items have no keys.
pub(super) fn counterpart<'a>(schema: &Value, before: &'a [Value], item: &Value) -> Option<&'a Value> {
    let wanted = key(schema, item)?;
    before.iter().find(|item| key(schema, item).as_ref() == Some(&wanted))
}

/// What identifies an item: itself in a set, some of its fields in a list of the type `map`.
fn key(schema: &Value, item: &Value) -> Option<Value> {
    match schema.get("x-kubernetes-list-type").and_then(Value::as_str)? {
        "set" => Some(item.clone()),
        "map" => {
            let names = schema.get("x-kubernetes-list-map-keys").and_then(Value::as_array)?;
            let field = |name: &str| item.get(name).map(|value| (name.to_owned(), value.clone()));
            let fields: Map<String, Value> = names.iter().filter_map(Value::as_str).filter_map(field).collect();
            Some(Value::Object(fields))
        }
        _ => None,
    }
}
