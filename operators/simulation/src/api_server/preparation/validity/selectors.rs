//! A workload selects the pods of its template.

use serde_json::{Map, Value};

use crate::api_server::preparation::field_error::FieldError;
use crate::api_server::preparation::values::{list, text};

/// What is wrong with the selector of a workload; `kind` is its name in the message.
pub(super) fn of_workload(object: &Value, kind: &str) -> Vec<FieldError> {
    let labels = object.pointer("/spec/template/metadata/labels").unwrap_or(&Value::Null);
    let detail = "`selector` does not match template `labels`";
    let mismatch = FieldError::invalid("spec.template.metadata.labels", labels, detail);
    let Some(selector) = object.pointer("/spec/selector") else {
        // Nothing matches no selector.
        return vec![FieldError::required("spec.selector", ""), mismatch];
    };
    if selector.as_object().is_none_or(Map::is_empty) {
        return vec![FieldError::invalid("spec.selector", selector, &format!("empty selector is invalid for {kind}"))];
    }
    if matches(selector, labels) { Vec::new() } else { vec![mismatch] }
}

fn matches(selector: &Value, labels: &Value) -> bool {
    let wanted = selector.get("matchLabels").and_then(Value::as_object).into_iter().flatten();
    let mut wanted = wanted.map(|(name, value)| labels.get(name) == Some(value));
    wanted.all(|matches| matches) && list(selector, "/matchExpressions").iter().all(|one| meets(one, labels))
}

fn meets(expression: &Value, labels: &Value) -> bool {
    let value = labels.get(text(expression, "/key"));
    let is_listed = value.is_some_and(|value| list(expression, "/values").contains(value));
    match text(expression, "/operator") {
        "In" => is_listed,
        "NotIn" => !is_listed,
        "Exists" => value.is_some(),
        "DoesNotExist" => value.is_none(),
        _ => false,
    }
}
