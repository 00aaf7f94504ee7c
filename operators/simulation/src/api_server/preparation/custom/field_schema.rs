//! What a schema says of the fields of an object.

use serde_json::Value;

/// What the schema says of a field.
pub(super) enum FieldSchema<'a> {
    /// Its schema.
    Known(&'a Value),
    /// It may be there, with any value that has no fields of its own.
    Any,
    /// The schema does not have it.
    Unknown,
}

impl<'a> FieldSchema<'a> {
    /// What it says of the field of that name.
    pub(super) fn of(schema: &'a Value, name: &str) -> Self {
        if let Some(field) = schema.get("properties").and_then(|fields| fields.get(name)) {
            return Self::Known(field);
        }
        match schema.get("additionalProperties") {
            Some(Value::Bool(true)) => Self::Any,
            Some(field @ Value::Object(_)) => Self::Known(field),
            _ => Self::Unknown,
        }
    }
}

/// Whether a keyword of the schema is set.
pub(super) fn is_set(schema: &Value, keyword: &str) -> bool {
    schema.get(keyword) == Some(&Value::Bool(true))
}

/// The path of a field below another.
pub(super) fn below(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") }
}
