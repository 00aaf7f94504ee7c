//! What several controllers read of a pod.

use serde_json::Value;

use super::object::{items, text};

/// Whether all containers of a pod have ended for good.
pub(super) fn is_ended(pod: &Value) -> bool {
    matches!(text(&pod["status"]["phase"]), "Succeeded" | "Failed")
}

/// The names of the PVCs of a pod.
pub(super) fn claims(pod: &Value) -> impl Iterator<Item = &str> {
    let volumes = items(&pod["spec"]["volumes"]).iter();
    volumes.filter_map(|volume| volume["persistentVolumeClaim"]["claimName"].as_str())
}
