//! Records writes to children: contentions over them, and recent creations.

use std::time::Duration;

use tokio::time::Instant;

use super::{Contention, Queue};
use crate::plan::meta::{Key, ResourceKind};

/// How long the creation of a child is remembered. Shorter than a contention, for which a key is remembered anyway.
const JUST_CREATED: Duration = Duration::from_secs(10);

impl Queue {
    /// Counts a write to a child, to detect a contention.
    pub fn wrote_child(&self, key: &Key, kind: ResourceKind, child: &Key) {
        if let Some(item) = self.lock().items.get_mut(key) {
            item.contentions.count_write(kind, child, Instant::now());
        }
    }

    /// The same for a write that restored a child after a change of another client, to detect occasional changes, too.
    pub fn repaired(&self, key: &Key, kind: ResourceKind, child: &Key) {
        if let Some(item) = self.lock().items.get_mut(key) {
            let now = Instant::now();
            item.contentions.count_write(kind, child, now);
            item.contentions.count_repair(kind, child, now);
        }
    }

    /// The child of `key` that another client changes occasionally, if that has not been reported yet.
    pub fn slow_contention(&self, key: &Key) -> Option<(ResourceKind, Key)> {
        self.lock().items.get_mut(key)?.contentions.take_slow()
    }

    /// Records the creation of a child, for an object that had children before.
    pub fn created_child(&self, key: &Key) {
        if let Some(item) = self.lock().items.get_mut(key) {
            item.created_child = Some(Instant::now());
        }
    }

    /// Whether such a child of `key` was created a moment ago.
    #[must_use]
    pub fn has_just_created_child(&self, key: &Key) -> bool {
        let created = self.lock().items.get(key).and_then(|item| item.created_child);
        created.is_some_and(|created| created.elapsed() < JUST_CREATED)
    }

    /// The contention over a child of `key`, if there is one.
    #[must_use]
    pub fn contention(&self, key: &Key) -> Option<Contention> {
        self.lock().items.get(key)?.contentions.present(Instant::now())
    }
}
