//! Custom kinds: what their schema drops, fills in and refuses.
//!
//! `pattern` and CEL rules are not checked. The schema is the `openAPIV3Schema` of the CRD.
//! Source: `k8s.io/apiextensions-apiserver/pkg/apiserver/schema`.

use serde_json::Value;

use super::field_error::{FieldError, refuse, undecodable};
use crate::api_server::errors::unmodelled;
use crate::api_server::kinds::Kind;
use crate::api_server::request::ApiError;

mod defaulting;
mod field_schema;
mod pruning;
mod validation;

pub(super) use defaulting::fill_in;

/// Drops unknown fields, which are an error if the request is strict, and adds the defaults.
pub(super) fn decode(kind: &Kind, schema: &Value, object: &mut Value, strict: bool) -> Result<(), ApiError> {
    let unknown = pruning::prune(schema, object);
    if strict && !unknown.is_empty() {
        let fields: Vec<String> = unknown.iter().map(|field| format!("unknown field {field:?}")).collect();
        return Err(undecodable(kind, &format!("strict decoding error: {}", fields.join(", "))));
    }
    fill_in(schema, object);
    Ok(())
}

/// Checks an object; what is equal in `before` may stay invalid.
pub(super) fn validate(kind: &Kind, schema: &Value, before: Option<&Value>, object: &Value) -> Result<(), ApiError> {
    let found = validation::problems(schema, before, object);
    if let Some(keyword) = found.unmodelled {
        return Err(unmodelled(format!("{keyword} in the schema of {}", kind.plural)));
    }
    let mut errors = found.errors;
    if has_rules(schema) && errors.iter().any(FieldError::hides_rules) {
        let detail = "some validation rules were not checked because the object was invalid; correct the existing errors to \
                      complete validation";
        errors.push(FieldError::invalid("<nil>", &Value::Null, detail));
    }
    refuse(kind, object, errors)
}

/// The schema has CEL rules, at any place.
fn has_rules(schema: &Value) -> bool {
    match schema {
        Value::Object(fields) => fields.contains_key("x-kubernetes-validations") || fields.values().any(has_rules),
        Value::Array(items) => items.iter().any(has_rules),
        _ => false,
    }
}

#[cfg(test)]
mod tests;
