//! What is required of a Job.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::pods;
use crate::api_server::preparation::field_error::FieldError;
use crate::api_server::preparation::values::{list, number, text};

/// Counts of the spec that are not negative.
const COUNTS: [&str; 5] =
    ["parallelism", "completions", "activeDeadlineSeconds", "backoffLimit", "ttlSecondsAfterFinished"];

const RESTART_POLICY: &str = "spec.template.spec.restartPolicy";

/// What is wrong with a Job.
pub(super) fn job(object: &Value) -> Vec<FieldError> {
    let negative = |name: &&str| {
        let count = number(object, &format!("/spec/{name}")).filter(|count| *count < 0)?;
        Some(FieldError::not_negative(format!("spec.{name}"), count))
    };
    let mut errors: Vec<FieldError> = COUNTS.iter().filter_map(negative).collect();
    for (index, rule) in list(object, "/spec/podFailurePolicy/rules").iter().enumerate() {
        errors.extend(exit_codes(object, rule, &format!("spec.podFailurePolicy.rules[{index}].onExitCodes")));
    }
    errors.extend(pods::spec(object, "spec.template.spec"));
    let restarts = text(object, "/spec/template/spec/restartPolicy");
    if !["OnFailure", "Never"].contains(&restarts) {
        errors.push(FieldError::required(RESTART_POLICY, "valid values: \"OnFailure\", \"Never\""));
    }
    if object.pointer("/spec/podFailurePolicy").is_some() && restarts != "Never" {
        let detail = "only \"Never\" is supported when podFailurePolicy is specified";
        errors.push(FieldError::invalid(RESTART_POLICY, &json!(restarts), detail));
    }
    errors
}

/// What is wrong with the exit codes of a rule.
fn exit_codes(job: &Value, rule: &Value, path: &str) -> Vec<FieldError> {
    let Some(codes) = rule.get("onExitCodes") else { return Vec::new() };
    let mut errors = Vec::new();
    let mut containers =
        ["containers", "initContainers"].iter().flat_map(|kind| list(job, &format!("/spec/template/spec/{kind}")));
    if let Some(name) = codes.get("containerName")
        && !containers.any(|container| container.get("name") == Some(name))
    {
        let detail = "must be one of the container or initContainer names in the pod template";
        errors.push(FieldError::invalid(format!("{path}.containerName"), name, detail));
    }
    let values: Vec<i64> = list(codes, "/values").iter().filter_map(Value::as_i64).collect();
    let field = format!("{path}.values");
    if values.is_empty() {
        errors.push(FieldError::invalid(&field, &json!([]), "at least one value is required"));
    }
    let mut seen = BTreeSet::new();
    for (at, value) in values.iter().enumerate() {
        if *value == 0 && text(codes, "/operator") == "In" {
            let detail = "must not be 0 for the In operator";
            errors.push(FieldError::invalid(format!("{field}[{at}]"), &json!(value), detail));
        }
        if !seen.insert(*value) {
            errors.push(FieldError::duplicate(format!("{field}[{at}]"), &json!(value)));
        }
    }
    if !values.is_sorted() {
        errors.push(FieldError::invalid(&field, &json!(values), "must be ordered"));
    }
    errors
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problems(spec: Value) -> usize {
        let template = json!({ "spec": {
            "restartPolicy": "Never", "containers": [{ "name": "work", "image": "a" }],
            "initContainers": [{ "name": "install", "image": "b" }],
        } });
        let mut object = json!({ "spec": { "template": template } });
        for (field, value) in spec.as_object().unwrap() {
            object["spec"][field] = value.clone();
        }
        job(&object).len()
    }

    #[test]
    fn counts_are_not_negative() {
        assert_eq!(problems(json!({ "backoffLimit": 0, "ttlSecondsAfterFinished": 0 })), 0);
        assert_eq!(problems(json!({ "backoffLimit": -1, "activeDeadlineSeconds": -1 })), 2);
    }

    #[test]
    fn exit_codes_are_of_a_container_and_in_order() {
        let with = |codes: Value| {
            problems(json!({ "podFailurePolicy": { "rules": [{ "action": "FailJob", "onExitCodes": codes }] } }))
        };
        assert_eq!(with(json!({ "containerName": "work", "operator": "In", "values": [1, 3] })), 0);
        assert_eq!(with(json!({ "containerName": "install", "operator": "NotIn", "values": [0] })), 0);
        assert_eq!(with(json!({ "containerName": "other", "operator": "In", "values": [1] })), 1);
        assert_eq!(with(json!({ "operator": "In", "values": [] })), 1);
        assert_eq!(with(json!({ "operator": "In", "values": [0] })), 1);
        assert_eq!(with(json!({ "operator": "In", "values": [3, 1, 1] })), 2, "not in order, and twice");
    }

    #[test]
    fn pods_that_are_told_apart_by_their_failure_are_not_restarted() {
        let template = |policy: &str| json!({ "spec": { "restartPolicy": policy, "containers": [{ "name": "work", "image": "a" }] } });
        assert_eq!(problems(json!({ "template": template("OnFailure") })), 0);
        assert_eq!(problems(json!({ "template": template("OnFailure"), "podFailurePolicy": { "rules": [] } })), 1);
        assert_eq!(problems(json!({ "template": template("Always") })), 1);
    }
}
