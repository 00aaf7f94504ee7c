//! What the API server alone decides when it creates an object of a built-in kind.
//!
//! Source: `PrepareForCreate` of the strategies in `pkg/registry`, and the admission plugins that are on by default.

use serde_json::{Value, json};

use super::services;
use super::values::{default, list, object_at, text};
use crate::api_server::errors::unmodelled;
use crate::api_server::kinds::Kind;
use crate::api_server::request::ApiError;

/// Fills in the first status, and what the kind needs besides.
pub(super) fn prepare(kind: &Kind, object: &mut Value) -> Result<(), ApiError> {
    let status = match kind.plural.as_str() {
        "deployments" | "resourcequotas" => json!({}),
        "replicasets" => json!({ "replicas": 0 }),
        "statefulsets" => json!({ "availableReplicas": 0, "replicas": 0 }),
        "horizontalpodautoscalers" => json!({ "desiredReplicas": 0 }),
        "ingresses" => json!({ "loadBalancer": {} }),
        "namespaces" => json!({ "phase": "Active" }),
        "persistentvolumeclaims" | "persistentvolumes" => json!({ "phase": "Pending" }),
        "poddisruptionbudgets" => {
            json!({ "currentHealthy": 0, "desiredHealthy": 0, "disruptionsAllowed": 0, "expectedPods": 0 })
        }
        "jobs" => {
            select_by_uid(object)?;
            json!({})
        }
        "pods" => {
            admit_pod(object)?;
            json!({ "phase": "Pending", "qosClass": quality_of_service(object) })
        }
        "services" => {
            services::allocate(None, object)?;
            json!({ "loadBalancer": {} })
        }
        _ => return Ok(()),
    };
    if let Some(fields) = object.as_object_mut() {
        fields.insert("status".to_owned(), status);
    }
    Ok(())
}

/// A Job selects its pods by its uid, unless it has a selector of its own.
fn select_by_uid(job: &mut Value) -> Result<(), ApiError> {
    if job.pointer("/spec/manualSelector") == Some(&Value::Bool(true)) {
        return Ok(());
    }
    let (uid, name) = (text(job, "/metadata/uid").to_owned(), text(job, "/metadata/name").to_owned());
    if uid.is_empty() {
        return Err(unmodelled("a Job that is prepared before it has a uid"));
    }
    if let Some(labels) = object_at(job, &["spec", "template", "metadata", "labels"]) {
        for (label, value) in [("controller-uid", &uid), ("job-name", &name)] {
            labels.insert(label.to_owned(), json!(value));
            labels.insert(format!("batch.kubernetes.io/{label}"), json!(value));
        }
    }
    if let Some(selector) = object_at(job, &["spec", "selector", "matchLabels"]) {
        selector.insert("batch.kubernetes.io/controller-uid".to_owned(), json!(uid));
    }
    Ok(())
}

/// What the admission plugins Priority, ServiceAccount and DefaultTolerationSeconds add.
fn admit_pod(pod: &mut Value) -> Result<(), ApiError> {
    let priority = match text(pod, "/spec/priorityClassName") {
        "" => 0,
        "system-cluster-critical" => 2_000_000_000,
        "system-node-critical" => 2_000_001_000,
        other => return Err(unmodelled(format!("PriorityClass {other:?} of a pod"))),
    };
    let mut tolerations = list(pod, "/spec/tolerations").to_vec();
    for taint in ["node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"] {
        let tolerates = |toleration: &Value| {
            ["", taint].contains(&text(toleration, "/key")) && ["", "NoExecute"].contains(&text(toleration, "/effect"))
        };
        if !tolerations.iter().any(tolerates) {
            let added = json!({ "key": taint, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300 });
            tolerations.push(added);
        }
    }
    if let Some(spec) = object_at(pod, &["spec"]) {
        spec.insert("priority".to_owned(), json!(priority));
        default(spec, "preemptionPolicy", "PreemptLowerPriority");
        default(spec, "serviceAccountName", "default");
        default(spec, "serviceAccount", "default");
        spec.insert("tolerations".to_owned(), tolerations.into());
    }
    Ok(())
}

/// The quality of service by the requests and limits of the containers.
fn quality_of_service(pod: &Value) -> &'static str {
    let containers = || list(pod, "/spec/containers").iter().chain(list(pod, "/spec/initContainers"));
    let amount = |container: &Value, kind: &str, of: &str| {
        container.pointer(&format!("/resources/{kind}/{of}")).filter(|amount| **amount != "0").cloned()
    };
    let is_guaranteed = |container: &Value| {
        ["cpu", "memory"].iter().all(|of| {
            let limit = amount(container, "limits", of);
            limit.is_some() && limit == amount(container, "requests", of)
        })
    };
    let asks_for_nothing = |container: &Value| {
        ["cpu", "memory"]
            .iter()
            .all(|of| amount(container, "limits", of).is_none() && amount(container, "requests", of).is_none())
    };
    if containers().all(asks_for_nothing) {
        "BestEffort"
    } else if containers().all(is_guaranteed) {
        "Guaranteed"
    } else {
        "Burstable"
    }
}
