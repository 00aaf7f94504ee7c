//! What happens to the pods of a StatefulSet: they are created in order, scaled down from the end, and updated from the end
//! (kubernetes: `stateful_set_control.go`).

use std::sync::Arc;

use jiff::Timestamp;
use serde_json::Value;

use super::super::client::{Client, Target, is_outdated};
use super::super::object::{is_deleting, number, text, uid};
use super::super::pod::is_ended;
use super::revisions::{Revisions, for_new_pod};
use super::writes::{KindIds, Postponed, is_done};
use super::{claims, identity, member, pod_state};
use crate::api_server::request::DeleteOptions;

/// A set that is not being deleted.
pub(super) struct SetStep<'a> {
    pub(super) client: &'a Client<'a>,
    pub(super) kinds: KindIds,
    pub(super) set: &'a Value,
    pub(super) revisions: &'a Revisions,
    pub(super) now: Timestamp,
}

/// Whether a set in which one pod follows the other continues with the next one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Progress {
    GoesOn,
    Waits,
}

impl SetStep<'_> {
    /// Brings the pods one step further. Returns how many were deleted because their revision is not the present one.
    pub(super) fn run(&self, pods: &[Arc<Value>]) -> Result<i64, Postponed> {
        let range = identity::range(self.set);
        let with_ordinals = pods.iter().filter_map(|pod| Some((identity::ordinal(self.set, pod)?, &**pod)));
        let (wanted, mut surplus): (Vec<_>, Vec<_>) = with_ordinals.partition(|(ordinal, _)| range.contains(ordinal));
        surplus.sort_by_key(|(ordinal, _)| -ordinal);
        let find = |ordinal| wanted.iter().find(|(of, _)| *of == ordinal).map(|(_, pod)| *pod);
        let replicas: Vec<(i64, Option<&Value>)> = range.map(|ordinal| (ordinal, find(ordinal))).collect();
        for (ordinal, pod) in &replicas {
            if self.keep(*ordinal, *pod)? == Progress::Waits && self.is_ordered() {
                return Ok(0);
            }
        }
        for (ordinal, pod) in &surplus {
            claims::retain(self.client, self.kinds.claims, self.set, pod, *ordinal)?;
        }
        let unhealthy = self.first_unhealthy(&replicas, &surplus);
        for (_, pod) in &surplus {
            if self.scale_down(pod, unhealthy)? == Progress::Waits && self.is_ordered() {
                return Ok(0);
            }
        }
        self.update(&replicas)
    }

    fn is_ordered(&self) -> bool {
        text(&self.set["spec"]["podManagementPolicy"]) != "Parallel"
    }

    fn min_ready_seconds(&self) -> i64 {
        number(&self.set["spec"]["minReadySeconds"])
    }

    /// Creates, replaces or repairs the pod of an ordinal.
    fn keep(&self, ordinal: i64, pod: Option<&Value>) -> Result<Progress, Postponed> {
        let Some(pod) = pod else {
            self.create(ordinal)?;
            return Ok(Progress::Waits);
        };
        if is_ended(pod) {
            if !is_deleting(pod) {
                self.delete(pod)?;
            }
            // The next pod follows when this one is gone.
            return Ok(Progress::Waits);
        }
        if text(&pod["status"]["phase"]) == "Pending" {
            claims::create_missing(self.client, self.kinds.claims, self.set, ordinal)?;
        }
        if self.is_ordered() && !pod_state::is_healthy(pod, self.min_ready_seconds(), self.now) {
            return Ok(Progress::Waits);
        }
        claims::retain(self.client, self.kinds.claims, self.set, pod, ordinal)?;
        if !member::is_intact(pod, self.set, ordinal) {
            claims::create_missing(self.client, self.kinds.claims, self.set, ordinal)?;
            let repaired = member::repaired(pod, self.set, ordinal);
            self.client.update(self.kinds.pods, repaired).map_err(|_| Postponed)?;
        }
        Ok(Progress::GoesOn)
    }

    fn create(&self, ordinal: i64) -> Result<(), Postponed> {
        if claims::are_stale(self.client, self.kinds.claims, self.set, ordinal) {
            return Err(Postponed);
        }
        claims::create_missing(self.client, self.kinds.claims, self.set, ordinal)?;
        let revision = for_new_pod(self.set, self.revisions, ordinal);
        let pod = member::pod(self.set, &revision.template, &revision.name, ordinal);
        let created = self.client.create(self.kinds.pods, pod);
        if let Ok(pod) = &created {
            claims::retain(self.client, self.kinds.claims, self.set, pod, ordinal)?;
        }
        is_done(created)
    }

    fn delete(&self, pod: &Value) -> Result<(), Postponed> {
        let options = DeleteOptions { uid: Some(uid(pod).to_owned()), ..DeleteOptions::default() };
        match self.client.delete(Target::of(self.kinds.pods, pod), options) {
            Err(refused) if !is_outdated(&refused) => Err(Postponed),
            _ => Ok(()),
        }
    }

    /// Of the pods that are to stay and those that are not, the unhealthy one that has the lowest ordinal. One that does not exist
    /// comes before all that do.
    fn first_unhealthy<'b>(
        &self,
        replicas: &[(i64, Option<&'b Value>)],
        surplus: &[(i64, &'b Value)],
    ) -> Option<&'b Value> {
        let kept = replicas.iter().map(|(_, pod)| *pod);
        let condemned = surplus.iter().rev().map(|(_, pod)| Some(*pod));
        let is_healthy = |pod: &Value| pod_state::is_healthy(pod, self.min_ready_seconds(), self.now);
        kept.chain(condemned).find(|pod| !pod.is_some_and(is_healthy)).flatten()
    }

    /// Deletes a pod that the set has no more use for. In order, the others have to be healthy.
    fn scale_down(&self, pod: &Value, unhealthy: Option<&Value>) -> Result<Progress, Postponed> {
        if is_deleting(pod) {
            return Ok(Progress::Waits);
        }
        let is_available = pod_state::is_available(pod, self.min_ready_seconds(), self.now);
        let is_first = unhealthy.is_some_and(|first| uid(first) == uid(pod));
        if self.is_ordered() && !is_available && !is_first {
            return Ok(Progress::Waits);
        }
        self.delete(pod)?;
        Ok(Progress::Waits)
    }

    /// Deletes the last pod of another revision, once those after it are healthy.
    fn update(&self, replicas: &[(i64, Option<&Value>)]) -> Result<i64, Postponed> {
        let strategy = &self.set["spec"]["updateStrategy"];
        if text(&strategy["type"]) == "OnDelete" {
            return Ok(0);
        }
        let kept = usize::try_from(number(&strategy["rollingUpdate"]["partition"])).unwrap_or_default();
        for (_, pod) in replicas.iter().skip(kept).rev() {
            let Some(pod) = pod else { return Ok(0) };
            if identity::revision(pod) != self.revisions.update.name && !is_deleting(pod) {
                return self.delete(pod).map(|()| 1);
            }
            if !pod_state::is_healthy(pod, self.min_ready_seconds(), self.now) {
                return Ok(0);
            }
        }
        Ok(0)
    }
}
