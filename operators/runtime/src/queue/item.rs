//! What is remembered of one key.

use std::time::{Duration, Instant};

use super::version::Version;
use crate::retry::Backoff;

/// So many writes to children of one key within [`FIGHT`] are a fight with another writer, not a person at work: the key
/// then rests until that time is over, or its object is edited.
pub(super) const FIGHT_WRITES: u32 = 300;
/// See [`FIGHT_WRITES`].
pub(super) const FIGHT: Duration = Duration::from_secs(60);

/// What is remembered of a key.
pub(super) struct Item {
    pub(super) place: Place,
    /// Events that came in while the key was being processed, and are not known to be our own.
    pub(super) news: Vec<Option<Version>>,
    /// Own writes that have not come back.
    pub(super) writes: Vec<Version>,
    /// Present while passes fail.
    pub(super) backoff: Option<(Backoff, u32)>,
    /// Of the object at its last pass.
    pub(super) generation: i64,
    /// Writes to children, since when.
    pub(super) child_writes: Option<(Instant, u32)>,
}

/// Where a key is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    Idle,
    Ready(Instant),
    Delayed(Instant, u64),
    /// Wanted, but waiting for own writes to come back, at the latest until the time given.
    CatchingUp(Instant, u64),
    Processing(Instant),
}

impl Item {
    /// Until when the key is to rest, if it is in a fight.
    pub(super) fn fights_until(&self, now: Instant) -> Option<Instant> {
        let (since, writes) = self.child_writes?;
        Some(since + FIGHT).filter(|rested| writes >= FIGHT_WRITES && now < *rested)
    }

    pub(super) fn count_child_write(&mut self, now: Instant) {
        let (since, writes) = self.child_writes.filter(|(since, _)| now < *since + FIGHT).unwrap_or((now, 0));
        self.child_writes = Some((since, writes + 1));
    }

    /// Whether there is nothing to remember.
    pub(super) fn is_idle(&self, now: Instant) -> bool {
        self.place == Place::Idle
            && self.writes.is_empty()
            && self.backoff.is_none()
            && self.child_writes.is_none_or(|(since, _)| now >= since + FIGHT)
    }
}

impl Default for Item {
    fn default() -> Self {
        Self {
            place: Place::Idle,
            news: Vec::new(),
            writes: Vec::new(),
            backoff: None,
            generation: 0,
            child_writes: None,
        }
    }
}
