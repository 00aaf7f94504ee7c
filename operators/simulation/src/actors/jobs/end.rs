//! How a Job ends: first a condition says how it will end, and once its pods have ended and are counted, another one says that it
//! has.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::super::conditions;
use super::super::object::{items, read_time, set as set_field, text, time};

/// The conditions of a Job that will end, and of one that has ended in that way.
const WAYS: [(&str, &str); 2] = [("SuccessCriteriaMet", "Complete"), ("FailureTarget", "Failed")];

/// The decision how a Job ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Ending {
    pub(super) succeeds: bool,
    pub(super) reason: String,
    pub(super) message: String,
}

impl Ending {
    pub(super) fn success() -> Self {
        Self {
            succeeds: true,
            reason: "CompletionsReached".to_owned(),
            message: "Reached expected number of succeeded pods".to_owned(),
        }
    }

    pub(super) fn failure(reason: &str, message: impl Into<String>) -> Self {
        Self { succeeds: false, reason: reason.to_owned(), message: message.into() }
    }

    /// The decision that the status has.
    pub(super) fn decided(job: &Value) -> Option<Self> {
        let (index, condition) = WAYS
            .iter()
            .enumerate()
            .find_map(|(index, (interim, _))| Some((index, conditions::find_true(&job["status"], interim)?)))?;
        let field = |name: &str| text(&condition[name]).to_owned();
        Some(Self { succeeds: index == 0, reason: field("reason"), message: field("message") })
    }

    /// Writes the decision into the status.
    pub(super) fn decide(&self, status: &mut Value, now: Timestamp) {
        self.add(status, self.way().0, now);
    }

    /// Writes into the status that the Job has ended.
    pub(super) fn complete(&self, status: &mut Value, now: Timestamp) {
        self.add(status, self.way().1, now);
        if self.succeeds {
            set_field(status, &["completionTime"], time(now));
        }
    }

    fn way(&self) -> (&'static str, &'static str) {
        if self.succeeds { WAYS[0] } else { WAYS[1] }
    }

    fn add(&self, status: &mut Value, type_: &str, now: Timestamp) {
        if conditions::find_true(status, type_).is_some() {
            return;
        }
        let mut all = items(&status["conditions"]).to_vec();
        all.push(json!({
            "type": type_, "status": "True", "reason": self.reason, "message": self.message,
            "lastProbeTime": time(now), "lastTransitionTime": time(now),
        }));
        set_field(status, &["conditions"], Value::Array(all));
    }
}

/// When a Job ended, if it has.
pub(super) fn of(job: &Value) -> Option<Timestamp> {
    let ended = WAYS.iter().find_map(|(_, last)| conditions::find_true(&job["status"], last))?;
    read_time(&ended["lastTransitionTime"])
}
