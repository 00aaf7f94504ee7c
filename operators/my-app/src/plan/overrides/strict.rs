//! Pure: checks that an object is a PodSpec without unknown fields or fields of another type.

use k8s_openapi::api::core::v1::PodSpec;
use k8s_openapi::serde::Deserialize;
use serde_json::{Map, Value, json};

use super::rejection::PATH;

/// The object, with numbers converted to quantities where the type requires quantities; otherwise a message that names the invalid field.
pub(super) fn pod_spec(mut spec: Value) -> Result<Value, String> {
    let path = format!("{PATH}.spec");
    write_quantities(&mut spec, false);
    let decoded = match PodSpec::deserialize(&spec) {
        Ok(read) => serde_json::to_value(read).map_err(|error| format!("{path}: {error}"))?,
        Err(error) => return Err(mistyped(&spec, &path, &|part| part).unwrap_or_else(|| format!("{path}: {error}"))),
    };
    unknown(&spec, &decoded, &path).map_or(Ok(spec), Err)
}

/// Kubernetes accepts `cpu: 1` as a quantity, too.
fn write_quantities(value: &mut Value, is_quantity: bool) {
    match value {
        Value::Object(fields) => fields.iter_mut().for_each(|(name, field)| {
            let quantities = matches!(&**name, "requests" | "limits" | "overhead" | "sizeLimit" | "divisor");
            write_quantities(field, is_quantity || quantities);
        }),
        Value::Array(items) => items.iter_mut().for_each(|item| write_quantities(item, false)),
        Value::Number(number) if is_quantity => *value = Value::String(number.to_string()),
        _ => {}
    }
}

/// A message about the first part of a wrong type, with its path. `within` wraps a part into an otherwise empty PodSpec: all fields of a
/// PodSpec are optional, so an error in the result is an error of the part.
fn mistyped(part: &Value, path: &str, within: &dyn Fn(Value) -> Value) -> Option<String> {
    let error = serde_json::from_value::<PodSpec>(within(part.clone())).err()?;
    let below = match part {
        Value::Object(fields) => fields.iter().find_map(|(name, value)| {
            let alone = |value| within(Value::Object(Map::from_iter([(name.clone(), value)])));
            mistyped(value, &format!("{path}.{name}"), &alone)
        }),
        Value::Array(items) => items
            .iter()
            .enumerate()
            .find_map(|(at, item)| mistyped(item, &format!("{path}[{at}]"), &|item| within(json!([item])))),
        _ => None,
    };
    Some(below.unwrap_or_else(|| format!("{path}: {error}")))
}

/// A message about the first field that decoding as a PodSpec has dropped.
fn unknown(given: &Value, decoded: &Value, path: &str) -> Option<String> {
    match (given, decoded) {
        (Value::Object(given), Value::Object(decoded)) => given.iter().find_map(|(name, value)| {
            let path = format!("{path}.{name}");
            match decoded.get(name) {
                _ if value.is_null() => Some(format!("{path}: null removes nothing; remove the field")),
                Some(decoded) => unknown(value, decoded, &path),
                None => Some(format!("{path}: unknown field; see kubectl explain pod.spec")),
            }
        }),
        (Value::Array(given), Value::Array(decoded)) => {
            let mut pairs = given.iter().zip(decoded).enumerate();
            pairs.find_map(|(at, (given, decoded))| unknown(given, decoded, &format!("{path}[{at}]")))
        }
        _ => None,
    }
}
