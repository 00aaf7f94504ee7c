//! What is noted of writes to children: fights over them, and that one was just made.

use std::time::Instant;

use super::{Fight, JUST_MADE, Queue};
use crate::plan::meta::{Key, Kind};

impl Queue {
    /// Counts a write to a child, to notice a fight over it.
    pub fn wrote_child(&self, key: &Key, kind: Kind, child: &Key) {
        if let Some(item) = self.lock().items.get_mut(key) {
            item.count_child_write(kind, child, Instant::now());
        }
    }

    /// Takes note that a change of somebody else's to a child was taken back, to notice one who comes back now and then.
    pub fn repaired(&self, key: &Key, kind: Kind, child: &Key) {
        if let Some(item) = self.lock().items.get_mut(key) {
            item.count_repair(kind, child, Instant::now());
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
