//! What the API server requires of built-in kinds, as far as managers of workloads meet it.
//!
//! Source: `pkg/apis/*/validation`.

use serde_json::{Map, Value, json};

use super::field_error::FieldError;
use super::values::{number, text};

mod autoscalers;
mod budgets;
mod claims;
mod ingresses;
mod jobs;
mod pods;
mod selectors;
mod services;

/// How many bytes the values of a Secret or a ConfigMap may have.
const MAX_CONTENTS: usize = 1024 * 1024;

/// What is wrong with an object of that kind.
pub(super) fn problems(plural: &str, object: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    match plural {
        "pods" => errors.extend(pods::spec(object, "spec")),
        "deployments" => {
            errors.extend(workload(object, "deployment"));
            errors.extend(deployment(object));
        }
        "replicasets" => errors.extend(workload(object, "replicaset")),
        "statefulsets" => {
            errors.extend(strategy_of_a_stateful_set(object));
            errors.extend(workload(object, "statefulset"));
        }
        "jobs" => errors.extend(jobs::job(object)),
        "services" => errors.extend(services::service(object)),
        "horizontalpodautoscalers" => errors.extend(autoscalers::autoscaler(object)),
        "ingresses" => errors.extend(ingresses::ingress(object)),
        "persistentvolumeclaims" => errors.extend(claims::claim(object)),
        "poddisruptionbudgets" => errors.extend(budgets::disruption_budget(object)),
        "secrets" => {
            errors.extend(contents(object, "data"));
            errors.extend(certificate(object));
        }
        "configmaps" => errors.extend(contents(object, "[]")),
        _ => {}
    }
    errors
}

fn workload(object: &Value, name: &str) -> Vec<FieldError> {
    let mut errors = selectors::of_workload(object, name);
    errors.extend(pods::spec(object, "spec.template.spec"));
    let restarts = object.pointer("/spec/template/spec/restartPolicy").unwrap_or(&Value::Null);
    if *restarts != "Always" {
        let field = "spec.template.spec.restartPolicy";
        errors.push(FieldError::not_supported(field, restarts, &[json!("Always")]));
    }
    for field in ["replicas", "minReadySeconds", "revisionHistoryLimit"] {
        if let Some(count) = number(object, &format!("/spec/{field}")).filter(|count| *count < 0) {
            errors.push(FieldError::not_negative(format!("spec.{field}"), count));
        }
    }
    errors
}

fn strategy_of_a_stateful_set(object: &Value) -> Option<FieldError> {
    let rolling = object.pointer("/spec/updateStrategy/rollingUpdate")?;
    let value = |name: &str| rolling.get(name).unwrap_or(&Value::Null);
    // The type of the API server itself, in which the fields have other names.
    let fields = format!(r#"{{"Partition":{},"MaxUnavailable":{}}}"#, value("partition"), value("maxUnavailable"));
    let detail = "only allowed for updateStrategy 'RollingUpdate'";
    (text(object, "/spec/updateStrategy/type") == "OnDelete")
        .then(|| FieldError::invalid_text("spec.updateStrategy.rollingUpdate", &fields, detail))
}

fn deployment(object: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let rolling = object.pointer("/spec/strategy/rollingUpdate");
    if text(object, "/spec/strategy/type") == "Recreate" && rolling.is_some() {
        let detail = "may not be specified when strategy `type` is 'Recreate'";
        errors.push(FieldError::forbidden("spec.strategy.rollingUpdate", detail));
    }
    if let Some(rolling) = rolling {
        let is_zero = |name: &str| rolling.get(name).is_some_and(|value| *value == 0 || *value == "0%");
        if is_zero("maxSurge") && is_zero("maxUnavailable") {
            let value = rolling.get("maxUnavailable").unwrap_or(&Value::Null);
            let field = "spec.strategy.rollingUpdate.maxUnavailable";
            errors.push(FieldError::invalid(field, value, "may not be 0 when `maxSurge` is 0"));
        }
    }
    let ready = number(object, "/spec/minReadySeconds").unwrap_or(0);
    if let Some(deadline) = number(object, "/spec/progressDeadlineSeconds").filter(|deadline| *deadline <= ready) {
        let detail = "must be greater than minReadySeconds";
        errors.push(FieldError::invalid("spec.progressDeadlineSeconds", &json!(deadline), detail));
    }
    errors
}

/// What a Secret lacks that has the type of a certificate.
fn certificate(object: &Value) -> Vec<FieldError> {
    let is_one = text(object, "/type") == "kubernetes.io/tls";
    let needed =
        ["tls.crt", "tls.key"].iter().filter(|name| is_one && object.pointer(&format!("/data/{name}")).is_none());
    needed.map(|name| FieldError::required(format!("data[{name}]"), "")).collect()
}

/// The error of too large contents of a Secret or a ConfigMap.
fn contents(object: &Value, field: &str) -> Option<FieldError> {
    let sizes = |name: &str, decoded: fn(usize) -> usize| {
        let values = object.get(name).and_then(Value::as_object).into_iter().flat_map(Map::values);
        values.map(|value| decoded(value.as_str().map_or(0, str::len))).sum::<usize>()
    };
    let from_base64 = |length: usize| length / 4 * 3;
    let size = if field == "data" {
        sizes("data", from_base64)
    } else {
        sizes("data", |length| length) + sizes("binaryData", from_base64)
    };
    (size > MAX_CONTENTS).then(|| FieldError::too_long(field, u64::try_from(MAX_CONTENTS).unwrap_or(u64::MAX)))
}

#[cfg(test)]
mod tests;
