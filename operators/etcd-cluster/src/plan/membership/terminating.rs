//! Pure: the message about pods that have to be gone before a step, because they may still run.

use runtime::projections::Pod;

/// That `what` waits for those of the pods that are terminating; none if there is none.
pub(in crate::plan) fn message<'p>(what: &str, pods: impl Iterator<Item = &'p Pod>) -> Option<String> {
    let left: Vec<String> = pods.filter(|pod| pod.meta.deleting).map(place).collect();
    (!left.is_empty()).then(|| {
        format!("{what}: {}; if a node is down for good, delete its pod with --grace-period=0 --force", left.join(", "))
    })
}

/// A pod, and where it is.
fn place(pod: &Pod) -> String {
    let node = pod.details.as_ref().and_then(|details| details.node.as_deref());
    node.map_or_else(|| pod.meta.key.name.to_string(), |node| format!("{} on node {node}", pod.meta.key.name))
}
