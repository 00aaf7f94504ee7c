//! Many keys at once, each a little later than the last: a pass takes a few requests, and all controllers do the same.

use std::time::{Duration, Instant};

use super::item::Place;
use super::{Inner, Queue};
use crate::plan::meta::Key;
use crate::retry::scattered;

/// How far apart keys are looked at.
pub(super) const EVERY: Duration = Duration::from_millis(100);

impl Queue {
    /// After an outage: what failed is looked at again, one key after another, instead of each after its own delay.
    pub fn retry_failed(&self) {
        let mut inner = self.lock();
        let failed =
            inner.delayed.values().filter(|key| inner.items.get(*key).is_some_and(|item| item.backoff.is_some()));
        let failed: Vec<_> = failed.cloned().collect();
        inner.spread(&failed);
        self.wake.notify_one();
    }

    /// Wants a pass over each of these keys, one after another; what comes sooner anyway is left at that.
    pub fn add_spread(&self, keys: &[Key]) {
        self.lock().spread(keys);
        self.wake.notify_one();
    }
}

impl Inner {
    fn spread(&mut self, keys: &[Key]) {
        let mut due = Instant::now() + scattered(EVERY);
        for key in keys {
            let item = self.items.entry(key.clone()).or_default();
            match item.place {
                Place::Processing(_) => item.news.push(None),
                Place::Idle => self.delay(key, due, Place::Delayed),
                Place::Delayed(at, n) if due < at => {
                    self.delayed.remove(&(at, n));
                    self.delay(key, due, Place::Delayed);
                }
                Place::Delayed(..) | Place::Ready(_) | Place::CatchingUp(..) => {}
            }
            due += EVERY;
        }
    }
}
