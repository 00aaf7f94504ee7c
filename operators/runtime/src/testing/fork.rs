//! Another cluster of the same content.

use super::World;
use super::events::Events;

impl World {
    /// A cluster that is as this one is now, and has no stores yet.
    #[must_use]
    pub fn fork(&self) -> Self {
        Self {
            objects: self.objects.clone(),
            clock: self.clock,
            events: Events::default(),
            lingering: self.lingering.clone(),
            refusals: self.refusals.clone(),
            writes: self.writes,
            lifetime: None,
            now: self.now,
        }
    }

    /// Tells stores of all objects as they are: what a first list does.
    pub fn list(&mut self) {
        let all: Vec<_> = self.objects.iter().map(|((_, key), object)| (object.kind, key.clone())).collect();
        for (kind, key) in all {
            self.tell(kind, &key);
        }
    }
}
