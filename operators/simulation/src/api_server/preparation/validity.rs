//! What the API server requires of built-in kinds, as far as managers of workloads meet it.
//!
//! Source: `pkg/apis/*/validation`.

use serde_json::{Map, Value, json};

use super::field_error::FieldError;
use super::values::{list, text};

mod pods;
mod selectors;

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
        "statefulsets" => errors.extend(workload(object, "statefulset")),
        "jobs" => errors.extend(job(object)),
        "services" => errors.extend(service(object)),
        "horizontalpodautoscalers" => errors.extend(autoscaler(object)),
        "poddisruptionbudgets" => errors.extend(disruption_budget(object)),
        "secrets" => errors.extend(contents(object, "data")),
        "configmaps" => errors.extend(contents(object, "[]")),
        _ => {}
    }
    errors
}

/// The whole number at that JSON pointer.
fn number(object: &Value, pointer: &str) -> Option<i64> {
    object.pointer(pointer).and_then(Value::as_i64)
}

fn workload(object: &Value, name: &str) -> Vec<FieldError> {
    let mut errors = pods::spec(object, "spec.template.spec");
    errors.extend(selectors::of_workload(object, name));
    for field in ["replicas", "minReadySeconds", "revisionHistoryLimit"] {
        if let Some(count) = number(object, &format!("/spec/{field}")).filter(|count| *count < 0) {
            let detail = "must be greater than or equal to 0";
            errors.push(FieldError::invalid(format!("spec.{field}"), &json!(count), detail));
        }
    }
    let restarts = object.pointer("/spec/template/spec/restartPolicy").unwrap_or(&Value::Null);
    if *restarts != "Always" {
        let field = "spec.template.spec.restartPolicy";
        errors.push(FieldError::not_supported(field, restarts, &[json!("Always")]));
    }
    errors
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

fn job(object: &Value) -> Vec<FieldError> {
    let mut errors = pods::spec(object, "spec.template.spec");
    if text(object, "/spec/template/spec/restartPolicy") == "Always" {
        let detail = "valid values: \"OnFailure\", \"Never\"";
        errors.push(FieldError::required("spec.template.spec.restartPolicy", detail));
    }
    errors
}

fn service(object: &Value) -> Vec<FieldError> {
    let (type_, address) = (text(object, "/spec/type"), text(object, "/spec/clusterIP"));
    let mut errors = Vec::new();
    let ports = list(object, "/spec/ports");
    if ports.is_empty() && address != "None" && type_ != "ExternalName" {
        errors.push(FieldError::required("spec.ports", ""));
    }
    let key = |port: &Value| json!({ "port": port.get("port"), "protocol": port.get("protocol") });
    for (at, port) in ports.iter().enumerate() {
        if ports.len() > 1 && text(port, "/name").is_empty() {
            errors.push(FieldError::required(format!("spec.ports[{at}].name"), ""));
        }
        if ports.iter().take(at).any(|other| key(other) == key(port)) {
            errors.push(FieldError::duplicate(format!("spec.ports[{at}]"), &key(port)));
        }
        if type_ == "ClusterIP" && port.get("nodePort").is_some() {
            let detail = "may not be used when `type` is 'ClusterIP'";
            errors.push(FieldError::forbidden(format!("spec.ports[{at}].nodePort"), detail));
        }
    }
    errors
}

fn autoscaler(object: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let (least, most) = (number(object, "/spec/minReplicas"), number(object, "/spec/maxReplicas").unwrap_or(0));
    if let Some(least) = least.filter(|least| *least < 1) {
        let detail = "must be greater than or equal to 1";
        errors.push(FieldError::invalid("spec.minReplicas", &json!(least), detail));
    }
    if most < 1 {
        errors.push(FieldError::invalid("spec.maxReplicas", &json!(most), "must be greater than 0"));
    }
    if least.is_some_and(|least| most < least) {
        let detail = "must be greater than or equal to `minReplicas`";
        errors.push(FieldError::invalid("spec.maxReplicas", &json!(most), detail));
    }
    errors
}

fn disruption_budget(object: &Value) -> Vec<FieldError> {
    let has = |name: &str| object.pointer(&format!("/spec/{name}")).is_some();
    let mut errors = Vec::new();
    if has("minAvailable") && has("maxUnavailable") {
        let spec = object.get("spec").unwrap_or(&Value::Null);
        errors.push(FieldError::invalid("spec", spec, "minAvailable and maxUnavailable cannot be both set"));
    }
    errors
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
