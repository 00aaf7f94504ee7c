//! What the queue remembers of one key.

use tokio::time::Instant;

use super::contention::Contentions;
use super::object_version::ObjectVersion;
use crate::retry::Backoff;

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
    /// When a child was last created for an object that had children before.
    pub(super) created_child: Option<Instant>,
    /// Contentions with other writers over children.
    pub(super) contentions: Contentions,
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
    /// Whether there is nothing to remember.
    pub(super) fn is_idle(&self, now: Instant) -> bool {
        self.state == ItemState::Idle
            && self.writes.is_empty()
            && self.backoff.is_none()
            && self.contentions.is_over(now)
    }
}

impl Default for QueueItem {
    fn default() -> Self {
        Self {
            state: ItemState::Idle,
            pending_events: Vec::new(),
            writes: Vec::new(),
            backoff: None,
            generation: 0,
            created_child: None,
            contentions: Contentions::default(),
        }
    }
}
