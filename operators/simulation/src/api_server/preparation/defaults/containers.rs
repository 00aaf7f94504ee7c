//! The defaults of containers.

use serde_json::{Value, json};

use super::images::pull_policy;
use super::volumes::field_source;
use crate::api_server::preparation::values::{Fields, default, items, text_of, within};

/// Adds the defaults of a container.
pub(super) fn container(container: &mut Fields) {
    let policy = pull_policy(text_of(container, "image"));
    default(container, "imagePullPolicy", policy);
    default(container, "resources", json!({}));
    default(container, "terminationMessagePath", "/dev/termination-log");
    default(container, "terminationMessagePolicy", "File");
    for port in items(container, "ports") {
        default(port, "protocol", "TCP");
    }
    for variable in items(container, "env") {
        if let Some(source) = within(variable, &["valueFrom"]) {
            field_source(source);
        }
    }
    for name in ["livenessProbe", "readinessProbe", "startupProbe"] {
        if let Some(found) = within(container, &[name]) {
            probe(found);
        }
    }
    for hook in ["postStart", "preStop"] {
        if let Some(found) = within(container, &["lifecycle", hook, "httpGet"]) {
            http_get(found);
        }
    }
}

fn probe(probe: &mut Fields) {
    default(probe, "timeoutSeconds", 1);
    default(probe, "periodSeconds", 10);
    default(probe, "successThreshold", 1);
    default(probe, "failureThreshold", 3);
    if let Some(found) = within(probe, &["httpGet"]) {
        http_get(found);
    }
    if let Some(found) = within(probe, &["grpc"]) {
        default(found, "service", "");
    }
}

fn http_get(action: &mut Fields) {
    default(action, "path", "/");
    default(action, "scheme", "HTTP");
}

/// In the network of the host, a port is that of the host.
pub(super) fn host_port(port: &mut Fields) {
    if let Some(number) = port.get("containerPort").cloned() {
        default(port, "hostPort", number);
    }
}

/// A pod, but not a template, requests what it is limited to.
pub(super) fn request_limits(container: &mut Fields) {
    let Some(resources) = within(container, &["resources"]) else { return };
    let Some(limits) = resources.get("limits").and_then(Value::as_object).cloned() else { return };
    default(resources, "requests", json!({}));
    if let Some(requests) = within(resources, &["requests"]) {
        for (name, limit) in limits {
            default(requests, &name, limit);
        }
    }
}
