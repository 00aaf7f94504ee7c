//! What is required of the spec of a pod.

use serde_json::Value;

use crate::api_server::preparation::field_error::FieldError;
use crate::api_server::preparation::quantity::nanos;
use crate::api_server::preparation::values::{list, text};

/// What is wrong with the spec of a pod at that path.
pub(super) fn spec(object: &Value, path: &str) -> Vec<FieldError> {
    let pointer = format!("/{}", path.replace('.', "/"));
    let containers = list(object, &format!("{pointer}/containers"));
    let mut errors = Vec::new();
    if containers.is_empty() {
        errors.push(FieldError::required(format!("{path}.containers"), ""));
    }
    let mut names = Vec::new();
    for kind in ["containers", "initContainers"] {
        for (at, container) in list(object, &format!("{pointer}/{kind}")).iter().enumerate() {
            let path = format!("{path}.{kind}[{at}]");
            errors.extend(of_container(container, &path));
            let name = text(container, "/name");
            if !name.is_empty() && names.contains(&name) {
                errors.push(FieldError::duplicate(format!("{path}.name"), &name.into()));
            }
            names.push(name);
        }
    }
    let volumes = list(object, &format!("{pointer}/volumes"));
    for (at, volume) in volumes.iter().enumerate() {
        let name = text(volume, "/name");
        if volumes.iter().take(at).any(|other| text(other, "/name") == name) {
            errors.push(FieldError::duplicate(format!("{path}.volumes[{at}].name"), &name.into()));
        }
    }
    errors
}

fn of_container(container: &Value, path: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    for field in ["name", "image"] {
        if text(container, &format!("/{field}")).is_empty() {
            errors.push(FieldError::required(format!("{path}.{field}"), ""));
        }
    }
    let requests = container.pointer("/resources/requests").and_then(Value::as_object);
    for (name, request) in requests.into_iter().flatten() {
        let limit = container.pointer("/resources/limits").and_then(|limits| limits.get(name)).and_then(Value::as_str);
        if limit.is_some_and(|limit| request.as_str().and_then(nanos) > nanos(limit)) {
            let detail = format!("must be less than or equal to {name} limit of {}", limit.unwrap_or_default());
            errors.push(FieldError::invalid(format!("{path}.resources.requests"), request, &detail));
        }
    }
    errors
}
