//! The StatefulSet controller: creates, replaces and updates pods with stable names, and the PVCs of their templates (kubernetes:
//! `pkg/controller/statefulset`).
//!
//! Not modelled: Events; the slow start of many creations of a parallel set, and the end of a parallel step at the first refusal;
//! the release of a pod whose name is not of the set. A `maxUnavailable` other than 1 is noted, so that the schedule fails.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use serde_json::Value;

use self::rollout::SetStep;
use self::writes::{KindIds, Postponed};
use super::actor::{Actor, RETRY};
use super::client::{CONTROLLER_MANAGER, Client};
use super::object::{is_deleting, name, namespace, set as set_field, uid};
use super::ownership;
use crate::api_server::kinds::KindId;
use crate::api_server::request::ApiError;
use crate::api_server::service::SimulatedApiServer;
use crate::random::Random;

mod claims;
mod identity;
mod member;
mod pod_state;
mod revisions;
mod rollout;
mod status;
mod writes;

/// The StatefulSet controller.
#[derive(Default)]
pub struct StatefulSetController {
    /// The sets of which it was noted what the model lacks.
    noted: BTreeSet<String>,
}

impl Actor for StatefulSetController {
    fn name(&self) -> &'static str {
        "statefulset-controller"
    }

    fn kinds(&self) -> &'static [&'static str] {
        &["statefulsets", "pods"]
    }

    fn step(&mut self, server: &SimulatedApiServer, now: Timestamp, _random: &mut Random) -> Option<Duration> {
        let client = Client::new(server, CONTROLLER_MANAGER);
        let kinds = KindIds {
            sets: client.kind("statefulsets")?,
            pods: client.kind("pods")?,
            claims: client.kind("persistentvolumeclaims")?,
            revisions: client.kind("controllerrevisions")?,
        };
        let (sets, mut again) = (client.list(kinds.sets), None);
        let pods = if sets.is_empty() { Vec::new() } else { client.list(kinds.pods) };
        for set in sets {
            self.note_unmodelled(&client, &set);
            let members: Vec<_> = pods.iter().filter(|pod| identity::ordinal(&set, pod).is_some()).cloned().collect();
            again = again.into_iter().chain(sync(&client, kinds, &set, &members, now)).min();
        }
        again
    }
}

impl StatefulSetController {
    fn note_unmodelled(&mut self, client: &Client<'_>, set: &Value) {
        let most = &set["spec"]["updateStrategy"]["rollingUpdate"]["maxUnavailable"];
        if !most.is_null() && *most != 1 && self.noted.insert(uid(set).to_owned()) {
            client.note_unmodelled(format!("StatefulSet {}/{}: maxUnavailable {most}", namespace(set), name(set)));
        }
    }
}

/// Brings a set up to date. Returns the time after which it must be looked at again.
fn sync(
    client: &Client<'_>,
    kinds: KindIds,
    set: &Arc<Value>,
    members: &[Arc<Value>],
    now: Timestamp,
) -> Option<Duration> {
    let owned = ownership::claim_all(client, identity::OWNER, set, kinds.pods, members);
    let Ok(revisions) = revisions::of(client, kinds.revisions, set) else { return Some(RETRY) };
    let (mut status, available_after) = status::of(set, &revisions, &owned, now);
    let mut done = Ok(());
    if !is_deleting(set) {
        match (SetStep { client, kinds, set, revisions: &revisions, now }).run(&owned) {
            Ok(outdated) => status::count_deleted(&mut status, outdated),
            Err(Postponed) => done = Err(Postponed),
        }
    }
    status::complete_update(&mut status, set);
    let is_reported = set["status"] == status || report(client, kinds.sets, set, status).is_ok();
    let is_trimmed = revisions::trim(client, kinds.revisions, set, &revisions, &owned).is_ok();
    if done.is_ok() && is_reported && is_trimmed { available_after } else { Some(RETRY) }
}

fn report(client: &Client<'_>, kind: KindId, of: &Value, status: Value) -> Result<Value, ApiError> {
    let mut reported = of.clone();
    set_field(&mut reported, &["status"], status);
    client.update_status(kind, reported)
}

#[cfg(test)]
mod tests;
