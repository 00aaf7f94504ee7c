//! What is required of a PodDisruptionBudget.

use serde_json::Value;

use crate::api_server::preparation::field_error::FieldError;

/// What is wrong with a budget.
pub(super) fn disruption_budget(object: &Value) -> Vec<FieldError> {
    let spec = |name: &str| object.pointer(&format!("/spec/{name}"));
    let mut errors = Vec::new();
    if let (Some(_), Some(_)) = (spec("minAvailable"), spec("maxUnavailable")) {
        // The type of the API server itself, in which the fields have other names.
        let value = |name: &str| spec(name).unwrap_or(&Value::Null);
        let fields = format!(
            r#"{{"MinAvailable":{},"Selector":{},"MaxUnavailable":{},"UnhealthyPodEvictionPolicy":{}}}"#,
            value("minAvailable"),
            value("selector"),
            value("maxUnavailable"),
            value("unhealthyPodEvictionPolicy"),
        );
        errors.push(FieldError::invalid_text("spec", &fields, "minAvailable and maxUnavailable cannot be both set"));
    }
    errors.extend(["minAvailable", "maxUnavailable"].iter().filter_map(|name| of_amount(name, spec(name)?)));
    errors
}

/// What is wrong with a number of pods, or a part of them.
fn of_amount(name: &str, amount: &Value) -> Option<FieldError> {
    let field = format!("spec.{name}");
    if let Some(count) = amount.as_i64() {
        return (count < 0).then(|| FieldError::not_negative(field, count));
    }
    match amount.as_str()?.strip_suffix('%').and_then(|percent| percent.parse::<u64>().ok()) {
        None => Some(FieldError::invalid(field, amount, "must be an integer or percentage (e.g '5%')")),
        Some(101..) => Some(FieldError::invalid(field, amount, "must not be greater than 100%")),
        Some(_) => None,
    }
}
