//! The refusals of the API server, in its own words as far as clients read them.

use serde_json::Value;

use super::kinds::Kind;
use super::request::ApiError;

#[cfg(test)]
mod tests;

/// The code of a request that the model lacks. A run in which one was sent has failed.
pub const UNMODELLED: u16 = 501;

/// Why an update with an old version is refused.
pub const OBJECT_MODIFIED: &str =
    "the object has been modified; please apply your changes to the latest version and try again";

/// Why a JSON patch is refused that does not apply.
pub const PATCH_FAILED: &str = "the server rejected our request due to an error in our request";

/// A cause of a refusal: its reason, the field and the message.
pub type Cause = (&'static str, String, String);

/// The model lacks the request.
#[must_use]
pub fn unmodelled(what: impl Into<String>) -> ApiError {
    error(UNMODELLED, "NotImplemented", format!("unmodelled: {}", what.into()))
}

/// There is no such object.
#[must_use]
pub fn not_found(kind: &Kind, name: &str) -> ApiError {
    error(404, "NotFound", format!("{} {name:?} not found", kind.resource()))
}

/// The API server does not serve the path.
#[must_use]
pub fn not_served() -> ApiError {
    error(404, "NotFound", "the server could not find the requested resource")
}

/// Another object has the name.
#[must_use]
pub fn already_exists(kind: &Kind, name: &str) -> ApiError {
    error(409, "AlreadyExists", format!("{} {name:?} already exists", kind.resource()))
}

/// The object is not as the request expects it.
#[must_use]
pub fn conflict(resource: &str, name: &str, why: impl std::fmt::Display) -> ApiError {
    error(409, "Conflict", format!("Operation cannot be fulfilled on {resource} {name:?}: {why}"))
}

/// The request cannot be understood.
#[must_use]
pub fn bad_request(message: impl Into<String>) -> ApiError {
    error(400, "BadRequest", message)
}

/// An admission plugin refuses the request.
#[must_use]
pub fn forbidden(kind: &Kind, name: &str, why: impl std::fmt::Display) -> ApiError {
    error(403, "Forbidden", format!("{} {name:?} is forbidden: {why}", kind.resource()))
}

/// A failure that the API server has no reason for.
#[must_use]
pub fn internal(message: impl Into<String>) -> ApiError {
    error(500, "", message)
}

/// The request fails within the API server.
#[must_use]
pub fn internal_error(message: &str) -> ApiError {
    let causes = vec![("", String::new(), message.to_owned())];
    ApiError { causes, ..error(500, "InternalError", format!("Internal error occurred: {message}")) }
}

/// The version of a list or a watch is older than what the API server remembers.
#[must_use]
pub fn expired(message: impl Into<String>) -> ApiError {
    error(410, "Expired", message)
}

/// The object does not pass validation.
#[must_use]
pub fn invalid(kind: &Kind, name: &str, causes: Vec<Cause>) -> ApiError {
    invalid_as(&kind.qualified(), name, causes)
}

/// The same, for the kind that the refusal names, such as `Scale.autoscaling`.
#[must_use]
pub fn invalid_as(qualified: &str, name: &str, causes: Vec<Cause>) -> ApiError {
    let mut all: Vec<String> = Vec::new();
    for (_, field, message) in &causes {
        let one = format!("{field}: {message}");
        if !all.contains(&one) {
            all.push(one);
        }
    }
    let all = if all.len() == 1 { all.concat() } else { format!("[{}]", all.join(", ")) };
    ApiError { causes, ..error(422, "Invalid", format!("{qualified} {name:?} is invalid: {all}")) }
}

/// A JSON patch does not apply.
#[must_use]
pub fn patch_failed() -> ApiError {
    error(422, "Invalid", PATCH_FAILED)
}

/// The cause that a field is missing.
#[must_use]
pub fn required(field: &str, detail: &str) -> Cause {
    let message = if detail.is_empty() { "Required value".to_owned() } else { format!("Required value: {detail}") };
    ("FieldValueRequired", field.to_owned(), message)
}

/// The cause that a field has that value.
#[must_use]
pub fn invalid_value(field: &str, value: &Value, detail: &str) -> Cause {
    ("FieldValueInvalid", field.to_owned(), format!("Invalid value: {value}: {detail}"))
}

/// The cause that a field may not be set.
#[must_use]
pub fn forbidden_field(field: &str, detail: &str) -> Cause {
    ("FieldValueForbidden", field.to_owned(), format!("Forbidden: {detail}"))
}

fn error(code: u16, reason: &'static str, message: impl Into<String>) -> ApiError {
    ApiError { code, reason, message: message.into(), causes: Vec::new() }
}
