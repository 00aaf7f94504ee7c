//! Pure: merges a pod template over another as a strategic merge patch does: objects field by field, lists with a merge key by that key,
//! and all other lists by replacing them.
//!
//! It merges JSON and not typed values, unlike k8s-openapi's `DeepMerge`: in a typed value, a required field that the override does not
//! set (such as the name of a volume in a mount of which it changes the mode) is empty, and would clear the operator's. The tests check
//! that both give the same result for complete items.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

/// The merge key of a list, by the list's name. In a PodTemplateSpec, lists of the same name have the same key.
/// Source: `x-kubernetes-patch-merge-key` in <https://github.com/kubernetes/kubernetes/blob/v1.33.0/api/openapi-spec/swagger.json>
fn merge_key(list: &str) -> Option<&'static str> {
    match list {
        "containers" | "initContainers" | "volumes" | "imagePullSecrets" | "env" | "resourceClaims"
        | "schedulingGates" => Some("name"),
        "ports" => Some("containerPort"),
        "volumeMounts" => Some("mountPath"),
        "volumeDevices" => Some("devicePath"),
        "topologySpreadConstraints" => Some("topologyKey"),
        "hostAliases" => Some("ip"),
        _ => None,
    }
}

/// Merges `over` over a template, and normalizes the result as the API server does.
pub(in crate::plan) fn merge(template: &mut Value, over: &Value) {
    put("", template, over);
    // The older name of the same field.
    let spec = &mut template["spec"];
    if let Some(account) = spec.get("serviceAccountName").cloned() {
        spec["serviceAccount"] = account;
    }
    normalize("", template);
}

pub(super) fn put(name: &str, base: &mut Value, over: &Value) {
    match (&mut *base, over) {
        (Value::Object(base), Value::Object(over)) => {
            for (name, value) in over {
                put(name, base.entry(name.clone()).or_insert(Value::Null), value);
            }
        }
        (Value::Array(base), Value::Array(over)) if merge_key(name).is_some() => {
            let key = merge_key(name).unwrap_or_default();
            let (before, all) = (positions(key, base), positions(key, over));
            let mut positions = before.clone();
            for item in over {
                let of = item[key].to_string();
                let only = [&before, &all].iter().all(|positions| positions.get(&of).is_some_and(|at| at.len() == 1));
                let positions = positions.entry(of).or_default();
                match positions.iter().find(|at| has_same_protocol(name, &base[**at], item, only)) {
                    Some(at) => put("", &mut base[*at], item),
                    None => {
                        positions.push(base.len());
                        base.push(item.clone());
                    }
                }
            }
        }
        _ => *base = over.clone(),
    }
}

/// The positions of the items of each key in a list. Searching the list for each item would take seconds for thousands of items.
fn positions(key: &str, list: &[Value]) -> BTreeMap<String, Vec<usize>> {
    let mut positions = BTreeMap::<_, Vec<usize>>::new();
    for (at, item) in list.iter().enumerate() {
        positions.entry(item[key].to_string()).or_default().push(at);
    }
    positions
}

/// Whether two items with the same key also have the same protocol, which identifies a port too. An override without a protocol matches
/// the `only` port of that number.
fn has_same_protocol(list: &str, base: &Value, item: &Value, only: bool) -> bool {
    let of = |port: &Value| port["protocol"].as_str().unwrap_or("TCP").to_owned();
    list != "ports" || item["protocol"].is_null() && only || of(base) == of(item)
}

/// Adds the API server's defaults in atomic fields, and removes values that it does not store: otherwise the template would never match
/// the stored one, and each manager would apply it once after its start.
fn normalize(name: &str, value: &mut Value) {
    let default = |field: &str, value: &mut Map<String, Value>, default: Value| {
        value.entry(field.to_owned()).or_insert(default);
    };
    match value {
        Value::Object(fields) => {
            match name {
                "fieldRef" => default("apiVersion", fields, json!("v1")),
                "resourceFieldRef" => default("divisor", fields, json!("0")),
                "serviceAccountToken" => default("expirationSeconds", fields, json!(3600)),
                _ => {}
            }
            fields.retain(|name, value| !is_omitted(name, value));
            fields.iter_mut().for_each(|(name, value)| normalize(name, value));
        }
        Value::Array(items) => items.iter_mut().for_each(|item| normalize("", item)),
        _ => {}
    }
}

/// Whether a field has the zero value of a type in which that equals an absent field.
fn is_omitted(name: &str, value: &Value) -> bool {
    match name {
        "hostNetwork" | "hostPID" | "hostIPC" | "readOnly" | "stdin" | "stdinOnce" | "tty" => *value == false,
        "initialDelaySeconds" | "hostPort" => *value == 0,
        _ => false,
    }
}
