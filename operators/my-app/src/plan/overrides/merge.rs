//! Pure: merges a pod template over another as a strategic merge patch does: objects field by field, lists of named things by their
//! merge keys, all other lists as a whole.
//!
//! It works on what is written, and not on typed values as k8s-openapi's `DeepMerge` does: there, a required field that an
//! override leaves out (the name of a volume in a mount of which it changes the mode) would empty it. The tests hold that
//! the two agree on whole items.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

/// The merge key of a list, by its name. In a PodTemplateSpec no two lists of one name have different ones.
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

/// Merges `over` over a template, which is then as the API server would write it.
pub(in crate::plan) fn merge(template: &mut Value, over: &Value) {
    put("", template, over);
    // Both names of the field go together.
    let spec = &mut template["spec"];
    if let Some(account) = spec.get("serviceAccountName").cloned() {
        spec["serviceAccount"] = account;
    }
    complete("", template);
}

pub(super) fn put(name: &str, ours: &mut Value, over: &Value) {
    match (&mut *ours, over) {
        (Value::Object(ours), Value::Object(over)) => {
            for (name, value) in over {
                put(name, ours.entry(name.clone()).or_insert(Value::Null), value);
            }
        }
        (Value::Array(ours), Value::Array(over)) if merge_key(name).is_some() => {
            let key = merge_key(name).unwrap_or_default();
            let (before, all) = (places(key, ours), places(key, over));
            let mut places = before.clone();
            for item in over {
                let of = item[key].to_string();
                let only = [&before, &all].iter().all(|places| places.get(&of).is_some_and(|at| at.len() == 1));
                let places = places.entry(of).or_default();
                match places.iter().find(|at| is_of_protocol(name, &ours[**at], item, only)) {
                    Some(at) => put("", &mut ours[*at], item),
                    None => {
                        places.push(ours.len());
                        ours.push(item.clone());
                    }
                }
            }
        }
        _ => *ours = over.clone(),
    }
}

/// Where the items of each key are in a list: looking for each through the whole list takes seconds where there are thousands.
fn places(key: &str, list: &[Value]) -> BTreeMap<String, Vec<usize>> {
    let mut places = BTreeMap::<_, Vec<usize>>::new();
    for (at, item) in list.iter().enumerate() {
        places.entry(item[key].to_string()).or_default().push(at);
    }
    places
}

/// Whether two items of one key are of one protocol, where that belongs to what the API server tells ports by. One that names none is
/// of the `only` one there is.
fn is_of_protocol(list: &str, ours: &Value, item: &Value, only: bool) -> bool {
    let of = |port: &Value| port["protocol"].as_str().unwrap_or("TCP").to_owned();
    list != "ports" || item["protocol"].is_null() && only || of(ours) == of(item)
}

/// Writes what the API server fills in where we then own the whole, and leaves out what it does not keep: else ours would never be
/// what it holds, and would be applied once by every manager that starts.
fn complete(name: &str, value: &mut Value) {
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
            fields.iter_mut().for_each(|(name, value)| complete(name, value));
        }
        Value::Array(items) => items.iter_mut().for_each(|item| complete("", item)),
        _ => {}
    }
}

/// Whether a field has the value that it has by being left out, in a type that cannot tell the two apart.
fn is_omitted(name: &str, value: &Value) -> bool {
    match name {
        "hostNetwork" | "hostPID" | "hostIPC" | "readOnly" | "stdin" | "stdinOnce" | "tty" => *value == false,
        "initialDelaySeconds" | "hostPort" => *value == 0,
        _ => false,
    }
}
