//! Everybody else in a cluster: the controllers of Kubernetes, the scheduler and the kubelets.
//!
//! An actor reacts to the changes of some kinds, after a random latency, and brings what it owns up to the present state in one
//! step. Each step repeats no write that changed nothing, so a world in which no one else writes becomes silent.
//!
//! Not modelled: the controllers of HorizontalPodAutoscalers, PodDisruptionBudgets and quotas, the Events that controllers record,
//! and nodes that fail.

use std::time::Duration;

use tokio::time::{sleep, timeout};

use crate::api_server::service::SimulatedApiServer;
use crate::api_server::state::StoredState;
use crate::random::Random;

mod actor;
pub mod claims;
pub mod client;
mod conditions;
pub mod deployments;
pub mod endpoints;
pub mod garbage;
pub mod jobs;
pub mod namespaces;
mod object;
mod ownership;
mod pod;
pub mod pods;
pub mod replica_sets;
mod selector;
pub mod stateful_sets;

#[cfg(test)]
pub(crate) mod testing;

pub use actor::Actor;
use pods::program::Programs;

/// All actors. The kubelets run these programs as their models say.
#[must_use]
pub fn all(programs: Vec<Box<dyn Programs>>) -> Vec<Box<dyn Actor>> {
    vec![
        Box::new(garbage::GarbageCollector::default()),
        Box::new(namespaces::NamespaceController),
        Box::new(deployments::DeploymentController),
        Box::new(replica_sets::ReplicaSetController),
        Box::new(pods::Scheduler::default()),
        Box::new(pods::Kubelet::with(programs)),
        Box::new(claims::ClaimControllers),
        Box::new(endpoints::EndpointSliceController),
        Box::new(stateful_sets::StatefulSetController::default()),
        Box::new(jobs::JobController::default()),
        Box::new(jobs::TtlController),
        Box::new(pods::PodCollector),
    ]
}

/// Runs an actor for ever: a step after each change of its kinds and at its own time, always with a random latency.
pub async fn run(mut actor: Box<dyn Actor>, server: SimulatedApiServer, mut random: Random) {
    let kinds = actor.kinds();
    loop {
        sleep(Duration::from_millis(random.between(1, 200))).await;
        let seen = server.read(StoredState::version);
        let again = actor.step(&server, runtime::clock::now(), &mut random);
        let next = changed(&server, kinds, seen);
        match again {
            // It runs again in either case.
            Some(after) => {
                timeout(after, next).await.ok();
            }
            None => next.await,
        }
    }
}

/// Waits for a change of one of the kinds after that version.
async fn changed(server: &SimulatedApiServer, kinds: &[&str], mut seen: u64) {
    loop {
        let version = server.changed(seen).await;
        if server.read(|state| is_concerned(state, kinds, seen)) {
            return;
        }
        seen = version;
    }
}

/// Whether an object of one of the kinds changed after that version. Changes that the API server has forgotten count.
fn is_concerned(state: &StoredState, kinds: &[&str], since: u64) -> bool {
    let Ok(changes) = state.changes(since) else { return true };
    let is_one = |kind| state.kinds().get(kind).is_some_and(|kind| kinds.contains(&kind.plural.as_str()));
    changes.iter().any(|change| kinds.is_empty() || is_one(change.kind))
}

#[cfg(test)]
mod tests {
    use super::testing::{self, NAMESPACE};
    use super::*;
    use serde_json::json;

    #[test]
    fn an_actor_reacts_to_its_kinds_only() {
        let server = testing::server();
        let before = server.read(StoredState::version);
        testing::create(&server, "configmaps", json!({ "metadata": { "name": "a", "namespace": NAMESPACE } }));
        let reacts = |kinds: &[&str]| server.read(|state| is_concerned(state, kinds, before));
        assert_eq!([reacts(&["configmaps"]), reacts(&["pods"]), reacts(&[])], [true, false, true]);
        assert!(!server.read(|state| is_concerned(state, &[], state.version())));
    }

    #[test]
    fn no_actor_writes_anything_in_a_world_at_rest() {
        let server = testing::server();
        let mut actors = all(Vec::new());
        testing::settle(&server, &mut actors, runtime::clock::now());
        testing::create(&server, "deployments", testing::deployment("a", 2));
        let now = testing::settle(&server, &mut actors, runtime::clock::now());
        assert_eq!(testing::list(&server, "pods").len(), 2);
        let version = server.read(StoredState::version);
        testing::settle(&server, &mut actors, now);
        assert_eq!(server.read(StoredState::version), version);
        assert_eq!(server.read(|state| state.unmodelled().to_vec()), Vec::<String>::new());
    }
}
