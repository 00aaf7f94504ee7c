//! Pure: JSON without a schema in the CRD. The operator keeps it as text and limits its size before it parses it: parsed JSON can take
//! a hundred times the memory of its text, and all MyApps share the manager's memory.

use k8s_openapi::serde::de::DeserializeOwned;
use serde_json::{Map, Value};

/// Parses the text at `path`, of at most `max_bytes` bytes. The error of a longer one ends with `remedy`.
pub(super) fn parse<T: DeserializeOwned>(path: &str, text: &str, max_bytes: usize, remedy: &str) -> Result<T, String> {
    let bytes = text.len();
    if bytes > max_bytes {
        return Err(format!("{path}: {bytes} bytes of JSON exceed the limit of {max_bytes}; {remedy}"));
    }
    serde_json::from_str(text).map_err(|error| format!("{path}: {error}"))
}

/// A message about a list in the fields at `path` with more than `max_items` items: decoded into its type, each item may take far more
/// memory.
pub(super) fn too_long(fields: &Map<String, Value>, path: &str, max_items: usize) -> Option<String> {
    fields.iter().find_map(|(name, value)| too_long_below(value, &format!("{path}.{name}"), max_items))
}

fn too_long_below(value: &Value, path: &str, max_items: usize) -> Option<String> {
    match value {
        Value::Array(items) if items.len() > max_items => {
            Some(format!("{path}: {} items exceed the limit of {max_items}; use fewer", items.len()))
        }
        Value::Array(items) => {
            items.iter().enumerate().find_map(|(at, item)| too_long_below(item, &format!("{path}[{at}]"), max_items))
        }
        Value::Object(fields) => too_long(fields, path, max_items),
        _ => None,
    }
}
