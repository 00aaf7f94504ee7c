//! Pure: whether an object is a PodSpec, to the last field; else which is not.

use k8s_openapi::api::core::v1::PodSpec;
use k8s_openapi::serde::Deserialize;
use serde_json::{Map, Value, json};

use super::rejection::PATH;

/// The same, with numbers written as quantities where those belong.
pub(super) fn pod_spec(mut spec: Value) -> Result<Value, String> {
    let path = format!("{PATH}.spec");
    write_quantities(&mut spec, false);
    let kept = match PodSpec::deserialize(&spec) {
        Ok(read) => serde_json::to_value(read).map_err(|error| format!("{path}: {error}"))?,
        Err(error) => return Err(mistyped(&spec, &path, &|part| part).unwrap_or_else(|| format!("{path}: {error}"))),
    };
    unknown(&spec, &kept, &path).map_or(Ok(spec), Err)
}

/// `cpu: 1` is a quantity for Kubernetes, too.
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

/// The first part that is of another type than its place has, with its path. `within` puts a part into an object that has
/// nothing else: every field of a PodSpec may be left out, so what is wrong with that is wrong with the part.
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

/// The first field that a PodSpec has not kept.
fn unknown(given: &Value, kept: &Value, path: &str) -> Option<String> {
    match (given, kept) {
        (Value::Object(given), Value::Object(kept)) => given.iter().find_map(|(name, value)| {
            let path = format!("{path}.{name}");
            match kept.get(name) {
                _ if value.is_null() => Some(format!("{path}: null removes nothing; remove the field")),
                Some(kept) => unknown(value, kept, &path),
                None => Some(format!("{path}: unknown field; see kubectl explain pod.spec")),
            }
        }),
        (Value::Array(given), Value::Array(kept)) => {
            let mut pairs = given.iter().zip(kept).enumerate();
            pairs.find_map(|(at, (given, kept))| unknown(given, kept, &format!("{path}[{at}]")))
        }
        _ => None,
    }
}
