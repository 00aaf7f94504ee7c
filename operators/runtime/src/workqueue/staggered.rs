//! Enqueues many keys, staggered: a reconcile takes a few requests, and all controllers do this simultaneously.

use std::time::Duration;

use tokio::time::Instant;

use super::item::ItemState;
use super::{Queue, QueueState};
use crate::plan::meta::Key;
use crate::retry::scattered;

/// The interval between the first keys: with all controllers, about 50 requests in the first second.
pub(super) const FIRST_INTERVAL: Duration = Duration::from_millis(100);
/// After each of this number of keys, the interval is halved: a server that has handled these can handle more.
const HALVED_EVERY: usize = 10;
/// The shortest interval.
const SHORTEST_INTERVAL: Duration = Duration::from_millis(3);

/// The interval before the key with that number.
fn pause(number: usize) -> Duration {
    let halvings = u32::try_from(number / HALVED_EVERY).unwrap_or(u32::MAX);
    FIRST_INTERVAL.checked_div(2_u32.saturating_pow(halvings)).unwrap_or_default().max(SHORTEST_INTERVAL)
}

impl Queue {
    /// Retries failed keys after an outage, staggered, instead of after their own backoff.
    pub fn retry_failed(&self) {
        let mut inner = self.lock();
        let failed =
            inner.delayed.values().filter(|key| inner.items.get(*key).is_some_and(|item| item.backoff.is_some()));
        let failed: Vec<_> = failed.cloned().collect();
        inner.stagger(&failed);
        self.wake.notify_one();
    }

    /// Enqueues these keys, staggered. A key that is due sooner keeps its time.
    pub fn add_staggered(&self, keys: &[Key]) {
        self.lock().stagger(keys);
        self.wake.notify_one();
    }
}

impl QueueState {
    fn stagger(&mut self, keys: &[Key]) {
        let mut due = Instant::now() + scattered(FIRST_INTERVAL);
        for (number, key) in keys.iter().enumerate() {
            let item = self.items.entry(key.clone()).or_default();
            match item.state {
                ItemState::Processing(_) => item.pending_events.push(None),
                ItemState::Idle => self.delay(key, due, ItemState::Delayed),
                ItemState::Delayed(at, n) if due < at => {
                    self.delayed.remove(&(at, n));
                    self.delay(key, due, ItemState::Delayed);
                }
                ItemState::Delayed(..) | ItemState::Ready(_) | ItemState::WaitingForCache(..) => {}
            }
            due += pause(number);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thousand_keys_are_due_within_seconds_and_few_of_them_at_once() {
        let due = |number: usize| (0..number).map(pause).sum::<Duration>();
        assert_eq!((0..1000).filter(|number| due(*number) < Duration::from_secs(1)).count(), 10);
        assert!(due(1000) < Duration::from_secs(5), "{:?}", due(1000));
        assert_eq!(pause(usize::MAX), SHORTEST_INTERVAL);
    }
}
