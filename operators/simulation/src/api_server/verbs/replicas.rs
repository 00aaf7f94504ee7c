//! The validation of the replicas of custom kinds, as far as it is not that of their schema.

use serde_json::{Value, json};

use super::call::VerbCall;
use super::metadata;
use crate::api_server::errors::{invalid, invalid_value};
use crate::api_server::request::ApiError;

/// Adds to the validation of an object of a custom kind what is wrong with its replicas.
pub(crate) fn validate(call: &VerbCall<'_>, object: &Value, validated: Result<(), ApiError>) -> Result<(), ApiError> {
    let Some(paths) = call.scale.filter(|_| call.kind.schema.is_some()) else { return validated };
    let field = paths.spec.replace('/', ".");
    let cause = match object.pointer(&paths.spec) {
        Some(Value::String(text)) => {
            let detail = format!("{field} accessor error: {text} is of the type string, expected int64");
            invalid_value(&field, &json!(0), &detail)
        }
        Some(replicas) if replicas.as_i64().is_some_and(|replicas| replicas < 0) => {
            invalid_value(&field, replicas, "should be a non-negative integer")
        }
        _ => return validated,
    };
    let mut causes = match validated {
        Ok(()) => Vec::new(),
        Err(error) if error.code == 422 => error.causes,
        Err(error) => return Err(error),
    };
    // That the rules were not checked comes last.
    let at = causes.iter().position(|(_, field, _)| field == "<nil>").unwrap_or(causes.len());
    causes.insert(at, cause);
    Err(invalid(call.kind, metadata::text(object, "name"), causes))
}
