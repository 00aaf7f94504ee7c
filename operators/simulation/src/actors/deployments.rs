//! The Deployment controller: replaces the pods of a Deployment through ReplicaSets, and reports the progress
//! (kubernetes: `pkg/controller/deployment`).
//!
//! A step decides on a copy of the Deployment and its ReplicaSets, and then writes what differs. Where the real controller writes
//! the status twice in a row, only the second status is written. Not modelled: Events, the field `rollbackTo` of old API versions,
//! and `status.terminatingReplicas`.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Value, json};

use self::condition::progressing;
use self::set::Set;
use super::actor::{Actor, RETRY};
use super::client::{CONTROLLER_MANAGER, Client, is_terminating};
use super::object::{is_deleting, name, namespace, number, set as set_field, text};
use super::{conditions, ownership};
use crate::api_server::kinds::KindId;
use crate::api_server::request::ApiError;
use crate::api_server::service::SimulatedApiServer;
use crate::random::Random;

mod condition;
mod new_set;
mod proportional;
mod recreation;
mod rolling;
mod set;
mod status;
pub(super) mod template;

/// The Deployment controller.
pub struct DeploymentController;

/// The kinds that it writes.
#[derive(Clone, Copy)]
struct Written {
    deployments: KindId,
    sets: KindId,
}

impl Actor for DeploymentController {
    fn name(&self) -> &'static str {
        "deployment-controller"
    }

    fn kinds(&self) -> &'static [&'static str] {
        &["deployments", "replicasets", "pods"]
    }

    fn step(&mut self, server: &SimulatedApiServer, now: Timestamp, _random: &mut Random) -> Option<Duration> {
        let client = Client::new(server, CONTROLLER_MANAGER);
        let kinds = Written { deployments: client.kind("deployments")?, sets: client.kind("replicasets")? };
        let (sets, pods) = (client.list(kinds.sets), client.list(client.kind("pods")?));
        let mut again = None;
        for deployment in client.list(kinds.deployments) {
            let owned = ownership::claim_all(&client, ("apps/v1", "Deployment"), &deployment, kinds.sets, &sets);
            let mut rollout = Rollout::new(deployment, owned, &pods, now);
            rollout.sync();
            again = earlier(again, rollout.write(&client, kinds));
        }
        again
    }
}

/// The shorter of two times to wait.
fn earlier(one: Option<Duration>, other: Option<Duration>) -> Option<Duration> {
    one.into_iter().chain(other).min()
}

/// A Deployment while it is brought up to date.
struct Rollout<'a> {
    /// As the API server has it.
    before: Arc<Value>,
    /// As it is to be: only its status and its revision differ.
    deployment: Arc<Value>,
    /// Its ReplicaSets, the oldest first.
    sets: Vec<Set>,
    /// The place of the ReplicaSet of the present template among them, if it exists.
    new: Option<usize>,
    /// The pods of all Deployments.
    pods: &'a [Arc<Value>],
    now: Timestamp,
    /// After which time it may be stuck.
    again: Option<Duration>,
}

impl<'a> Rollout<'a> {
    fn new(deployment: Arc<Value>, sets: Vec<Arc<Value>>, pods: &'a [Arc<Value>], now: Timestamp) -> Self {
        let mut sets: Vec<Set> = sets.into_iter().map(Set::existing).collect();
        sets.sort_by_cached_key(Set::age);
        Self { before: deployment.clone(), deployment, sets, new: None, pods, now, again: None }
    }

    /// Decides the next step of the rollout.
    fn sync(&mut self) {
        if is_deleting(&self.deployment) {
            self.find_new(false);
            self.report_numbers();
            return;
        }
        self.report_pause();
        self.find_new(false);
        if self.is_paused() || self.is_scaled() {
            self.scale_all();
            if self.is_paused() {
                self.clean_up();
            }
            self.report_numbers();
        } else if self.is_rolling() {
            self.roll();
        } else {
            self.recreate();
        }
    }

    fn is_paused(&self) -> bool {
        self.deployment["spec"]["paused"] == true
    }

    /// Whether `replicas` changed since the ReplicaSets were scaled.
    fn is_scaled(&self) -> bool {
        let replicas = self.replicas();
        self.sets
            .iter()
            .filter(|set| set.replicas() > 0)
            .any(|set| set.desired().is_some_and(|desired| desired != replicas))
    }

    fn is_rolling(&self) -> bool {
        text(&self.deployment["spec"]["strategy"]["type"]) != "Recreate"
    }

    /// The desired number of pods.
    fn replicas(&self) -> i64 {
        number(&self.deployment["spec"]["replicas"])
    }

    /// How many pods there may be at most.
    fn most(&self) -> i64 {
        self.replicas() + self.pace().0
    }

    /// How many pods must be available.
    fn least(&self) -> i64 {
        self.replicas() - self.pace().1
    }

    /// How many pods there may be beyond the desired number, and how many may be unavailable.
    fn pace(&self) -> (i64, i64) {
        if !self.is_rolling() {
            return (0, 0);
        }
        let (replicas, pace) = (self.replicas(), &self.deployment["spec"]["strategy"]["rollingUpdate"]);
        let surge = resolve(&pace["maxSurge"], replicas, true);
        let unavailable = resolve(&pace["maxUnavailable"], replicas, false);
        // With both at 0, nothing could be replaced.
        let unavailable = if surge == 0 && unavailable == 0 { 1 } else { unavailable };
        (surge, unavailable.min(replicas))
    }

    fn new_set(&self) -> Option<&Set> {
        self.sets.get(self.new?)
    }

    /// The places of the ReplicaSets of earlier templates, the oldest first.
    fn old(&self) -> Vec<usize> {
        (0..self.sets.len()).filter(|place| Some(*place) != self.new).collect()
    }

    /// Those of them that are to have pods.
    fn active_old(&self) -> Vec<usize> {
        self.old().into_iter().filter(|place| self.size(*place) > 0).collect()
    }

    /// The number of pods that a ReplicaSet is to have.
    fn size(&self, place: usize) -> i64 {
        self.sets.get(place).map_or(0, Set::replicas)
    }

    /// The number of pods that all ReplicaSets are to have.
    fn total(&self) -> i64 {
        self.sets.iter().map(Set::replicas).sum()
    }

    /// Scales a ReplicaSet. Returns whether its size changed.
    fn scale(&mut self, place: usize, replicas: i64) -> bool {
        let (desired, most) = (self.replicas(), self.most());
        self.sets.get_mut(place).is_some_and(|set| set.scale(replicas, desired, most))
    }

    /// Deletes old ReplicaSets without pods beyond `revisionHistoryLimit`.
    fn clean_up(&mut self) {
        let Some(limit) = limit(&self.deployment["spec"]["revisionHistoryLimit"]) else { return };
        let mut old = self.old();
        old.retain(|place| self.sets.get(*place).is_some_and(|set| !is_deleting(&set.value)));
        let surplus = usize::try_from(limit).map_or(0, |limit| old.len().saturating_sub(limit));
        old.sort_by_key(|place| self.sets.get(*place).map_or(0, Set::revision));
        for place in old.into_iter().take(surplus) {
            if let Some(set) = self.sets.get_mut(place) {
                set.deleted = set.is_empty();
            }
        }
    }

    /// Writes what was decided. Returns the time after which the Deployment must be looked at again.
    fn write(self, client: &Client<'_>, kinds: Written) -> Option<Duration> {
        // Without the new ReplicaSet, nothing else changes.
        let (created, others): (Vec<&Set>, Vec<&Set>) = self.sets.iter().partition(|set| set.is_created());
        for set in created.into_iter().chain(others) {
            if let Err(refused) = set.write(client, kinds.sets) {
                return if set.is_created() { self.report_refusal(client, kinds, set, &refused) } else { Some(RETRY) };
            }
        }
        if self.deployment == self.before {
            return self.again;
        }
        // The revision is an annotation, and part of an update of the status all the same.
        let written = client.update_status(kinds.deployments, Arc::unwrap_or_clone(self.deployment));
        if written.is_err() { Some(RETRY) } else { self.again }
    }

    /// Reports that a ReplicaSet cannot be created.
    fn report_refusal(&self, client: &Client<'_>, kinds: Written, set: &Set, refused: &ApiError) -> Option<Duration> {
        if is_terminating(refused) {
            return None;
        }
        let mut deployment = Value::clone(&self.before);
        if refused.reason == "AlreadyExists" {
            // Another template has the same hash, or another owner the name: the next name has another hash.
            let collisions = number(&deployment["status"]["collisionCount"]) + 1;
            set_field(&mut deployment, &["status", "collisionCount"], json!(collisions));
        } else {
            let message = format!("Failed to create new replica set {:?}: {}", name(&set.value), refused.message);
            let failure = progressing("False", "ReplicaSetCreateError", &message, self.now);
            let mut status = deployment["status"].clone();
            conditions::set(&mut status, failure);
            set_field(&mut deployment, &["status"], status);
        }
        if deployment != *self.before {
            client.update_status(kinds.deployments, deployment).ok();
        }
        Some(RETRY)
    }
}

/// A number, or a share of the total.
fn resolve(value: &Value, total: i64, up: bool) -> i64 {
    let share = value.as_str().and_then(|text| text.strip_suffix('%')).and_then(|share| share.parse::<i64>().ok());
    let rounding = if up { 99 } else { 0 };
    share.map_or_else(|| number(value), |share| (share * total + rounding) / 100)
}

/// A limit; the largest number stands for none.
fn limit(value: &Value) -> Option<i64> {
    value.as_i64().filter(|limit| *limit != i64::from(i32::MAX))
}

/// Whether a pod is in the namespace of the Deployment.
fn is_near(deployment: &Value, pod: &Value) -> bool {
    namespace(deployment) == namespace(pod)
}

#[cfg(test)]
mod tests;
