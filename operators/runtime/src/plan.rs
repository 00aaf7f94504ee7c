//! Pure: the vocabulary of plans.

use std::convert::Infallible;
use std::time::Duration;

use crate::Error;

pub mod child;
pub mod effect;
pub mod event;
pub mod meta;
pub mod reported;

pub use child::ChildState;
pub use effect::{Apply, Create, Delete, DryRun, Effect};
pub use event::EventDraft;
pub use meta::{Key, Meta, Owner, ResourceKind};
pub use reported::Reported;

/// What one reconcile decided.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan<S, X = Infallible> {
    /// The effects, performed in this order up to the first failure.
    pub effects: Vec<Effect<X>>,
    /// Applies that are independent of the effects and of each other. The status reports a failure, and only the failed apply
    /// backs off.
    pub independent: Vec<Apply>,
    /// Events to publish on the object, in addition to those of its conditions, once the effects are performed and the status is
    /// written.
    pub events_after_status: Vec<EventDraft>,
    /// Events to publish once the effects are performed, whether or not the status can be written: no later reconcile could
    /// observe them.
    pub events_after_effects: Vec<EventDraft>,
    /// The status if every effect succeeds; `None` keeps the present one.
    pub status: Option<S>,
    /// When to requeue the object.
    pub next: Requeue,
}

impl<S, X> Plan<S, X> {
    /// A plan without effects, events and status.
    #[must_use]
    pub fn nothing() -> Self {
        Self {
            effects: Vec::new(),
            independent: Vec::new(),
            events_after_status: Vec::new(),
            events_after_effects: Vec::new(),
            status: None,
            next: Requeue::OnChange,
        }
    }
}

/// Whether the independent applies are performed, by the result of the effects. A failure that needs attention, such as a volume
/// that cannot grow, must not block them.
#[must_use]
pub fn is_independent_due(effects_result: &Result<(), Error>) -> bool {
    effects_result.as_ref().map_or_else(Error::stalled, |()| true)
}

/// When to reconcile an object again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Requeue {
    /// When something changes that it depends on.
    OnChange,
    /// After that time (up to a tenth longer), or when something changes.
    After(Duration),
}

impl Requeue {
    /// The same, but after `delay` at the latest.
    #[must_use]
    pub fn no_later_than(self, delay: Duration) -> Self {
        match self {
            Self::OnChange => Self::After(delay),
            Self::After(sooner) => Self::After(sooner.min(delay)),
        }
    }
}
