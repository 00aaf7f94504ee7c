//! The scheduler and the kubelets.
//!
//! Nodes have no limits, never fail, and are no objects. Containers start, and some fail by the name of their image: one with `nope`
//! cannot be pulled, one with `crash` ends with an error a few seconds after each start. Containers of pods that are not always
//! restarted end a few seconds after their start, and without an error if their image has none of these names. Not modelled, but
//! noted so that the schedule fails: init containers that fail or keep running, required affinity, required topology spread,
//! volumes of unbound PVCs, and changes of a running pod's images. Not modelled at all: probes beyond a delay of readiness, hooks,
//! resources, deadlines of pods, evictions, Events, and the containers' states while a pod without finalizers terminates.

mod collector;
mod content;
mod exit;
mod kubelet;
mod life;
mod needs;
mod notes;
mod placement;
mod scheduler;
mod status;
mod unmodelled;

pub use collector::PodCollector;
pub use kubelet::Kubelet;
pub use scheduler::Scheduler;

#[cfg(test)]
mod tests;
