//! Pure: what an upgrade decides: nothing, a step, or a transition to the next phase.

use api::sample_db::{EngineStatus, SampleDBReason, StorageStatus, UpgradeStatus, UpgradeStep as At};
use jiff::{Timestamp, Unit};
use runtime::plan::EventDraft;

use crate::database::observed::Observed;
use crate::database::step::NextStep;

/// What there is to do about releases.
#[derive(Debug)]
pub(crate) enum UpgradeDecision {
    /// Nothing.
    Nothing,
    /// This, on the way.
    Continue(NextStep),
    /// The next step is written down.
    Transition(Box<Transition>),
}

/// What is written down before the next step.
#[derive(Clone, Debug, Default)]
pub(crate) struct Transition {
    pub(crate) upgrade: UpgradeStatus,
    /// What runs from now on, if it is something else.
    pub(crate) engine: Option<EngineStatus>,
    pub(crate) storage: Option<StorageStatus>,
    pub(crate) system_identifier: Option<String>,
    /// The StatefulSet of the server from now on, if it is another one.
    pub(crate) server: Option<String>,
    pub(crate) event: Option<EventDraft>,
}

/// The upgrade, at another step.
pub(super) fn transition(observed: &Observed, step: At, now: Timestamp) -> Transition {
    let before = &observed.db.status.upgrade;
    let step_since = now.round(Unit::Second).ok();
    Transition { upgrade: UpgradeStatus { step: Some(step), step_since, ..before.clone() }, ..Transition::default() }
}

pub(super) fn to(observed: &Observed, step: At, now: Timestamp) -> UpgradeDecision {
    UpgradeDecision::Transition(Box::new(transition(observed, step, now)))
}

pub(super) fn wait(message: impl Into<String>) -> UpgradeDecision {
    UpgradeDecision::Continue(NextStep::wait(SampleDBReason::Upgrading, message))
}
