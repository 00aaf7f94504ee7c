//! Many keys at once, each a little later than the last: a pass takes a few requests, and all controllers do the same.

use std::time::{Duration, Instant};

use super::item::Place;
use super::{Inner, Queue};
use crate::plan::meta::Key;
use crate::retry::scattered;

/// How far apart the first keys are looked at: with all controllers, some 50 requests in the first second.
pub(super) const EVERY: Duration = Duration::from_millis(100);
/// After so many keys, they are looked at twice as fast; at most so fast: a server that has taken these takes more.
const FASTER_AFTER: usize = 10;
const FASTEST: Duration = Duration::from_millis(3);

/// How long after the key before the one of that number is looked at.
fn pause(number: usize) -> Duration {
    let halvings = u32::try_from(number / FASTER_AFTER).unwrap_or(u32::MAX);
    EVERY.checked_div(2_u32.saturating_pow(halvings)).unwrap_or_default().max(FASTEST)
}

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
        for (number, key) in keys.iter().enumerate() {
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
            due += pause(number);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thousand_keys_are_looked_at_within_seconds_and_few_of_them_at_once() {
        let due = |number: usize| (0..number).map(pause).sum::<Duration>();
        assert_eq!((0..1000).filter(|number| due(*number) < Duration::from_secs(1)).count(), 10);
        assert!(due(1000) < Duration::from_secs(5), "{:?}", due(1000));
        assert_eq!(pause(usize::MAX), FASTEST);
    }
}
