//! What the queue remembers of one key.

use std::time::Duration;

use tokio::time::Instant;

use super::object_version::ObjectVersion;
use crate::plan::meta::{Key, ResourceKind};
use crate::retry::Backoff;

/// This number of writes to children of one key within [`CONTENTION_WINDOW`] is a contention with another writer, not a user at
/// work: the key then rests until the end of that window, or until its object is edited.
pub const CONTENTION_WRITES: u32 = 300;
/// See [`CONTENTION_WRITES`].
pub const CONTENTION_WINDOW: Duration = Duration::from_secs(60);
/// How long a contention is reported after it was detected: one that continues is detected again by then.
const CONTENTION_REPORTED_FOR: Duration = CONTENTION_WINDOW.saturating_mul(2);

/// This number of repairs of children of one key within [`SLOW_CONTENTION_WINDOW`] is reported, even if it is too low for a
/// contention.
pub const SLOW_CONTENTION_REPAIRS: u32 = 10;
/// See [`SLOW_CONTENTION_REPAIRS`].
pub const SLOW_CONTENTION_WINDOW: Duration = Duration::from_secs(3600);

/// What the queue remembers of a key.
pub(super) struct QueueItem {
    pub(super) state: ItemState,
    /// Events that arrived while the key was being processed, and are not known to be those of own writes.
    pub(super) pending_events: Vec<Option<ObjectVersion>>,
    /// Own writes without an event.
    pub(super) writes: Vec<ObjectVersion>,
    /// The backoff and the number of failures, while reconciles fail.
    pub(super) backoff: Option<(Backoff, u32)>,
    /// The generation of the object at its last reconcile.
    pub(super) generation: i64,
    /// The number of writes to children, and since when.
    pub(super) child_writes: Option<(Instant, u32)>,
    /// The number of repairs of children, and since when.
    pub(super) repairs: Option<(Instant, u32)>,
    /// The child of the last repair, once there were [`SLOW_CONTENTION_REPAIRS`]; until it is reported.
    pub(super) slow_contention: Option<(ResourceKind, Key)>,
    /// When a child was last created for an object that had children before.
    pub(super) created_child: Option<Instant>,
    /// The last contention, and when it was detected.
    pub(super) contention: Option<(Instant, Contention)>,
}

/// A contention with another writer over a child.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Contention {
    /// The last written child.
    pub child: (ResourceKind, Key),
    /// The time until it ends, if it is not detected again.
    pub left: Duration,
}

/// The state of a key.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum ItemState {
    Idle,
    Ready(Instant),
    Delayed(Instant, u64),
    /// Waiting for the events of own writes, until that time at the latest.
    WaitingForCache(Instant, u64),
    Processing(Instant),
}

impl QueueItem {
    /// Until when the key rests, if there is a contention.
    pub(super) fn rests_until(&self, now: Instant) -> Option<Instant> {
        let (since, writes) = self.child_writes?;
        Some(since + CONTENTION_WINDOW).filter(|end| writes >= CONTENTION_WRITES && now < *end)
    }

    pub(super) fn count_child_write(&mut self, kind: ResourceKind, child: &Key, now: Instant) {
        let (since, writes) = count_within(self.child_writes, CONTENTION_WINDOW, now);
        self.child_writes = Some((since, writes));
        if writes == CONTENTION_WRITES {
            self.contention = Some((now, Contention { child: (kind, child.clone()), left: CONTENTION_REPORTED_FOR }));
        }
    }

    pub(super) fn count_repair(&mut self, kind: ResourceKind, child: &Key, now: Instant) {
        let (since, repairs) = count_within(self.repairs, SLOW_CONTENTION_WINDOW, now);
        self.repairs = Some((since, repairs));
        if repairs == SLOW_CONTENTION_REPAIRS {
            (self.repairs, self.slow_contention) = (None, Some((kind, child.clone())));
        }
    }

    /// The present or recent contention.
    pub(super) fn contention(&self, now: Instant) -> Option<Contention> {
        let (noticed, contention) = self.contention.as_ref()?;
        let left = (*noticed + CONTENTION_REPORTED_FOR).saturating_duration_since(now);
        (!left.is_zero()).then(|| Contention { left, ..contention.clone() })
    }

    /// Whether there is nothing to remember.
    pub(super) fn is_idle(&self, now: Instant) -> bool {
        self.state == ItemState::Idle
            && self.writes.is_empty()
            && self.backoff.is_none()
            && self.child_writes.is_none_or(|(since, _)| now >= since + CONTENTION_WINDOW)
            && self.repairs.is_none_or(|(since, _)| now >= since + SLOW_CONTENTION_WINDOW)
            && self.slow_contention.is_none()
            && self.contention(now).is_none()
    }
}

/// Increments a count within a window, or starts a new window.
fn count_within(counted: Option<(Instant, u32)>, within: Duration, now: Instant) -> (Instant, u32) {
    let (since, times) = counted.filter(|(since, _)| now < *since + within).unwrap_or((now, 0));
    (since, times + 1)
}

impl Default for QueueItem {
    fn default() -> Self {
        Self {
            state: ItemState::Idle,
            pending_events: Vec::new(),
            writes: Vec::new(),
            backoff: None,
            generation: 0,
            child_writes: None,
            repairs: None,
            slow_contention: None,
            created_child: None,
            contention: None,
        }
    }
}
