//! The scheduler and the kubelets.
//!
//! Nodes have no limits, never fail, and are no objects. Containers start, and some fail by the name of their image: one with `nope`
//! cannot be pulled, one with `crash` ends with an error a few seconds after each start. Containers of pods that are not always
//! restarted end a few seconds after their start, and without an error if their image has none of these names. Where a model knows
//! the programs of a pod ([`Programs`](program::Programs)), it decides how its containers start, get ready and end.
//!
//! Not modelled, but noted so that the schedule fails: required affinity, required topology spread, and, without such a model, init
//! containers that fail or keep running, and changes of a running pod's images. Not modelled at all: liveness, hooks, resources,
//! deadlines of pods, evictions, Events, and the containers' states while a pod without finalizers terminates.

mod collector;
mod container;
mod content;
mod driven;
mod editors;
mod exit;
mod kubelet;
mod life;
mod needs;
mod notes;
mod placement;
pub mod program;
mod restart_policy;
mod scheduler;
mod status;
mod unmodelled;

pub use collector::PodCollector;
pub use kubelet::Kubelet;
pub use scheduler::Scheduler;

#[cfg(test)]
mod tests;
