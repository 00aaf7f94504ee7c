//! The defaults of built-in kinds.
//!
//! Source: `pkg/apis/*/v*/defaults.go` of Kubernetes 1.36.

use serde_json::{Value, json};

use super::values::{default, object_at, text, within};
use crate::api_server::errors::unmodelled;
use crate::api_server::request::ApiError;

mod autoscalers;
mod claims;
mod containers;
mod images;
mod pods;
mod services;
mod volumes;
mod workloads;

/// Kinds without defaults.
const NONE: [&str; 13] = [
    "configmaps",
    "controllerrevisions",
    "endpoints",
    "endpointslices",
    "events",
    "ingresses",
    "nodes",
    "priorityclasses",
    "rolebindings",
    "resourcequotas",
    "roles",
    "serviceaccounts",
    "limitranges",
];

/// Adds the defaults of that kind.
pub(super) fn fill_in(plural: &str, object: &mut Value) -> Result<(), ApiError> {
    match plural {
        "pods" => pods::pod(object),
        "deployments" => workloads::deployment(object),
        "replicasets" => workloads::replica_set(object),
        "statefulsets" => workloads::stateful_set(object),
        "jobs" => workloads::job(object),
        "services" => services::service(object),
        "horizontalpodautoscalers" => autoscalers::autoscaler(object),
        "persistentvolumeclaims" => claims::claim(object),
        "persistentvolumes" => volume(object),
        "storageclasses" => storage_class(object),
        "secrets" => secret(object),
        "namespaces" => namespace(object),
        "leases" | "poddisruptionbudgets" => drop(object_at(object, &["spec"])),
        _ if NONE.contains(&plural) => {}
        _ => return Err(unmodelled(format!("the defaults of {plural}"))),
    }
    Ok(())
}

fn volume(volume: &mut Value) {
    if let Some(spec) = object_at(volume, &["spec"]) {
        claims::claim_spec(spec);
        default(spec, "persistentVolumeReclaimPolicy", "Retain");
        if let Some(path) = within(spec, &["hostPath"]) {
            default(path, "type", "");
        }
    }
}

fn storage_class(class: &mut Value) {
    if let Some(fields) = class.as_object_mut() {
        default(fields, "reclaimPolicy", "Delete");
        default(fields, "volumeBindingMode", "Immediate");
    }
}

/// Moves the fields of `stringData` to `data`, and adds the type.
fn secret(secret: &mut Value) {
    let texts = secret.as_object_mut().and_then(|fields| fields.remove("stringData"));
    if let Some(texts) = texts.as_ref().and_then(Value::as_object)
        && let Some(data) = object_at(secret, &["data"])
    {
        for (name, text) in texts {
            let bytes = k8s_openapi::ByteString(text.as_str().unwrap_or_default().as_bytes().to_vec());
            data.insert(name.clone(), json!(bytes));
        }
    }
    if let Some(fields) = secret.as_object_mut() {
        default(fields, "type", "Opaque");
    }
}

/// A Namespace has its name as a label.
fn namespace(namespace: &mut Value) {
    let name = text(namespace, "/metadata/name").to_owned();
    if let Some(labels) = object_at(namespace, &["metadata", "labels"])
        && !name.is_empty()
    {
        labels.insert("kubernetes.io/metadata.name".to_owned(), name.into());
    }
}

#[cfg(test)]
mod tests;
