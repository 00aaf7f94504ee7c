//! The objects in the namespace of users.

use k8s_openapi::ByteString;
use serde_json::Value;

use crate::api_server::state::StoredState;

/// The namespace of all objects of users.
pub const NAMESPACE: &str = "team";

/// Whether an object says that its present generation is Ready.
#[must_use]
pub fn claims_ready(object: &Value) -> bool {
    is_status_current(object) && has_ready(object)
}

/// Whether the status of an object is that of its present generation.
#[must_use]
pub fn is_status_current(object: &Value) -> bool {
    object["status"]["observedGeneration"] == object["metadata"]["generation"]
}

/// Whether the condition Ready of an object is True, of whatever generation.
#[must_use]
pub fn has_ready(object: &Value) -> bool {
    let conditions = object["status"]["conditions"].as_array().map(Vec::as_slice).unwrap_or_default();
    conditions.iter().any(|condition| condition["type"] == "Ready" && condition["status"] == "True")
}

/// An entry of a Secret, as text.
#[must_use]
pub fn secret_entry(secret: &Value, key: &str) -> Option<String> {
    // Nothing would be read as no bytes.
    let entry = Some(&secret["data"][key]).filter(|entry| entry.is_string())?;
    let ByteString(bytes) = serde_json::from_value(entry.clone()).ok()?;
    String::from_utf8(bytes).ok()
}

/// The objects of users of a kind.
pub fn objects<'a>(state: &'a StoredState, plural: &str) -> impl Iterator<Item = (&'a str, &'a Value)> {
    let kind = state.kinds().plural(plural);
    let all = kind.into_iter().flat_map(|kind| state.all(kind));
    all.filter(|((namespace, _), _)| namespace == NAMESPACE).map(|((_, name), object)| (name.as_str(), &**object))
}
