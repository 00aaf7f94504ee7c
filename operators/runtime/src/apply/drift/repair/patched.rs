//! The result of a JSON patch in the API server, for tests.

use serde_json::{Value, json};

/// `live` after the patch; `None` if a step fails. As in the API server, a test for null holds where no value exists.
/// (kubernetes: gopkg.in/evanphx/json-patch.v4)
pub(crate) fn patched(live: &Value, patch: &Value) -> Option<Value> {
    let (nothing, steps): (Vec<&Value>, Vec<&Value>) =
        patch.as_array()?.iter().partition(|step| step["op"] == "test" && step["value"].is_null());
    let exists = |step: &Value| step["path"].as_str().and_then(|path| live.pointer(path)).is_some();
    if nothing.into_iter().any(exists) {
        return None;
    }
    let steps: json_patch::Patch = serde_json::from_value(json!(steps)).ok()?;
    let mut after = live.clone();
    json_patch::patch(&mut after, &steps).ok()?;
    Some(after)
}
