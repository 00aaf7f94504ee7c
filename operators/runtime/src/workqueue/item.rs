//! What is remembered of one key.

use std::time::{Duration, Instant};

use super::version::Version;
use crate::plan::meta::{Key, Kind};
use crate::retry::Backoff;

/// So many writes to children of one key within [`FIGHT`] are a fight with another writer, not a person at work: the key
/// then rests until that time is over, or its object is edited.
pub const FIGHT_WRITES: u32 = 300;
/// See [`FIGHT_WRITES`].
pub const FIGHT: Duration = Duration::from_secs(60);
/// For so long after it was noticed a fight is told of: another writer that goes on is noticed again by then.
const FIGHT_OVER: Duration = FIGHT.saturating_mul(2);

/// So many repairs of children of one key within [`SLOW_FIGHT`], too seldom for a fight, are told of: somebody comes back.
pub const SLOW_FIGHT_REPAIRS: u32 = 10;
/// See [`SLOW_FIGHT_REPAIRS`].
pub const SLOW_FIGHT: Duration = Duration::from_secs(3600);

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
    /// Changes of others to children that were taken back, since when.
    pub(super) repairs: Option<(Instant, u32)>,
    /// The child of the last of these, once there were [`SLOW_FIGHT_REPAIRS`]; until it is told of.
    pub(super) slow_fight: Option<(Kind, Key)>,
    /// When a child was made last after the object had had children.
    pub(super) made_child: Option<Instant>,
    /// The last fight, and when it was noticed.
    pub(super) fight: Option<(Instant, Fight)>,
}

/// A fight with another writer over a child.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fight {
    /// The child that was written last.
    pub child: (Kind, Key),
    /// How long it takes from now until it counts as over, if no other one is noticed.
    pub left: Duration,
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

    pub(super) fn count_child_write(&mut self, kind: Kind, child: &Key, now: Instant) {
        let (since, writes) = one_more(self.child_writes, FIGHT, now);
        self.child_writes = Some((since, writes));
        if writes == FIGHT_WRITES {
            self.fight = Some((now, Fight { child: (kind, child.clone()), left: FIGHT_OVER }));
        }
    }

    pub(super) fn count_repair(&mut self, kind: Kind, child: &Key, now: Instant) {
        let (since, repairs) = one_more(self.repairs, SLOW_FIGHT, now);
        self.repairs = Some((since, repairs));
        if repairs == SLOW_FIGHT_REPAIRS {
            (self.repairs, self.slow_fight) = (None, Some((kind, child.clone())));
        }
    }

    /// The fight that the key is in, or has just been in.
    pub(super) fn fight(&self, now: Instant) -> Option<Fight> {
        let (noticed, fight) = self.fight.as_ref()?;
        let left = (*noticed + FIGHT_OVER).saturating_duration_since(now);
        (!left.is_zero()).then(|| Fight { left, ..fight.clone() })
    }

    /// Whether there is nothing to remember.
    pub(super) fn is_idle(&self, now: Instant) -> bool {
        self.place == Place::Idle
            && self.writes.is_empty()
            && self.backoff.is_none()
            && self.child_writes.is_none_or(|(since, _)| now >= since + FIGHT)
            && self.repairs.is_none_or(|(since, _)| now >= since + SLOW_FIGHT)
            && self.slow_fight.is_none()
            && self.fight(now).is_none()
    }
}

/// One more of what is counted since a moment, or the first again if that is too long ago.
fn one_more(counted: Option<(Instant, u32)>, within: Duration, now: Instant) -> (Instant, u32) {
    let (since, times) = counted.filter(|(since, _)| now < *since + within).unwrap_or((now, 0));
    (since, times + 1)
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
            repairs: None,
            slow_fight: None,
            made_child: None,
            fight: None,
        }
    }
}
