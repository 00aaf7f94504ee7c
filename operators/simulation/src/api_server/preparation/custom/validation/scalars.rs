//! Checks of types, texts and numbers.

use serde_json::{Number, Value, json};

use crate::api_server::preparation::field_error::FieldError;

/// The error of a value of the wrong type.
pub(super) fn type_error(schema: &Value, value: &Value, path: &str) -> Option<FieldError> {
    let actual = type_of(value);
    let int_or_string = schema.get("x-kubernetes-int-or-string") == Some(&Value::Bool(true));
    let expected = match schema.get("type").and_then(Value::as_str) {
        _ if int_or_string => "integer,string",
        Some(expected) => expected,
        None => return None,
    };
    if expected.split(',').any(|allowed| allowed == actual) || expected == "number" && actual == "integer" {
        return None;
    }
    let detail = format!("{path} in body must be of type {expected}: {actual:?}");
    Some(FieldError::type_invalid(path, &json!(actual), &detail))
}

fn type_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_f64() && number.as_f64().is_some_and(|number| number.fract() != 0.0) => {
            "number"
        }
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// The errors of a text: its length, and its format if that is a time.
pub(super) fn text_errors(schema: &Value, text: &str, path: &str) -> Vec<FieldError> {
    let (mut errors, length) = (Vec::new(), text.chars().count());
    if let Some(least) = bound(schema, "minLength").filter(|least| length < *least) {
        let detail = format!("{path} in body should be at least {least} chars long");
        errors.push(FieldError::invalid(path, &json!(text), &detail));
    }
    if let Some(most) = bound(schema, "maxLength").filter(|most| length > *most) {
        errors.push(FieldError::too_long(path, u64::try_from(most).unwrap_or(u64::MAX)));
    }
    let is_time = schema.get("format").is_some_and(|format| format == "date-time");
    if is_time && text.parse::<jiff::Timestamp>().is_err() {
        let detail = format!("{path} in body must be of type date-time: {text:?}");
        errors.push(FieldError::type_invalid(path, &json!(text), &detail));
    }
    errors
}

/// A bound of the schema that counts something.
pub(super) fn bound(schema: &Value, keyword: &str) -> Option<usize> {
    schema.get(keyword).and_then(Value::as_u64).and_then(|bound| usize::try_from(bound).ok())
}

/// The errors of a number: its bounds, and its size in bits.
pub(super) fn number_errors(schema: &Value, number: &Number, path: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let Some(value) = number.as_f64() else { return errors };
    let limit = |keyword: &str| schema.get(keyword).and_then(Value::as_f64);
    let excluded = |keyword: &str| schema.get(keyword) == Some(&Value::Bool(true));
    let mut refuse = |detail: String| {
        errors.push(FieldError::invalid(path, &Value::Number(number.clone()), &format!("{path} in body {detail}")));
    };
    if let Some(least) = limit("minimum") {
        let excluded = excluded("exclusiveMinimum");
        if value < least || excluded && value <= least {
            refuse(format!("should be greater than {}{least}", if excluded { "" } else { "or equal to " }));
        }
    }
    if let Some(most) = limit("maximum") {
        let excluded = excluded("exclusiveMaximum");
        if value > most || excluded && value >= most {
            refuse(format!("should be less than {}{most}", if excluded { "" } else { "or equal to " }));
        }
    }
    let is_small = schema.get("format").is_some_and(|format| format == "int32");
    if is_small && (value > f64::from(i32::MAX) || value < f64::from(i32::MIN)) {
        refuse("must be of type integer with format int32".to_owned());
    }
    errors
}
