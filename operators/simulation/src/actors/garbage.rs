//! The garbage collector: deletes objects whose owners are gone, before their owner if that was deleted in the foreground, and
//! leaves them without it if they are to be orphaned (kubernetes: `pkg/controller/garbagecollector`).

use std::time::Duration;

use jiff::Timestamp;
use serde_json::Value;

use self::graph::{Action, Graph, GraphChange};
use super::actor::{Actor, RETRY};
use super::client::{CONTROLLER_MANAGER, Client, is_outdated};
use crate::api_server::request::ApiError;
use crate::api_server::service::SimulatedApiServer;
use crate::api_server::state::{Event, StoredState};
use crate::random::Random;

mod graph;

/// The garbage collector.
#[derive(Default)]
pub struct GarbageCollector {
    /// The version up to which there is nothing left to do.
    seen: Option<u64>,
}

impl Actor for GarbageCollector {
    fn name(&self) -> &'static str {
        "garbage-collector"
    }

    fn kinds(&self) -> &'static [&'static str] {
        &[]
    }

    fn step(&mut self, server: &SimulatedApiServer, _now: Timestamp, _random: &mut Random) -> Option<Duration> {
        let (version, actions) = server.read(|state| {
            let is_idle = self.seen.is_some_and(|seen| !is_concerned(state, seen));
            (state.version(), if is_idle { Vec::new() } else { Graph::of(state).actions() })
        });
        let client = Client::new(server, CONTROLLER_MANAGER);
        let failed = actions.into_iter().filter(|action| !perform(&client, action)).count() > 0;
        self.seen = Some(version).filter(|_| !failed);
        failed.then_some(RETRY)
    }
}

/// Whether a change after that version can make an object garbage, or a finalizer superfluous.
fn is_concerned(state: &StoredState, since: u64) -> bool {
    let Ok(changes) = state.changes(since) else { return true };
    changes.iter().any(|change| {
        let is_deleting = super::object::is_deleting(&change.after);
        match change.event {
            Event::Deleted => true,
            Event::Added => is_deleting || !owners(&change.after).is_null(),
            Event::Modified => {
                is_deleting || change.before.as_ref().is_none_or(|before| owners(before) != owners(&change.after))
            }
        }
    })
}

fn owners(object: &Value) -> &Value {
    &object["metadata"]["ownerReferences"]
}

/// Whether all its requests succeeded, or are superfluous by now: the later ones depend on the ones before.
fn perform(client: &Client<'_>, action: &Action) -> bool {
    action.changes.iter().all(|change| match request(client, change) {
        Ok(_) => true,
        Err(refused) => refused.code == 404,
    })
}

fn request(client: &Client<'_>, change: &GraphChange) -> Result<Value, ApiError> {
    match change {
        GraphChange::Patch(target, patch) => client.merge(target.clone(), patch.clone()),
        GraphChange::Delete(target, options) => {
            let gone = |refused: ApiError| if is_outdated(&refused) { Ok(Value::Null) } else { Err(refused) };
            client.delete(target.clone(), options.clone()).or_else(gone)
        }
    }
}

#[cfg(test)]
mod tests;
