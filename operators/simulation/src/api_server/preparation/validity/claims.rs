//! What is required of a PersistentVolumeClaim.

use serde_json::Value;

use crate::api_server::preparation::field_error::FieldError;
use crate::api_server::preparation::quantity::nanos;
use crate::api_server::preparation::values::list;

/// What is wrong with a claim.
pub(super) fn claim(object: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    if list(object, "/spec/accessModes").is_empty() {
        errors.push(FieldError::required("spec.accessModes", "at least 1 access mode is required"));
    }
    match object.pointer("/spec/resources/requests/storage") {
        None => errors.push(FieldError::required("spec.resources[storage]", "")),
        Some(size) if size.as_str().and_then(nanos).is_some_and(|size| size <= 0) => {
            errors.push(FieldError::invalid("spec.resources[storage]", size, "must be greater than zero"));
        }
        Some(_) => {}
    }
    errors
}
