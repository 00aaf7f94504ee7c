//! What of a pod the model lacks.

use serde_json::Value;

use super::super::object::{items, text};

/// What of a pod the kubelet cannot do, unless a model knows its programs.
pub(super) fn of_containers(pod: &Value) -> Vec<String> {
    let spec = &pod["spec"];
    let mut lacks = Vec::new();
    for container in items(&spec["initContainers"]) {
        let image = text(&container["image"]);
        if image.contains("nope") || image.contains("crash") || !container["restartPolicy"].is_null() {
            lacks.push(format!(
                "init container {} of the image {image} that fails or keeps running",
                text(&container["name"])
            ));
        }
    }
    lacks
}

/// What of a pod the scheduler cannot do, and the kubelet cannot in any pod.
pub(super) fn of_pod(pod: &Value) -> Vec<String> {
    let spec = &pod["spec"];
    let mut lacks = Vec::new();
    for affinity in ["nodeAffinity", "podAffinity", "podAntiAffinity"] {
        if !spec["affinity"][affinity]["requiredDuringSchedulingIgnoredDuringExecution"].is_null() {
            lacks.push(format!("required {affinity}"));
        }
    }
    if items(&spec["topologySpreadConstraints"]).iter().any(|one| text(&one["whenUnsatisfiable"]) != "ScheduleAnyway") {
        lacks.push("topologySpreadConstraints with DoNotSchedule".to_owned());
    }
    let volumes = items(&spec["volumes"]).iter();
    lacks.extend(volumes.filter(|volume| !volume["ephemeral"].is_null()).map(|_| "an ephemeral volume".to_owned()));
    lacks
}
