//! The pods of a ReplicaSet.

use std::sync::Arc;

use serde_json::{Value, json};

use super::super::conditions;
use super::super::object::{annotation, controller_reference, items, name, namespace, number, seconds, text, uid};

/// The annotation of pods that are cheaper or dearer to delete than others.
const DELETION_COST: &str = "controller.kubernetes.io/pod-deletion-cost";

/// A new pod.
pub(super) fn pod(set: &Value) -> Value {
    let template = &set["spec"]["template"];
    let mut metadata = json!({
        "generateName": format!("{}-", name(set)),
        "namespace": namespace(set),
        "ownerReferences": [controller_reference(set, "apps/v1", "ReplicaSet")],
    });
    for field in ["labels", "annotations", "finalizers"] {
        let value = &template["metadata"][field];
        if !value.is_null() {
            super::set(&mut metadata, &[field], value.clone());
        }
    }
    json!({ "apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": template["spec"] })
}

/// The pods, those first that are to be deleted first: without a node, pending, not ready, cheap, beside others on a node, ready
/// for a short time, restarted often, young. (kubernetes: `controller_utils.go`, `ActivePodsWithRanks`; where that compares the
/// logarithm of ages, this compares the ages)
pub(super) fn least_wanted(pods: &[Arc<Value>]) -> Vec<&Value> {
    let mut sorted: Vec<&Value> = pods.iter().map(AsRef::as_ref).collect();
    sorted.sort_by_cached_key(|pod| rank(pod, pods));
    sorted
}

fn rank(pod: &Value, all: &[Arc<Value>]) -> ([i64; 8], String) {
    let (status, node) = (&pod["status"], text(&pod["spec"]["nodeName"]));
    let beside = all.iter().filter(|other| text(&other["spec"]["nodeName"]) == node).count();
    let ready = conditions::find_true(status, "Ready");
    let restarts = items(&status["containerStatuses"]).iter().map(|container| number(&container["restartCount"])).max();
    let ranks = [
        i64::from(!node.is_empty()),
        match text(&status["phase"]) {
            "Pending" | "" => 0,
            "Unknown" => 1,
            _ => 2,
        },
        i64::from(ready.is_some()),
        annotation(pod, DELETION_COST).parse().unwrap_or_default(),
        -i64::try_from(beside).unwrap_or_default(),
        -ready.map_or(0, |ready| seconds(&ready["lastTransitionTime"])),
        -restarts.unwrap_or_default(),
        -seconds(&pod["metadata"]["creationTimestamp"]),
    ];
    (ranks, uid(pod).to_owned())
}
