//! The status of a Deployment (kubernetes: `progress.go`, and `calculateStatus` of `sync.go`).

use std::time::Duration;

use serde_json::{Map, Value, json};

use super::super::conditions;
use super::super::object::{number, read_time, set, set_shared};
use super::condition::{PROGRESSING, condition, progressing};
use super::{Rollout, limit};

const FAILURE: &str = "ReplicaFailure";
const COMPLETE: &str = "NewReplicaSetAvailable";
const LATE: &str = "ProgressDeadlineExceeded";
const PAUSED: &str = "DeploymentPaused";

impl Rollout<'_> {
    /// Reports the numbers and the progress.
    pub(super) fn report_rollout(&mut self) {
        let mut status = self.numbers();
        let present = conditions::find(&self.deployment["status"], PROGRESSING).cloned();
        let was_complete = status["replicas"] == status["updatedReplicas"]
            && conditions::has_reason(&self.deployment["status"], PROGRESSING, COMPLETE);
        if self.deadline().is_none() {
            conditions::remove(&mut status, PROGRESSING);
        } else if !was_complete {
            self.report_progress(&mut status, present.as_ref());
        }
        match self.failure() {
            Some(failure) => conditions::set(&mut status, failure),
            None => conditions::remove(&mut status, FAILURE),
        }
        self.again = self.stuck_after(&status);
        set_shared(&mut self.deployment, &["status"], status);
    }

    /// Reports the numbers only: the progress of a paused Deployment is not measured.
    pub(super) fn report_numbers(&mut self) {
        let status = self.numbers();
        set_shared(&mut self.deployment, &["status"], status);
    }

    /// Reports that the Deployment was paused or resumed, so that its deadline starts again afterwards.
    pub(super) fn report_pause(&mut self) {
        let status = &self.deployment["status"];
        if conditions::has_reason(status, PROGRESSING, LATE) {
            return;
        }
        match (self.is_paused(), conditions::has_reason(status, PROGRESSING, PAUSED)) {
            (true, false) => self.set_progress("Unknown", PAUSED, "Deployment is paused"),
            (false, true) => self.set_progress("Unknown", "DeploymentResumed", "Deployment is resumed"),
            _ => {}
        }
    }

    /// Reports that the new ReplicaSet was found or created.
    pub(super) fn report_step(&mut self, reason: &str, message: &str) {
        self.set_progress("True", reason, message);
    }

    /// Sets the condition of the progress, unless there is no deadline.
    fn set_progress(&mut self, status: &str, reason: &str, message: &str) {
        if self.deadline().is_none() {
            return;
        }
        let mut with = self.deployment["status"].clone();
        conditions::set(&mut with, progressing(status, reason, message, self.now));
        set_shared(&mut self.deployment, &["status"], with);
    }

    fn report_progress(&self, status: &mut Value, present: Option<&Value>) {
        let subject = self.subject();
        if self.is_complete(status) {
            let message = format!("{subject} has successfully progressed.");
            conditions::set(status, progressing("True", COMPLETE, &message, self.now));
        } else if self.has_progressed(status) {
            let mut condition =
                progressing("True", "ReplicaSetUpdated", &format!("{subject} is progressing."), self.now);
            if let Some(present) = present.filter(|present| present["status"] == "True") {
                set(&mut condition, &["lastTransitionTime"], present["lastTransitionTime"].clone());
            }
            // Removed first, so that the time of the update becomes the present one even if the reason stays.
            conditions::remove(status, PROGRESSING);
            conditions::set(status, condition);
        } else if self.is_late(status) {
            let message = format!("{subject} has timed out progressing.");
            conditions::set(status, progressing("False", LATE, &message, self.now));
        }
    }

    /// The status with its numbers and the condition `Available`, and the other conditions as they are.
    fn numbers(&self) -> Value {
        let sum = |field: &str| self.sets.iter().map(|set| set.status(field)).sum::<i64>();
        let available = sum("availableReplicas");
        let updated = self.new_set().map_or(0, |new| new.status("replicas"));
        let mut status = Map::new();
        let fields = [
            ("observedGeneration", number(&self.deployment["metadata"]["generation"])),
            ("replicas", sum("replicas")),
            ("updatedReplicas", updated),
            ("readyReplicas", sum("readyReplicas")),
            ("availableReplicas", available),
            ("unavailableReplicas", (self.total() - available).max(0)),
        ];
        // Fields of 0 are omitted.
        status.extend(
            fields
                .into_iter()
                .filter(|(_, number)| *number != 0)
                .map(|(field, number)| (field.to_owned(), json!(number))),
        );
        for kept in ["collisionCount", "conditions"] {
            let value = &self.deployment["status"][kept];
            if !value.is_null() {
                status.insert(kept.to_owned(), value.clone());
            }
        }
        let mut status = Value::Object(status);
        conditions::set(&mut status, self.availability(available));
        status
    }

    fn availability(&self, available: i64) -> Value {
        let (status, reason, has) = if available >= self.least() {
            ("True", "MinimumReplicasAvailable", "has")
        } else {
            ("False", "MinimumReplicasUnavailable", "does not have")
        };
        condition("Available", status, reason, &format!("Deployment {has} minimum availability."), self.now)
    }

    /// The failure of the new ReplicaSet, else of another one.
    fn failure(&self) -> Option<Value> {
        let of = |set: &super::Set| conditions::find(&set.value["status"], FAILURE).cloned();
        let mut failure = self.new_set().and_then(of).or_else(|| self.sets.iter().find_map(of))?;
        let since = failure["lastTransitionTime"].clone();
        set(&mut failure, &["lastUpdateTime"], since);
        Some(failure)
    }

    fn deadline(&self) -> Option<i64> {
        limit(&self.deployment["spec"]["progressDeadlineSeconds"])
    }

    /// Whether the rollout is complete by that status.
    pub(super) fn is_complete(&self, status: &Value) -> bool {
        let replicas = self.replicas();
        let fields = ["updatedReplicas", "replicas", "availableReplicas"];
        let is_observed = number(&status["observedGeneration"]) >= number(&self.deployment["metadata"]["generation"]);
        fields.iter().all(|field| number(&status[*field]) == replicas) && is_observed
    }

    /// Whether pods were created, deleted or became ready since the present status was written.
    fn has_progressed(&self, status: &Value) -> bool {
        let present = &self.deployment["status"];
        let old = |status: &Value| number(&status["replicas"]) - number(&status["updatedReplicas"]);
        let has_grown = |field: &str| number(&status[field]) > number(&present[field]);
        ["updatedReplicas", "readyReplicas", "availableReplicas"].into_iter().any(has_grown)
            || old(status) < old(present)
    }

    /// Whether the last progress was too long ago.
    fn is_late(&self, status: &Value) -> bool {
        let Some(condition) = conditions::find(status, PROGRESSING).filter(|condition| condition["reason"] != COMPLETE)
        else {
            return false;
        };
        let is_past = || self.left(condition).is_some_and(|left| left < 0);
        condition["reason"] == LATE || is_past()
    }

    /// How many milliseconds are left until the deadline.
    fn left(&self, condition: &Value) -> Option<i64> {
        let since = read_time(&condition["lastUpdateTime"])?.as_millisecond();
        Some(since + self.deadline()? * 1000 - self.now.as_millisecond())
    }

    /// After which time the deadline of an incomplete rollout has passed.
    fn stuck_after(&self, status: &Value) -> Option<Duration> {
        let condition = conditions::find(status, PROGRESSING)?;
        if self.is_complete(status) || condition["reason"] == LATE || condition["reason"] == COMPLETE {
            return None;
        }
        // A second later, as times have whole seconds.
        let left = self.left(condition)?.max(0) + 1000;
        Some(Duration::from_millis(u64::try_from(left).unwrap_or_default()))
    }
}
