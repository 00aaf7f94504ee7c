//! Pure: JSON whose structure the CRD does not define: it is kept as text, and bounded before it is parsed. Parsed, some JSON
//! takes a hundred times the room of its text, and the manager's memory is that of all MyApps.

use k8s_openapi::serde::de::DeserializeOwned;
use serde_json::{Map, Value};

/// What is at `path`, of at most `longest` bytes; else why not, with what to do about its size.
pub(super) fn parse<T: DeserializeOwned>(path: &str, text: &str, longest: usize, remedy: &str) -> Result<T, String> {
    let bytes = text.len();
    if bytes > longest {
        return Err(format!("{path}: {bytes} bytes of JSON exceed the limit of {longest}; {remedy}"));
    }
    serde_json::from_str(text).map_err(|error| format!("{path}: {error}"))
}

/// Which list in the fields at `path` has more than `most` items, if one has, with what to do: each item may take far more room once its
/// type is known.
pub(super) fn too_long(fields: &Map<String, Value>, path: &str, most: usize) -> Option<String> {
    fields.iter().find_map(|(name, value)| too_long_below(value, &format!("{path}.{name}"), most))
}

fn too_long_below(value: &Value, path: &str, most: usize) -> Option<String> {
    match value {
        Value::Array(items) if items.len() > most => {
            Some(format!("{path}: {} items exceed the limit of {most}; use fewer", items.len()))
        }
        Value::Array(items) => {
            items.iter().enumerate().find_map(|(at, item)| too_long_below(item, &format!("{path}[{at}]"), most))
        }
        Value::Object(fields) => too_long(fields, path, most),
        _ => None,
    }
}
