//! The one strategic merge patch that the manager sends: of conditions of a pod's status.

use serde_json::{Map, Value, json};

use crate::api_server::errors::unmodelled;
use crate::api_server::kinds::Kind;
use crate::api_server::request::{ApiError, Subresource};

/// The merge patch that changes `live` as the strategic merge patch `patch` does. It must be performed before anything else
/// changes the object.
pub(super) fn as_merge(
    kind: &Kind,
    subresource: Option<Subresource>,
    live: Option<&Value>,
    patch: &Value,
) -> Result<Value, ApiError> {
    let is_pod = kind.group.is_empty() && kind.plural == "pods";
    let changed = changed_conditions(patch).filter(|_| is_pod && subresource == Some(Subresource::Status));
    let changed = changed.ok_or_else(|| unmodelled("a strategic merge patch of anything but conditions of a pod"))?;
    let present = live.and_then(|live| live["status"]["conditions"].as_array());
    let mut conditions = present.cloned().unwrap_or_default();
    for change in changed {
        match conditions.iter_mut().find(|condition| condition.get("type") == change.get("type")) {
            Some(condition) => json_patch::merge(condition, &Value::Object(change.clone())),
            None => conditions.push(Value::Object(change.clone())),
        }
    }
    Ok(json!({ "status": { "conditions": conditions } }))
}

/// The conditions of a patch, if it has nothing else and no directives.
fn changed_conditions(patch: &Value) -> Option<Vec<&Map<String, Value>>> {
    let only =
        |value: &'_ Value, field: &str| value.as_object().is_some_and(|all| all.len() == 1 && all.contains_key(field));
    if !only(patch, "status") || !only(&patch["status"], "conditions") {
        return None;
    }
    let conditions = patch["status"]["conditions"].as_array()?.iter().map(Value::as_object);
    let conditions: Vec<_> = conditions.collect::<Option<_>>()?;
    let plain = |condition: &&Map<String, Value>| {
        condition.get("type").is_some_and(Value::is_string) && condition.keys().all(|key| !key.starts_with('$'))
    };
    conditions.iter().all(plain).then_some(conditions)
}
