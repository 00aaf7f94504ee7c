//! Pure: the next step toward a database that serves.

use api::Reason;
use api::sample_db::SampleDBReason;
use runtime::cache::Projection;
use runtime::plan::Effect;
use runtime::projections::Pod;

use super::effects::DbAct;
use super::pinned::SpecRefusal;

/// Whether an effect stops a server.
pub(crate) fn stops(effect: &Effect<DbAct>) -> bool {
    matches!(effect, Effect::Delete(delete) if delete.kind == Pod::KIND)
}

/// The next step.
#[derive(Clone, Debug, PartialEq)]
pub enum NextStep {
    /// The database is as desired.
    Idle,
    /// Wait until something changes.
    Wait(Reason, String),
    /// Wait until the user acts.
    Blocked(Reason, String),
    /// Perform these effects; with the reason and the message of conditions.
    Do(Vec<Effect<DbAct>>, SampleDBReason, String),
}

impl NextStep {
    pub(crate) fn wait(reason: impl Into<Reason>, message: impl Into<String>) -> Self {
        Self::Wait(reason.into(), message.into())
    }

    pub(crate) fn blocked(reason: impl Into<Reason>, message: impl Into<String>) -> Self {
        Self::Blocked(reason.into(), message.into())
    }

    pub(crate) fn refused((reason, message): SpecRefusal) -> Self {
        Self::blocked(reason, message)
    }

    /// Whether it does this, or waits for it.
    pub(crate) fn works_on(&self, work: SampleDBReason) -> bool {
        match self {
            Self::Wait(reason, _) => *reason == work,
            Self::Do(_, reason, _) => *reason == work,
            Self::Idle | Self::Blocked(..) => false,
        }
    }

    pub(crate) fn act(effect: Effect<DbAct>, reason: SampleDBReason, message: &str) -> Self {
        Self::Do(vec![effect], reason, message.to_owned())
    }
}
