//! Adds the defaults of a schema, and drops `null` where it is not allowed.

use serde_json::Value;

use super::field_schema::{FieldSchema, is_set};
use crate::api_server::preparation::values::Fields;

/// Adds the defaults. A `null` that is not allowed is replaced by the default, or dropped if there is none.
pub(in crate::api_server::preparation) fn fill_in(schema: &Value, object: &mut Value) {
    match object {
        Value::Object(fields) => fill_in_fields(schema, fields),
        Value::Array(items) => {
            let Some(within) = schema.get("items") else { return };
            for item in items {
                if item.is_null() && !is_set(within, "nullable") {
                    *item = within.get("default").cloned().unwrap_or_default();
                }
                fill_in(within, item);
            }
        }
        _ => {}
    }
}

fn fill_in_fields(schema: &Value, fields: &mut Fields) {
    let properties = schema.get("properties").and_then(Value::as_object);
    for (name, property) in properties.into_iter().flatten() {
        let Some(default) = property.get("default") else { continue };
        let is_missing = fields.get(name).is_none_or(|value| value.is_null() && !is_set(property, "nullable"));
        if is_missing {
            fields.insert(name.clone(), default.clone());
        }
    }
    fields.retain(|name, value| {
        let FieldSchema::Known(within) = FieldSchema::of(schema, name) else { return true };
        if value.is_null() && !is_set(within, "nullable") {
            *value = within.get("default").cloned().unwrap_or_default();
        }
        fill_in(within, value);
        !value.is_null() || is_set(within, "nullable")
    });
}
