//! Custom kinds: what their schema drops, fills in and refuses.
//!
//! `pattern` and CEL rules are not checked. The schema is the `openAPIV3Schema` of the CRD.
//! Source: `k8s.io/apiextensions-apiserver/pkg/apiserver/schema`.

use serde_json::Value;

use super::field_error::{refuse, undecodable};
use crate::api_server::errors::unmodelled;
use crate::api_server::kinds::Kind;
use crate::api_server::request::ApiError;

mod defaulting;
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
    refuse(kind, object, found.errors)
}

/// What the schema says of a field.
enum FieldSchema<'a> {
    /// Its schema.
    Known(&'a Value),
    /// It may be there, with any value that has no fields of its own.
    Any,
    /// The schema does not have it.
    Unknown,
}

impl<'a> FieldSchema<'a> {
    fn of(schema: &'a Value, name: &str) -> Self {
        if let Some(field) = schema.get("properties").and_then(|fields| fields.get(name)) {
            return Self::Known(field);
        }
        match schema.get("additionalProperties") {
            Some(Value::Bool(true)) => Self::Any,
            Some(field @ Value::Object(_)) => Self::Known(field),
            _ => Self::Unknown,
        }
    }
}

/// Whether a keyword of the schema is set.
fn is_set(schema: &Value, keyword: &str) -> bool {
    schema.get(keyword) == Some(&Value::Bool(true))
}

/// The path of a field below another.
fn below(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") }
}

#[cfg(test)]
mod tests;
