//! On which node a pod runs.

use serde_json::Value;

use super::super::object::text;
use super::content::Find;
use super::unmodelled::claims;

/// The nodes.
pub(super) const NODES: [&str; 4] = ["node-0", "node-1", "node-2", "node-3"];

/// The node of a pod: of those that it selects, the one with the fewest pods.
///
/// # Errors
/// Why there is none, in the words of the scheduler.
pub(super) fn place(pod: &Value, find: &Find<'_>, occupied: impl Fn(&str) -> usize) -> Result<&'static str, String> {
    let count = NODES.len();
    if let Some(claim) = claims(pod).find(|claim| find("persistentvolumeclaims", claim).is_none()) {
        return Err(format!("0/{count} nodes are available: persistentvolumeclaim {claim:?} not found."));
    }
    let selected = NODES.iter().copied().filter(|node| is_selected(pod, node));
    selected.min_by_key(|node| occupied(node)).ok_or_else(|| {
        format!("0/{count} nodes are available: {count} node(s) didn't match Pod's node affinity/selector.")
    })
}

/// Whether the node has all labels that the pod selects.
fn is_selected(pod: &Value, node: &str) -> bool {
    let selector = pod["spec"]["nodeSelector"].as_object();
    selector.into_iter().flatten().all(|(label, value)| match label.as_str() {
        "kubernetes.io/hostname" => text(value) == node,
        "kubernetes.io/os" => value == "linux",
        "kubernetes.io/arch" => value == "amd64",
        _ => false,
    })
}
