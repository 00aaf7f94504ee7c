//! What is required of a HorizontalPodAutoscaler.

use serde_json::{Value, json};

use crate::api_server::preparation::field_error::FieldError;
use crate::api_server::preparation::values::{number, text};

/// What is wrong with an autoscaler.
pub(super) fn autoscaler(object: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let (least, most) = (number(object, "/spec/minReplicas"), number(object, "/spec/maxReplicas").unwrap_or(0));
    if let Some(least) = least.filter(|least| *least < 1) {
        let detail = "must be greater than or equal to 1";
        errors.push(FieldError::invalid("spec.minReplicas", &json!(least), detail));
    }
    match most {
        0 => errors.push(FieldError::required("spec.maxReplicas", "must be set and greater than 0")),
        ..0 => errors.push(FieldError::invalid("spec.maxReplicas", &json!(most), "must be greater than 0")),
        1.. => {}
    }
    if least.is_some_and(|least| most < least) {
        let detail = "must be greater than or equal to `minReplicas`";
        errors.push(FieldError::invalid("spec.maxReplicas", &json!(most), detail));
    }
    for field in ["kind", "name"] {
        if text(object, &format!("/spec/scaleTargetRef/{field}")).is_empty() {
            errors.push(FieldError::required(format!("spec.scaleTargetRef.{field}"), ""));
        }
    }
    let version = text(object, "/spec/scaleTargetRef/apiVersion");
    if !version.contains('/') && text(object, "/spec/scaleTargetRef/kind") != "ReplicationController" {
        let detail = "apiVersion must specify API group";
        errors.push(FieldError::invalid("spec.scaleTargetRef.apiVersion", &json!(version), detail));
    }
    errors
}
