//! The scheduler and the kubelets.
//!
//! Nodes have no limits, never fail, and are no objects. Containers start, and some fail by the name of their image: one with `nope`
//! cannot be pulled, one with `crash` ends with an error a few seconds after each start. Not modelled, but noted so that the
//! schedule fails: restart policies other than `Always`, init containers that fail or keep running, required affinity, required
//! topology spread, volumes of unbound PVCs, and changes of a running pod's images. Not modelled at all: probes beyond a delay of
//! readiness, hooks, resources, evictions, Events, and the containers' states while a pod terminates.

use std::collections::BTreeSet;
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use super::client::Client;
use super::object::{items, text, uid};

mod kubelet;
mod life;
mod needs;
mod placement;
mod scheduler;
mod status;
mod unmodelled;

pub use kubelet::Kubelet;
pub use scheduler::Scheduler;

/// The nodes.
const NODES: [&str; 4] = ["node-0", "node-1", "node-2", "node-3"];

/// What was noted of pods, so that it is noted once.
#[derive(Default)]
struct Notes(BTreeSet<String>);

impl Notes {
    /// Notes what the model lacks about a pod.
    fn add(&mut self, client: &Client<'_>, pod: &Value, lacks: impl IntoIterator<Item = String>) {
        for lack in lacks {
            if self.0.insert(format!("{} {lack}", uid(pod))) {
                let of = format!("{}/{}", super::object::namespace(pod), super::object::name(pod));
                client.note_unmodelled(format!("pod {of}: {lack}"));
            }
        }
    }
}

/// The containers of a pod.
fn containers(pod: &Value) -> &[Value] {
    items(&pod["spec"]["containers"])
}

/// Whether all containers of a pod have ended for good.
fn is_ended(pod: &Value) -> bool {
    matches!(text(&pod["status"]["phase"]), "Succeeded" | "Failed")
}

/// Finds an object of that kind and name in the namespace of a pod.
type Find<'a> = dyn Fn(&str, &str) -> Option<Arc<Value>> + 'a;

/// That time, so many milliseconds later.
fn later(at: Timestamp, milliseconds: u64) -> Timestamp {
    let by = SignedDuration::from_millis(i64::try_from(milliseconds).unwrap_or(i64::MAX));
    at.checked_add(by).unwrap_or(Timestamp::MAX)
}

#[cfg(test)]
mod tests;
