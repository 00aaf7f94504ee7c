//! The pods of a Job.

use serde_json::{Value, json};

use super::super::object::{
    controller_reference, has_finalizer, is_deleting, items, name, namespace, set as set_field, text,
};
use super::super::pod::is_ended;

/// The API version and the kind of what owns the pods.
pub(super) const OWNER: (&str, &str) = ("batch/v1", "Job");

/// The finalizer of pods that the status of their Job does not count yet.
pub(super) const TRACKING: &str = "batch.kubernetes.io/job-tracking";

/// A new pod.
pub(super) fn pod(job: &Value) -> Value {
    let template = &job["spec"]["template"];
    let mut finalizers = items(&template["metadata"]["finalizers"]).to_vec();
    if !finalizers.iter().any(|one| one == TRACKING) {
        finalizers.push(json!(TRACKING));
    }
    let mut metadata = json!({
        "generateName": format!("{}-", name(job)), "namespace": namespace(job), "finalizers": finalizers,
        "ownerReferences": [controller_reference(job, OWNER.0, OWNER.1)],
    });
    for field in ["labels", "annotations"] {
        let value = &template["metadata"][field];
        if !value.is_null() {
            set_field(&mut metadata, &[field], value.clone());
        }
    }
    json!({ "apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": template["spec"] })
}

/// Whether a pod has succeeded.
pub(super) fn has_succeeded(pod: &Value) -> bool {
    text(&pod["status"]["phase"]) == "Succeeded"
}

/// Whether a pod counts as failed. One that is being deleted does, unless the Job waits until it has ended.
pub(super) fn has_failed(job: &Value, pod: &Value) -> bool {
    match text(&pod["status"]["phase"]) {
        "Failed" => true,
        "Succeeded" => false,
        _ => is_deleting(pod) && !replaces_failed_only(job),
    }
}

/// Whether a pod works, or will.
pub(super) fn is_active(pod: &Value) -> bool {
    !is_deleting(pod) && !is_ended(pod)
}

/// Whether a pod is being deleted, and has not ended.
pub(super) fn is_terminating(pod: &Value) -> bool {
    is_deleting(pod) && !is_ended(pod)
}

/// Whether the status of the Job does not count a pod yet.
pub(super) fn is_tracked(pod: &Value) -> bool {
    has_finalizer(pod, TRACKING)
}

/// Whether a Job creates the next pod only once the one before has ended.
pub(super) fn replaces_failed_only(job: &Value) -> bool {
    text(&job["spec"]["podReplacementPolicy"]) == "Failed" || !job["spec"]["podFailurePolicy"].is_null()
}
