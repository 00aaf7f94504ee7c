//! What is required of a Service.

use serde_json::{Value, json};

use crate::api_server::preparation::field_error::FieldError;
use crate::api_server::preparation::values::{list, text};

const PROTOCOLS: [&str; 3] = ["SCTP", "TCP", "UDP"];

/// What is wrong with a Service.
pub(super) fn service(object: &Value) -> Vec<FieldError> {
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
        errors.extend(port_errors(port, &format!("spec.ports[{at}]")));
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

/// What is wrong with the numbers and the protocol of a port.
fn port_errors(port: &Value, path: &str) -> Vec<FieldError> {
    let number = |name: &str| {
        let number = port.get(name).filter(|number| number.as_i64().is_some_and(|of| !(1..=65535).contains(&of)))?;
        Some(FieldError::invalid(format!("{path}.{name}"), number, "must be between 1 and 65535, inclusive"))
    };
    let protocol = port.get("protocol").unwrap_or(&Value::Null);
    let is_known = PROTOCOLS.iter().any(|known| protocol == known);
    let unknown = (!is_known)
        .then(|| FieldError::not_supported(format!("{path}.protocol"), protocol, &PROTOCOLS.map(|known| json!(known))));
    [number("port"), unknown, number("targetPort")].into_iter().flatten().collect()
}
