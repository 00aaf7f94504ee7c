//! The facts of a container.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use crate::facts::{Facts, list, or, resolved};

/// Numbers of ports by their names.
pub type PortNames = BTreeMap<String, Value>;

/// Adds the facts of a container of this pod below `path`.
pub fn container(facts: &mut Facts, path: &str, container: &Value, pod: &Value, names: &PortNames) {
    let mut put = |fact: &str, value: Value| facts.insert(format!("{path}/{fact}"), value);
    let image = container["image"].as_str().unwrap_or_default();
    put("imagePullPolicy", or(&container["imagePullPolicy"], json!(pull_policy(image))));
    let variables = list(&container["env"]);
    // Later ones may refer to earlier ones.
    let order: Vec<&Value> = variables.iter().map(|variable| &variable["name"]).collect();
    put("env", json!(order));
    for variable in variables {
        put(&format!("env/{}", variable["name"].as_str().unwrap_or_default()), value_of(variable));
    }
    for port in list(&container["ports"]) {
        let protocol = or(&port["protocol"], json!("TCP"));
        put(&format!("ports/{}/{}", port["containerPort"], protocol.as_str().unwrap_or_default()), json!(true));
    }
    for mount in list(&container["volumeMounts"]) {
        let at = mount["mountPath"].as_str().unwrap_or_default().trim_end_matches('/');
        put(&format!("mounts/{at}"), mounted(mount, pod));
    }
    for (field, value) in security(&container["securityContext"], &pod["securityContext"]) {
        put(&format!("securityContext/{field}"), value);
    }
    for (field, value) in container.as_object().into_iter().flatten() {
        match &**field {
            "name" | "imagePullPolicy" | "env" | "ports" | "volumeMounts" | "securityContext" => {}
            "terminationMessagePath" if value == "/dev/termination-log" => {}
            "startupProbe" | "readinessProbe" | "livenessProbe" => drop(put(field, probe(value, names))),
            _ => drop(put(field, value.clone())),
        }
    }
}

/// By the image's tag, as Kubernetes defaults it.
fn pull_policy(image: &str) -> &'static str {
    let last = image.rsplit('/').next().unwrap_or_default();
    let moves = !last.contains('@') && last.split_once(':').is_none_or(|(_, tag)| tag == "latest");
    if moves { "Always" } else { "IfNotPresent" }
}

fn value_of(variable: &Value) -> Value {
    let mut from = variable["valueFrom"].clone();
    if from.is_null() {
        return or(&variable["value"], json!(""));
    }
    if let Some(field) = from.get_mut("fieldRef").and_then(Value::as_object_mut) {
        field.remove("apiVersion");
    }
    from
}

/// Its source and which part of it, whatever the volume is called.
fn mounted(mount: &Value, pod: &Value) -> Value {
    let volume = list(&pod["volumes"]).iter().find(|volume| volume["name"] == mount["name"]);
    let mut source = volume.cloned().unwrap_or_default();
    if let Some(fields) = source.as_object_mut() {
        fields.remove("name");
        for kind in fields.values_mut().filter_map(Value::as_object_mut) {
            // A MyApp's scratch space always has a limit.
            kind.remove("sizeLimit");
            kind.retain(|field, value| !(field == "defaultMode" && *value == 0o644));
        }
    }
    // ConfigMaps, Secrets and what is projected can only be read.
    let writable = ["emptyDir", "persistentVolumeClaim"].iter().any(|kind| !source[*kind].is_null());
    let read_only = writable && mount["readOnly"] == true;
    json!({ "source": source, "subPath": mount["subPath"], "readOnly": read_only })
}

/// What holds for a container, of its pod's and of its own.
fn security(container: &Value, pod: &Value) -> Map<String, Value> {
    let mut all = Map::new();
    for field in ["runAsUser", "runAsGroup", "runAsNonRoot", "seccompProfile"] {
        if !pod[field].is_null() {
            all.insert(field.to_owned(), pod[field].clone());
        }
    }
    all.extend(container.as_object().cloned().unwrap_or_default());
    for names in all.get_mut("capabilities").and_then(Value::as_object_mut).into_iter().flat_map(Map::values_mut) {
        *names = list(names).iter().map(|name| json!(name.as_str().unwrap_or_default().to_uppercase())).collect();
    }
    let usual = [
        ("allowPrivilegeEscalation", json!(false)),
        ("privileged", json!(false)),
        ("readOnlyRootFilesystem", json!(false)),
        ("seccompProfile", json!({ "type": "RuntimeDefault" })),
    ];
    all.retain(|field, value| !usual.iter().any(|(name, usual)| name == field && usual == value));
    all
}

fn probe(probe: &Value, names: &PortNames) -> Value {
    let mut probe = probe.clone();
    for kind in ["httpGet", "tcpSocket", "grpc"] {
        if let Some(action) = probe.get_mut(kind).and_then(Value::as_object_mut) {
            let port = resolved(&action["port"], names);
            action.insert("port".to_owned(), port);
            if kind == "httpGet" {
                action.entry("path").or_insert(json!("/"));
                action.entry("scheme").or_insert(json!("HTTP"));
            }
        }
    }
    let defaults = [
        ("initialDelaySeconds", 0),
        ("periodSeconds", 10),
        ("timeoutSeconds", 1),
        ("failureThreshold", 3),
        ("successThreshold", 1),
    ];
    for (field, default) in defaults {
        probe[field] = or(&probe[field], json!(default));
    }
    probe
}
