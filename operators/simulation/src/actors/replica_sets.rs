//! The ReplicaSet controller: creates and deletes pods (kubernetes: `pkg/controller/replicaset`).
//!
//! Not modelled: Events, and the slow start of many creations: the first refusal ends them.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use serde_json::Value;

use self::status::Failure;
use super::actor::{Actor, RETRY};
use super::client::{CONTROLLER_MANAGER, Client, Target, is_outdated, is_terminating};
use super::object::{is_deleting, namespace, number, set, uid};
use super::ownership;
use super::pod::is_ended;
use crate::api_server::kinds::KindId;
use crate::api_server::request::{ApiError, DeleteOptions};
use crate::api_server::service::SimulatedApiServer;
use crate::random::Random;

mod members;
mod status;

/// The ReplicaSet controller.
pub struct ReplicaSetController;

/// The most pods that one step creates or deletes.
const BURST: usize = 500;

impl Actor for ReplicaSetController {
    fn name(&self) -> &'static str {
        "replicaset-controller"
    }

    fn kinds(&self) -> &'static [&'static str] {
        &["replicasets", "pods"]
    }

    fn step(&mut self, server: &SimulatedApiServer, now: Timestamp, _random: &mut Random) -> Option<Duration> {
        let client = Client::new(server, CONTROLLER_MANAGER);
        let (sets, pods) = (client.kind("replicasets")?, client.kind("pods")?);
        let active: Vec<Arc<Value>> = client.list(pods).into_iter().filter(|pod| is_active(pod)).collect();
        let synced = client.list(sets).into_iter().filter_map(|set| {
            let near: Vec<_> = active.iter().filter(|pod| namespace(pod) == namespace(&set)).cloned().collect();
            sync(&client, (sets, pods), &set, &near, now)
        });
        synced.min()
    }
}

/// Whether a pod counts: one that has ended or is being deleted is replaced.
fn is_active(pod: &Value) -> bool {
    !is_ended(pod) && !is_deleting(pod)
}

/// Brings a ReplicaSet up to date. Returns the time after which it must be looked at again.
fn sync(
    client: &Client<'_>,
    (sets, kind): (KindId, KindId),
    set: &Value,
    active: &[Arc<Value>],
    now: Timestamp,
) -> Option<Duration> {
    let owned = ownership::claim_all(client, ("apps/v1", "ReplicaSet"), set, kind, active);
    let failure = if is_deleting(set) { None } else { manage(client, kind, set, &owned) };
    let (status, available_after) = status::of(set, &owned, failure.as_ref(), now);
    let mut refused = failure.is_some();
    if set["status"] != status {
        refused |= report(client, sets, set, status).is_err();
    }
    if refused { Some(RETRY) } else { available_after }
}

fn report(client: &Client<'_>, kind: KindId, of: &Value, status: Value) -> Result<Value, ApiError> {
    let mut reported = of.clone();
    set(&mut reported, &["status"], status);
    client.update_status(kind, reported)
}

/// Creates or deletes pods until there are as many as there are to be. Returns the first refusal.
fn manage(client: &Client<'_>, kind: KindId, of: &Value, owned: &[Arc<Value>]) -> Option<Failure> {
    let replicas = usize::try_from(number(&of["spec"]["replicas"])).unwrap_or_default();
    let missing = replicas.saturating_sub(owned.len()).min(BURST);
    for _ in 0..missing {
        match client.create(kind, members::pod(of)) {
            Err(refused) if is_terminating(&refused) => return None,
            Err(refused) => return Some(Failure { reason: "FailedCreate", message: refused.message }),
            Ok(_) => {}
        }
    }
    let surplus = owned.len().saturating_sub(replicas).min(BURST);
    for pod in members::least_wanted(owned).into_iter().take(surplus) {
        let options = DeleteOptions { uid: Some(uid(pod).to_owned()), ..DeleteOptions::default() };
        if let Err(refused) = client.delete(Target::of(kind, pod), options)
            && !is_outdated(&refused)
        {
            return Some(Failure { reason: "FailedDelete", message: refused.message });
        }
    }
    None
}

#[cfg(test)]
mod tests;
