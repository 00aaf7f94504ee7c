//! Addresses and node ports of Services: allocated from a hash of their name, and kept as long as they are needed.
//!
//! Source: `pkg/registry/core/service`.

use serde_json::{Value, json};

use super::values::{Fields, default, items, list, object_at, text, text_of};
use crate::api_server::errors::unmodelled;
use crate::api_server::request::ApiError;

/// Allocates what a Service needs and does not have yet, and releases what it no longer needs.
pub(super) fn allocate(before: Option<&Value>, service: &mut Value) -> Result<(), ApiError> {
    let hash = hash(&format!("{}/{}", text(service, "/metadata/namespace"), text(service, "/metadata/name")));
    let nothing = json!({});
    let earlier = before.and_then(|before| before.get("spec")).unwrap_or(&nothing);
    let Some(spec) = object_at(service, &["spec"]) else { return Ok(()) };
    if list(earlier, "/ipFamilies").iter().chain(families(spec)).any(|family| family != "IPv4") {
        return Err(unmodelled("a Service with IPv6"));
    }
    if text_of(spec, "type") == "ExternalName" {
        release_addresses(earlier, spec);
    } else {
        allocate_addresses(earlier, spec, hash)?;
    }
    allocate_ports(earlier, spec, hash);
    release_external(earlier, spec);
    Ok(())
}

fn families(spec: &Fields) -> &[Value] {
    spec.get("ipFamilies").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

fn release_addresses(earlier: &Value, spec: &mut Fields) {
    for name in ["clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy", "internalTrafficPolicy"] {
        if spec.get(name).is_some_and(|value| earlier.get(name) == Some(value)) {
            spec.remove(name);
        }
    }
}

fn allocate_addresses(earlier: &Value, spec: &mut Fields, hash: u64) -> Result<(), ApiError> {
    for name in ["ipFamilies", "ipFamilyPolicy", "clusterIP"] {
        if let Some(value) = earlier.get(name) {
            default(spec, name, value.clone());
        }
    }
    let is_headless = text_of(spec, "clusterIP") == "None";
    if is_headless && !spec.contains_key("selector") && !spec.contains_key("ipFamilyPolicy") {
        return Err(unmodelled("a headless Service without a selector, which has both families"));
    }
    default(spec, "ipFamilyPolicy", "SingleStack");
    if text_of(spec, "ipFamilyPolicy") == "RequireDualStack" {
        return Err(unmodelled("a Service that requires both families"));
    }
    default(spec, "ipFamilies", json!(["IPv4"]));
    let [.., second, third, fourth] = hash.to_le_bytes();
    default(spec, "clusterIP", format!("10.{}.{third}.{fourth}", 96 + second % 16));
    let address = text_of(spec, "clusterIP").to_owned();
    let is_changed = text(earlier, "/clusterIP") != address && spec.get("clusterIPs") == earlier.get("clusterIPs");
    if is_changed || !spec.contains_key("clusterIPs") {
        spec.insert("clusterIPs".to_owned(), json!([address]));
    }
    Ok(())
}

/// Whether the ports of a Service are those of each node, too.
fn has_node_ports(type_: &str) -> bool {
    ["NodePort", "LoadBalancer"].contains(&type_)
}

fn allocate_ports(earlier: &Value, spec: &mut Fields, hash: u64) {
    let had = has_node_ports(text(earlier, "/type"));
    let allocates = spec.get("allocateLoadBalancerNodePorts") != Some(&Value::Bool(false));
    let needs = has_node_ports(text_of(spec, "type"));
    let same = |one: &Fields, other: &Value| ["port", "protocol"].iter().all(|name| one.get(*name) == other.get(*name));
    for port in items(spec, "ports") {
        let earlier_port = list(earlier, "/ports").iter().find(|other| same(port, other));
        let number = earlier_port.and_then(|port| port.get("nodePort"));
        if !needs && had && port.get("nodePort").is_some() && port.get("nodePort") == number {
            port.remove("nodePort");
        }
        if !needs {
            continue;
        }
        if let Some(number) = number {
            default(port, "nodePort", number.clone());
        } else if allocates {
            let own = port.get("port").and_then(Value::as_u64).unwrap_or(0);
            default(port, "nodePort", 30000 + hash.wrapping_add(own) % 2768);
        }
    }
}

/// Drops settings of the former type, and allocates the port of health checks.
fn release_external(earlier: &Value, spec: &mut Fields) {
    let type_ = text_of(spec, "type").to_owned();
    let is_local = type_ == "LoadBalancer" && text_of(spec, "externalTrafficPolicy") == "Local";
    let has_addresses = spec.contains_key("externalIPs");
    let mut release = |name: &str, is_needed: bool| {
        if !is_needed && spec.get(name).is_some_and(|value| earlier.get(name) == Some(value)) {
            spec.remove(name);
        }
    };
    release("externalTrafficPolicy", has_node_ports(&type_) || has_addresses);
    release("allocateLoadBalancerNodePorts", type_ == "LoadBalancer");
    release("loadBalancerClass", type_ == "LoadBalancer");
    release("healthCheckNodePort", is_local);
    if is_local {
        let number = earlier.get("healthCheckNodePort").cloned();
        default(spec, "healthCheckNodePort", number.unwrap_or_else(|| json!(32767)));
    }
}

/// A hash (FNV-1a) that is the same in each run.
fn hash(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}
