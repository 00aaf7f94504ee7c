//! What is required of an Ingress.

use serde_json::Value;

use crate::api_server::preparation::field_error::FieldError;
use crate::api_server::preparation::values::{list, text};

/// What is wrong with an Ingress.
pub(super) fn ingress(object: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let rules = list(object, "/spec/rules");
    if rules.is_empty() && object.pointer("/spec/defaultBackend").is_none() {
        let detail = "either `defaultBackend` or `rules` must be specified";
        errors.push(FieldError::invalid("spec", &Value::Null, detail));
    }
    for (at, rule) in rules.iter().enumerate() {
        for (number, path) in list(rule, "/http/paths").iter().enumerate() {
            if text(path, "/pathType").is_empty() {
                let field = format!("spec.rules[{at}].http.paths[{number}].pathType");
                errors.push(FieldError::required(field, "pathType must be specified"));
            }
        }
    }
    errors
}
