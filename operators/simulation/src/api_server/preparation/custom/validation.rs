//! Checks an object against a schema.

use serde_json::Value;

use super::field_schema::{FieldSchema, below, is_set};
use crate::api_server::preparation::field_error::FieldError;
use crate::api_server::preparation::values::Fields;

mod lists;
mod scalars;

/// Keywords whose meaning is not modelled here. `pattern` and `x-kubernetes-validations` are: they are not checked.
const UNMODELLED: [&str; 9] = [
    "$ref",
    "allOf",
    "anyOf",
    "multipleOf",
    "not",
    "oneOf",
    "patternProperties",
    "uniqueItems",
    "x-kubernetes-embedded-resource",
];

/// What is wrong with an object.
#[derive(Default)]
pub(super) struct Found {
    /// Its invalid fields.
    pub(super) errors: Vec<FieldError>,
    /// A keyword of its schema that is not modelled.
    pub(super) unmodelled: Option<&'static str>,
}

/// Checks an object. Nothing is wrong with a part that is equal in `before`.
pub(super) fn problems(schema: &Value, before: Option<&Value>, object: &Value) -> Found {
    let mut found = Found::default();
    found.check(schema, before, object, "");
    found
}

impl Found {
    fn check(&mut self, schema: &Value, before: Option<&Value>, value: &Value, path: &str) {
        let keyword = |keyword: &&&str| schema.get(**keyword).is_some_and(|set| *set != Value::Bool(false));
        if let Some(keyword) = UNMODELLED.iter().find(keyword) {
            self.unmodelled = Some(*keyword);
        }
        if before == Some(value) || value.is_null() && is_set(schema, "nullable") {
            return;
        }
        if let Some(error) = scalars::type_error(schema, value, path) {
            self.errors.push(error);
            return;
        }
        if let Some(allowed) = schema.get("enum").and_then(Value::as_array)
            && !allowed.contains(value)
        {
            self.errors.push(FieldError::not_supported(path, value, allowed));
        }
        match value {
            Value::String(text) => self.errors.extend(scalars::text_errors(schema, text, path)),
            Value::Number(number) => self.errors.extend(scalars::number_errors(schema, number, path)),
            Value::Array(items) => self.check_items(schema, before, items, path),
            Value::Object(fields) => self.check_fields(schema, before, fields, path),
            Value::Null | Value::Bool(_) => {}
        }
    }

    fn check_items(&mut self, schema: &Value, before: Option<&Value>, items: &[Value], path: &str) {
        self.errors.extend(lists::count_errors(schema, items.len(), ["minItems", "maxItems"], path, "items"));
        self.errors.extend(lists::duplicates(schema, items, path));
        let Some(within) = schema.get("items") else { return };
        let before = before.and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        for (at, item) in items.iter().enumerate() {
            let earlier = lists::counterpart(schema, before, item);
            self.check(within, earlier, item, &format!("{path}[{at}]"));
        }
    }

    fn check_fields(&mut self, schema: &Value, before: Option<&Value>, fields: &Fields, path: &str) {
        let counts = ["minProperties", "maxProperties"];
        self.errors.extend(lists::count_errors(schema, fields.len(), counts, path, "properties"));
        for name in schema.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str) {
            if !fields.contains_key(name) {
                self.errors.push(FieldError::required(below(path, name), ""));
            }
        }
        for (name, field) in fields {
            if path.is_empty() && ["apiVersion", "kind", "metadata"].contains(&name.as_str()) {
                continue;
            }
            if let FieldSchema::Known(within) = FieldSchema::of(schema, name) {
                let earlier = before.and_then(|before| before.get(name));
                // Most fields are equal, and have no error that names them.
                let path = if earlier == Some(field) { String::new() } else { below(path, name) };
                self.check(within, earlier, field, &path);
            }
        }
    }
}
