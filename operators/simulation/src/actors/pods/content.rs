//! What is in a pod, and how it is found what a pod refers to.

use std::sync::Arc;

use serde_json::Value;

use super::super::object::{items, text};

/// The containers of a pod.
pub(super) fn containers(pod: &Value) -> &[Value] {
    items(&pod["spec"]["containers"])
}

/// Whether all containers of a pod have ended for good.
pub(super) fn is_ended(pod: &Value) -> bool {
    matches!(text(&pod["status"]["phase"]), "Succeeded" | "Failed")
}

/// Finds an object of that kind and name in the namespace of a pod.
pub(super) type Find<'a> = dyn Fn(&str, &str) -> Option<Arc<Value>> + 'a;
