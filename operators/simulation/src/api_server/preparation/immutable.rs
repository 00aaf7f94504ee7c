//! Fields of built-in kinds that cannot be changed.
//!
//! Source: `Validate*Update` in `pkg/apis/*/validation`.

use serde_json::Value;

use super::field_error::FieldError;
use super::values::{object_at, text};

mod claims;
mod pods;

const IMMUTABLE: &str = "field is immutable";
const IMMUTABLE_SET: &str = "field is immutable when `immutable` is set";

/// The fields of a StatefulSet's spec that can be changed.
const OF_STATEFUL_SETS: [&str; 7] = [
    "replicas",
    "ordinals",
    "template",
    "updateStrategy",
    "revisionHistoryLimit",
    "persistentVolumeClaimRetentionPolicy",
    "minReadySeconds",
];

/// What of the change is not allowed.
pub(super) fn problems(plural: &str, before: &Value, after: &Value) -> Vec<FieldError> {
    match plural {
        "deployments" | "replicasets" => fixed("spec.selector", before, after).into_iter().collect(),
        "statefulsets" => stateful_set(before, after),
        "jobs" => job(before, after),
        "controllerrevisions" => fixed("data", before, after).into_iter().collect(),
        "services" => service(before, after),
        "pods" => pods::problems(before, after),
        "persistentvolumeclaims" => claims::problems(before, after),
        "secrets" => {
            let mut errors: Vec<FieldError> = fixed("type", before, after).into_iter().collect();
            errors.extend(contents(&["data"], before, after));
            errors
        }
        "configmaps" => contents(&["data", "binaryData"], before, after),
        _ => Vec::new(),
    }
}

/// The value at a path with dots.
fn at<'a>(object: &'a Value, path: &str) -> Option<&'a Value> {
    path.split('.').try_fold(object, |place, step| place.get(step))
}

/// The error of a change of the field at that path.
fn fixed(path: &str, before: &Value, after: &Value) -> Option<FieldError> {
    let (then, now) = (at(before, path), at(after, path));
    (then != now).then(|| FieldError::invalid(path, now.unwrap_or(&Value::Null), IMMUTABLE))
}

fn stateful_set(before: &Value, after: &Value) -> Vec<FieldError> {
    let fixed_part = |object: &Value| {
        let mut spec = object.get("spec").cloned().unwrap_or_default();
        if let Some(fields) = object_at(&mut spec, &[]) {
            fields.retain(|name, _| !OF_STATEFUL_SETS.contains(&name.as_str()));
        }
        spec
    };
    if fixed_part(before) == fixed_part(after) {
        return Vec::new();
    }
    let detail = "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy', \
                  'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden";
    vec![FieldError::forbidden("spec", detail)]
}

fn job(before: &Value, after: &Value) -> Vec<FieldError> {
    let is_elastic = text(after, "/spec/completionMode") == "Indexed"
        && at(after, "spec.completions") == at(after, "spec.parallelism")
        && at(before, "spec.completions") == at(before, "spec.parallelism");
    let fields = [
        "spec.completionMode",
        "spec.selector",
        "spec.podFailurePolicy",
        "spec.backoffLimitPerIndex",
        "spec.managedBy",
        "spec.successPolicy",
    ];
    let mut errors: Vec<FieldError> = fields.iter().filter_map(|field| fixed(field, before, after)).collect();
    if !is_elastic {
        errors.extend(fixed("spec.completions", before, after));
    }
    let is_waiting = at(before, "spec.suspend") == Some(&Value::Bool(true)) && at(before, "status.startTime").is_none();
    let same = if is_waiting {
        without_directives(before) == without_directives(after)
    } else {
        at(before, "spec.template") == at(after, "spec.template")
    };
    if !same {
        errors.extend(fixed("spec.template", before, after));
    }
    errors
}

/// The template of a Job without what can be changed before it starts: where its pods run, and their metadata.
fn without_directives(job: &Value) -> Value {
    let mut template = at(job, "spec.template").cloned().unwrap_or_default();
    if let Some(spec) = object_at(&mut template, &["spec"]) {
        spec.retain(|name, _| !["nodeSelector", "affinity", "tolerations", "schedulingGates"].contains(&name.as_str()));
    }
    if let Some(metadata) = object_at(&mut template, &["metadata"]) {
        metadata.retain(|name, _| !["labels", "annotations"].contains(&name.as_str()));
    }
    template
}

/// A Service keeps its addresses, unless it had or gets the type `ExternalName`.
fn service(before: &Value, after: &Value) -> Vec<FieldError> {
    let is_without = |service: &Value| text(service, "/spec/type") == "ExternalName";
    let (then, now) = (text(before, "/spec/clusterIP"), text(after, "/spec/clusterIP"));
    if is_without(before) || is_without(after) || then.is_empty() || then == now {
        return Vec::new();
    }
    let addresses = at(after, "spec.clusterIPs").unwrap_or(&Value::Null);
    vec![FieldError::invalid("spec.clusterIPs[0]", addresses, "may not change once set")]
}

/// A Secret or a ConfigMap that is immutable stays so, with its contents.
fn contents(fields: &[&str], before: &Value, after: &Value) -> Vec<FieldError> {
    if before.get("immutable") != Some(&Value::Bool(true)) {
        return Vec::new();
    }
    let is_released = after.get("immutable") != Some(&Value::Bool(true));
    let changed = fields.iter().copied().filter(|field| before.get(field) != after.get(field));
    let all = is_released.then_some("immutable").into_iter().chain(changed);
    all.map(|field| FieldError::forbidden(field, IMMUTABLE_SET)).collect()
}

/// The contents of an immutable Secret or ConfigMap that are empty now, and were absent.
pub(super) fn emptied(plural: &str, before: &Value, after: &Value) -> Vec<FieldError> {
    let is_fixed = ["secrets", "configmaps"].contains(&plural) && before.get("immutable") == Some(&Value::Bool(true));
    let is_emptied = |field: &&&str| {
        let is_empty =
            after.get(**field).and_then(Value::as_object).is_some_and(|now| now.values().all(Value::is_null));
        is_fixed && is_empty && before.get(**field).is_none()
    };
    let all = ["data", "binaryData"].iter().filter(is_emptied);
    all.map(|field| FieldError::forbidden(*field, IMMUTABLE_SET)).collect()
}

#[cfg(test)]
mod tests;
