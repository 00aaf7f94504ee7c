//! On which node a pod runs.

use serde_json::Value;

use super::super::object::{is_deleting, name, text};
use super::super::pod::claims;
use super::content::Find;

/// The nodes.
pub(super) const NODES: [&str; 4] = ["node-0", "node-1", "node-2", "node-3"];

/// The node of a pod: of those that it selects, the one with the fewest pods.
///
/// # Errors
/// Why there is none, in the words of the scheduler.
pub(super) fn place(pod: &Value, find: &Find<'_>, occupied: impl Fn(&str) -> usize) -> Result<&'static str, String> {
    let count = NODES.len();
    for claim in claims(pod) {
        let problem = match find("persistentvolumeclaims", claim) {
            None => format!("persistentvolumeclaim {claim:?} not found"),
            Some(claim) if is_deleting(&claim) => format!("persistentvolumeclaim {:?} is being deleted", name(&claim)),
            Some(claim) if claim["status"]["phase"] != "Bound" => {
                "pod has unbound immediate PersistentVolumeClaims".to_owned()
            }
            Some(_) => continue,
        };
        return Err(format!("0/{count} nodes are available: {problem}."));
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
