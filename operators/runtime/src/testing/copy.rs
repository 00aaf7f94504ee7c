//! Copies of a cluster.

use super::FakeCluster;
use super::pending_events::PendingEvents;

impl FakeCluster {
    /// A copy in the present state, without stores.
    #[must_use]
    pub fn copy_without_stores(&self) -> Self {
        Self {
            objects: self.objects.clone(),
            clock: self.clock,
            events: PendingEvents::default(),
            blocks_deletion: self.blocks_deletion.clone(),
            refusals: self.refusals.clone(),
            writes: self.writes,
            remaining_writes: None,
            now: self.now,
        }
    }

    /// Publishes an event of each live object, like a first list.
    pub fn list_all(&mut self) {
        let all: Vec<_> = self.objects.iter().map(|((_, key), object)| (object.kind, key.clone())).collect();
        for (kind, key) in all {
            self.push_event(kind, &key);
        }
    }
}
