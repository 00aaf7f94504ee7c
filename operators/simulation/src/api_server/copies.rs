//! Copies of objects without a part, which is not copied first: it may be most of the object.

use serde_json::{Map, Value};

/// A copy of an object without `metadata.managedFields`.
pub(super) fn without_managed_fields(object: &Value) -> Value {
    without(object, None)
}

/// The same, without that field too.
pub(super) fn without(object: &Value, field: Option<&str>) -> Value {
    let Some(fields) = object.as_object() else { return object.clone() };
    let kept = fields.iter().filter(|(name, _)| field != Some(name.as_str()));
    let copied = kept.map(|(name, value)| {
        let metadata = value.as_object().filter(|_| name == "metadata");
        (name.clone(), metadata.map_or_else(|| value.clone(), |metadata| copy(metadata, "managedFields")))
    });
    Value::Object(copied.collect())
}

fn copy(fields: &Map<String, Value>, without: &str) -> Value {
    // `null` lists no owners. An apply that says it changes something, as in the API server.
    let kept = fields.iter().filter(|(name, value)| *name != without || value.is_null());
    Value::Object(kept.map(|(name, value)| (name.clone(), value.clone())).collect())
}
