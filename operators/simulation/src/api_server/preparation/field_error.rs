//! The refusals of invalid objects, in the words of `k8s.io/apimachinery/pkg/util/validation/field`.

use serde_json::Value;

use super::values::text;
use crate::api_server::errors;
use crate::api_server::kinds::Kind;
use crate::api_server::request::ApiError;

/// What is wrong with one field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct FieldError {
    reason: &'static str,
    field: String,
    text: String,
}

impl FieldError {
    fn new(reason: &'static str, field: impl Into<String>, text: String) -> Self {
        Self { reason, field: field.into(), text }
    }

    /// A value that is not allowed.
    pub(super) fn invalid(field: impl Into<String>, value: &Value, detail: &str) -> Self {
        Self::new("FieldValueInvalid", field, format!("Invalid value: {value}: {detail}"))
    }

    /// A value that is not allowed, as the API server writes it.
    pub(super) fn invalid_text(field: impl Into<String>, value: &str, detail: &str) -> Self {
        Self::new("FieldValueInvalid", field, format!("Invalid value: {value}: {detail}"))
    }

    /// A count below zero.
    pub(super) fn not_negative(field: impl Into<String>, count: i64) -> Self {
        Self::invalid(field, &count.into(), "must be greater than or equal to 0")
    }

    /// The error is of a kind after which rules of a schema are not checked.
    pub(super) fn hides_rules(&self) -> bool {
        let reasons = ["NotSupported", "Required", "TooLong", "TooMany", "TypeInvalid"];
        self.reason.strip_prefix("FieldValue").is_some_and(|reason| reasons.contains(&reason))
    }

    /// A value of the wrong type.
    pub(super) fn type_invalid(field: impl Into<String>, value: &Value, detail: &str) -> Self {
        Self::new("FieldValueTypeInvalid", field, format!("Invalid value: {value}: {detail}"))
    }

    /// A missing value; the detail may be empty.
    pub(super) fn required(field: impl Into<String>, detail: &str) -> Self {
        let colon = if detail.is_empty() { "" } else { ": " };
        Self::new("FieldValueRequired", field, format!("Required value{colon}{detail}"))
    }

    /// A value or a change that is not allowed in this object.
    pub(super) fn forbidden(field: impl Into<String>, detail: &str) -> Self {
        Self::new("FieldValueForbidden", field, format!("Forbidden: {detail}"))
    }

    /// A value that is none of the allowed ones.
    pub(super) fn not_supported(field: impl Into<String>, value: &Value, supported: &[Value]) -> Self {
        let supported: Vec<String> = supported.iter().map(Value::to_string).collect();
        let text = format!("Unsupported value: {value}: supported values: {}", supported.join(", "));
        Self::new("FieldValueNotSupported", field, text)
    }

    /// A text or an object of too many bytes.
    pub(super) fn too_long(field: impl Into<String>, most: u64) -> Self {
        Self::new("FieldValueTooLong", field, format!("Too long: may not be more than {most} bytes"))
    }

    /// A list or a map of too many items.
    pub(super) fn too_many(field: impl Into<String>, count: usize, most: u64) -> Self {
        Self::new("FieldValueTooMany", field, format!("Too many: {count}: must have at most {most} items"))
    }

    /// A value that occurs twice in a list.
    pub(super) fn duplicate(field: impl Into<String>, value: &Value) -> Self {
        Self::new("FieldValueDuplicate", field, format!("Duplicate value: {value}"))
    }
}

/// The refusal of an object with these errors, if there are any.
pub(super) fn refuse(kind: &Kind, object: &Value, found: Vec<FieldError>) -> Result<(), ApiError> {
    if found.is_empty() {
        return Ok(());
    }
    let causes = found.into_iter().map(|error| (error.reason, error.field, error.text)).collect();
    Err(errors::invalid(kind, text(object, "/metadata/name"), causes))
}

/// The refusal of a body that cannot be decoded as its kind.
pub(super) fn undecodable(kind: &Kind, why: &str) -> ApiError {
    errors::bad_request(format!("{0} in version {1:?} cannot be handled as a {0}: {why}", kind.kind, kind.version))
}
