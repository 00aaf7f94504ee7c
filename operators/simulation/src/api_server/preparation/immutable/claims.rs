//! What of a PVC can be changed: its request of storage, upwards, and once its volume.

use serde_json::Value;

use crate::api_server::preparation::field_error::FieldError;
use crate::api_server::preparation::quantity::nanos;
use crate::api_server::preparation::values::{carry, text};

/// What of the change is not allowed.
pub(super) fn problems(before: &Value, after: &Value) -> Vec<FieldError> {
    let mut allowed = after.clone();
    if text(before, "/spec/volumeName").is_empty() {
        carry(before, &mut allowed, &["spec"], "volumeName");
    }
    // The class that is the default by now may be filled in.
    if before.pointer("/spec/storageClassName").is_none() {
        carry(before, &mut allowed, &["spec"], "storageClassName");
    }
    if text(before, "/status/phase") == "Bound" {
        carry(before, &mut allowed, &["spec", "resources", "requests"], "storage");
        carry(before, &mut allowed, &["spec"], "volumeAttributesClassName");
    }
    let mut errors = Vec::new();
    if allowed.get("spec") != before.get("spec") {
        // Lines with the difference follow, in the words of a comparison of Go structs.
        let detail = "spec is immutable after creation except resources.requests and volumeAttributesClassName \
                      for bound claims\n(the difference)\n";
        errors.push(FieldError::forbidden("spec", detail));
    }
    let request = |claim: &Value| nanos(text(claim, "/spec/resources/requests/storage"));
    let capacity = nanos(text(before, "/status/capacity/storage"));
    if request(after) < request(before) && request(after) <= capacity {
        let detail = "field can not be less than status.capacity";
        errors.push(FieldError::forbidden("spec.resources.requests.storage", detail));
    }
    errors
}
