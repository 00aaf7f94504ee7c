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
pub use meta::{Key, Kind, Meta, Owner};
pub use reported::Reported;

/// What one pass decided.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan<S, X = Infallible> {
    /// What to do, in this order, up to the first failure.
    pub effects: Vec<Effect<X>>,
    /// What to make true beside that, each whatever becomes of the others. A failure is told in the status, and only
    /// what failed waits for its next try: the effects go on at their own pace.
    pub independent: Vec<Apply>,
    /// What to tell on the object, beside the transitions of its conditions, once all of that has been done and the status
    /// tells it, too.
    pub events: Vec<EventDraft>,
    /// What to tell of the effects once they have been done, whatever becomes of the status: no later pass would see what
    /// they were.
    pub done: Vec<EventDraft>,
    /// What holds if every effect succeeds; `None` leaves the status as it is.
    pub status: Option<S>,
    /// When to look again.
    pub next: Requeue,
}

impl<S, X> Plan<S, X> {
    /// Nothing to do, nothing to say.
    #[must_use]
    pub fn nothing() -> Self {
        Self {
            effects: Vec::new(),
            independent: Vec::new(),
            events: Vec::new(),
            done: Vec::new(),
            status: None,
            next: Requeue::OnChange,
        }
    }
}

/// Whether what stands aside of a plan is applied, by what became of its effects. What is refused until a person has changed something
/// keeps nothing else from being made: a volume that is to grow, say.
#[must_use]
pub fn is_independent_due(acted: &Result<(), Error>) -> bool {
    acted.as_ref().map_or_else(Error::stalled, |()| true)
}

/// When to look at an object again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Requeue {
    /// When something it depends on changes.
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
