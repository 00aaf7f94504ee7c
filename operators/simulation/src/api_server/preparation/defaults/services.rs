//! The defaults of Services.

use serde_json::{Value, json};

use crate::api_server::preparation::values::{Fields, default, items, object_at, text_of, within};

/// Adds the defaults of a Service.
pub(super) fn service(service: &mut Value) {
    let Some(spec) = object_at(service, &["spec"]) else { return };
    default(spec, "type", "ClusterIP");
    default(spec, "sessionAffinity", "None");
    if text_of(spec, "sessionAffinity") == "ClientIP" {
        default(spec, "sessionAffinityConfig", json!({}));
        if let Some(config) = within(spec, &["sessionAffinityConfig"]) {
            default(config, "clientIP", json!({}));
        }
        if let Some(client) = within(spec, &["sessionAffinityConfig", "clientIP"]) {
            default(client, "timeoutSeconds", 10800);
        }
    } else {
        spec.remove("sessionAffinityConfig");
    }
    items(spec, "ports").for_each(port);
    let type_ = text_of(spec, "type").to_owned();
    if is_external(spec) {
        default(spec, "externalTrafficPolicy", "Cluster");
    }
    if type_ != "ExternalName" {
        default(spec, "internalTrafficPolicy", "Cluster");
    }
    if type_ == "LoadBalancer" {
        default(spec, "allocateLoadBalancerNodePorts", true);
    }
}

fn port(port: &mut Fields) {
    default(port, "protocol", "TCP");
    if port.get("targetPort").is_none_or(|target| *target == 0)
        && let Some(number) = port.get("port").cloned()
    {
        port.insert("targetPort".to_owned(), number);
    }
}

/// Whether the Service can be reached from outside.
fn is_external(spec: &Fields) -> bool {
    let has_addresses = || spec.get("externalIPs").and_then(Value::as_array).is_some_and(|all| !all.is_empty());
    match text_of(spec, "type") {
        "NodePort" | "LoadBalancer" => true,
        "ClusterIP" => has_addresses(),
        _ => false,
    }
}
