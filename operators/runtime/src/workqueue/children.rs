//! What is noted of writes to children: fights over them, and that one was just made.

use std::time::{Duration, Instant};

use super::{Fight, Queue};
use crate::plan::meta::{Key, Kind};

/// For so long it is remembered that a child was made. Shorter than a fight, for which a key is remembered anyway.
const JUST_MADE: Duration = Duration::from_secs(10);

impl Queue {
    /// Counts a write to a child, to notice a fight over it.
    pub fn wrote_child(&self, key: &Key, kind: Kind, child: &Key) {
        if let Some(item) = self.lock().items.get_mut(key) {
            item.count_child_write(kind, child, Instant::now());
        }
    }

    /// The same of a write that took back a change of somebody else's: to notice one who comes back now and then, too.
    pub fn repaired(&self, key: &Key, kind: Kind, child: &Key) {
        if let Some(item) = self.lock().items.get_mut(key) {
            let now = Instant::now();
            item.count_child_write(kind, child, now);
            item.count_repair(kind, child, now);
        }
    }

    /// The child of `key` that somebody keeps changing now and then, if that has not been told yet.
    pub fn slow_fight(&self, key: &Key) -> Option<(Kind, Key)> {
        self.lock().items.get_mut(key)?.slow_fight.take()
    }

    /// Takes note that a child was made, of an object that had children before.
    pub fn made_child(&self, key: &Key) {
        if let Some(item) = self.lock().items.get_mut(key) {
            item.made_child = Some(Instant::now());
        }
    }

    /// Whether such a child of `key` was made a moment ago.
    #[must_use]
    pub fn has_just_made_a_child(&self, key: &Key) -> bool {
        let made = self.lock().items.get(key).and_then(|item| item.made_child);
        made.is_some_and(|made| made.elapsed() < JUST_MADE)
    }

    /// The fight over a child of `key`, if there is one.
    #[must_use]
    pub fn fight(&self, key: &Key) -> Option<Fight> {
        self.lock().items.get(key)?.fight(Instant::now())
    }
}
