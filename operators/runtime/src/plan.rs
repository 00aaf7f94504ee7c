//! The vocabulary of plans. Pure: no async, no client, no clock, no randomness (`cargo xtask generate --check` holds it).

use std::convert::Infallible;
use std::time::Duration;

use crate::Error;

pub mod adoption;
pub mod beside;
pub mod conditions;
pub mod crd;
pub mod drift;
pub mod effect;
pub mod lease;
pub mod meta;
pub mod names;
pub mod outage;
pub mod quantity;
pub mod quota;
pub mod report;
pub mod seen;
pub mod series;
pub mod sight;
pub mod told;
pub mod trouble;
pub mod undecodable;

pub use conditions::Announcement;
pub use effect::{Apply, Create, Delete, DryRun, Effect};
pub use meta::{Key, Kind, Meta, Owner};
pub use seen::Seen;
pub use told::Told;

/// What one pass decided.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan<S, X = Infallible> {
    /// What to do, in this order, up to the first failure.
    pub effects: Vec<Effect<X>>,
    /// What to make true beside that, each whatever becomes of the others. A failure is told in the status, and only
    /// what failed waits for its next try: the effects go on at their own pace.
    pub aside: Vec<Apply>,
    /// What to tell on the object, beside the transitions of its conditions, once all of that has been done and the status
    /// tells it, too.
    pub events: Vec<Announcement>,
    /// What to tell of the effects once they have been done, whatever becomes of the status: no later pass would see what
    /// they were.
    pub done: Vec<Announcement>,
    /// What holds if every effect succeeds; `None` leaves the status as it is.
    pub status: Option<S>,
    /// When to look again.
    pub next: Next,
}

impl<S, X> Plan<S, X> {
    /// Nothing to do, nothing to say.
    #[must_use]
    pub fn nothing() -> Self {
        Self {
            effects: Vec::new(),
            aside: Vec::new(),
            events: Vec::new(),
            done: Vec::new(),
            status: None,
            next: Next::Change,
        }
    }
}

/// Whether what stands aside of a plan is applied, by what became of its effects. What is refused until a person has changed something
/// keeps nothing else from being made: a volume that is to grow, say.
#[must_use]
pub fn is_aside_due(acted: &Result<(), Error>) -> bool {
    acted.as_ref().map_or_else(Error::stalled, |()| true)
}

/// When to look at an object again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// When something it depends on changes.
    Change,
    /// After that time (up to a tenth longer), or when something changes.
    After(Duration),
}

impl Next {
    /// The same, but after `delay` at the latest.
    #[must_use]
    pub fn no_later_than(self, delay: Duration) -> Self {
        match self {
            Self::Change => Self::After(delay),
            Self::After(sooner) => Self::After(sooner.min(delay)),
        }
    }
}
