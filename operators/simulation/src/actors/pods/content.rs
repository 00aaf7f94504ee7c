//! What is in a pod, and how it is found what a pod refers to.

use std::sync::Arc;

use serde_json::Value;

use super::super::object::items;

/// The containers of a pod.
pub(super) fn containers(pod: &Value) -> &[Value] {
    items(&pod["spec"]["containers"])
}

/// Finds an object of that kind and name in the namespace of a pod.
pub(super) type Find<'a> = dyn Fn(&str, &str) -> Option<Arc<Value>> + 'a;
