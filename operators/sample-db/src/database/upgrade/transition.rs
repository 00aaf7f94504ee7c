//! Pure: what an upgrade decides: nothing, a step, or a transition to the next phase.

use api::sample_db::{DatabaseStorageStatus, EngineStatus, SampleDBReason, UpgradeStatus, UpgradeStep};
use jiff::{Timestamp, Unit};
use runtime::plan::EventDraft;

use crate::database::observed::Observed;
use crate::database::step::NextStep;

/// What to do about releases.
#[derive(Debug)]
pub(crate) enum UpgradeDecision {
    /// Nothing.
    Nothing,
    /// Perform or await this step.
    Continue(NextStep),
    /// Record the next step.
    Transition(Box<Transition>),
}

/// What is recorded before the next step.
#[derive(Clone, Debug, Default)]
pub(crate) struct Transition {
    pub(crate) upgrade: UpgradeStatus,
    /// The engine from now on, if it changes.
    pub(crate) engine: Option<EngineStatus>,
    pub(crate) storage: Option<DatabaseStorageStatus>,
    pub(crate) system_identifier: Option<String>,
    /// The StatefulSet of the server from now on, if it changes.
    pub(crate) server: Option<String>,
    pub(crate) event: Option<EventDraft>,
}

/// The transition to another step.
pub(super) fn transition(observed: &Observed, step: UpgradeStep, now: Timestamp) -> Transition {
    let before = &observed.db.status.upgrade;
    let step_since = now.round(Unit::Second).ok();
    Transition { upgrade: UpgradeStatus { step: Some(step), step_since, ..before.clone() }, ..Transition::default() }
}

pub(super) fn to(observed: &Observed, step: UpgradeStep, now: Timestamp) -> UpgradeDecision {
    UpgradeDecision::Transition(Box::new(transition(observed, step, now)))
}

pub(super) fn wait(message: impl Into<String>) -> UpgradeDecision {
    UpgradeDecision::Continue(NextStep::wait(SampleDBReason::Upgrading, message))
}
