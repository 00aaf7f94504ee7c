//! The queue of one controller: first in, first out, each key once, and no key is processed twice at a time.
//!
//! It also knows the controller's own writes. The event of an own write enqueues nothing, and a key whose own writes have not all
//! arrived through the watch waits for them, so that no reconcile plans from a state before its own last write. The wait ends
//! with the events, or after [`CACHE_CATCH_UP_TIMEOUT`] (a child that was relabeled has no event).

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::Instant;

use crate::metrics::QueueMetrics;
use crate::plan::meta::Key;
use crate::retry::Backoff;

mod children;
mod contention;
mod item;
mod object_version;
mod request;
mod staggered;

pub use contention::{CONTENTION_REPAIRS, CONTENTION_WRITES, Contention, Rate, SLOW_CONTENTION};
use item::{ItemState, QueueItem};
pub use object_version::{ObjectVersion, ResourceVersion};
pub use request::{ReconcileResult, Request, Trigger};

/// How long a key waits for the events of its own writes.
const CACHE_CATCH_UP_TIMEOUT: Duration = Duration::from_secs(10);
/// How often items are removed that were remembered only to detect a contention.
const SWEEP_INTERVAL: Duration = Duration::from_secs(60);

/// The queue of one controller.
pub struct Queue {
    inner: Mutex<QueueState>,
    wake: Notify,
    metrics: QueueMetrics,
}

#[derive(Default)]
struct QueueState {
    ready: VecDeque<Key>,
    delayed: BTreeMap<(Instant, u64), Key>,
    items: HashMap<Key, QueueItem>,
    sequence: u64,
    swept: Option<Instant>,
    closed: bool,
}

impl Queue {
    /// An empty queue; its metrics have the name of the controller.
    #[must_use]
    pub fn new(controller: &'static str) -> Arc<Self> {
        Arc::new(Self { inner: Mutex::default(), wake: Notify::new(), metrics: QueueMetrics::new(controller) })
    }

    /// Enqueues a key.
    pub fn add(&self, key: &Key) {
        let mut inner = self.lock();
        self.enqueue(&mut inner, key, None);
    }

    /// Records an event, and enqueues `key` if the trigger says so. An event of the object itself has its `generation`: a new one
    /// resets the backoff.
    pub fn observe(&self, key: &Key, seen: ObjectVersion, generation: Option<i64>, trigger: Trigger) {
        let mut inner = self.lock();
        let Some(item) = inner.items.get_mut(key) else {
            if trigger != Trigger::None {
                self.enqueue(&mut inner, key, Some(seen));
            }
            return;
        };
        let is_deleted = seen.version == ResourceVersion::Deleted;
        if generation.is_some_and(|generation| is_deleted || generation != item.generation) {
            item.backoff = None;
            item.contentions.edited();
        }
        let own = item.writes.contains(&seen);
        item.writes.retain(|write| !seen.covers(write));
        let caught_up = item.writes.is_empty();
        if let (ItemState::WaitingForCache(at, n), true) = (item.state, caught_up) {
            item.state = ItemState::Idle;
            inner.delayed.remove(&(at, n));
            self.make_ready(&mut inner, key);
        }
        match trigger {
            Trigger::UnlessOwn if !own => self.enqueue(&mut inner, key, Some(seen)),
            Trigger::Always => self.enqueue(&mut inner, key, None),
            _ => {}
        }
        inner.forget_if_idle(key);
    }

    /// Records a write of the reconcile of `key`. `held` is the version in the store.
    pub fn wrote(&self, key: &Key, written: ObjectVersion, held: u64) {
        let mut inner = self.lock();
        let Some(item) = inner.items.get_mut(key) else { return };
        let pending = item.pending_events.len();
        item.pending_events.retain(|event| event.as_ref() != Some(&written));
        let event_came_first =
            item.pending_events.len() < pending || matches!(written.version, ResourceVersion::Exact(v) if held >= v);
        if !event_came_first {
            item.writes.retain(|write| !write.is_of(&written));
            item.writes.push(written);
        }
    }

    /// The next key, when there is one; `None` once the queue is closed.
    pub async fn next(&self) -> Option<Request> {
        loop {
            let notified = self.wake.notified();
            let pause = {
                let mut inner = self.lock();
                if inner.closed {
                    // Wakes the next worker, too.
                    self.wake.notify_one();
                    return None;
                }
                self.promote(&mut inner, Instant::now());
                if let Some(request) = self.take(&mut inner) {
                    return Some(request);
                }
                inner.delayed.keys().next().map(|(at, _)| at.saturating_duration_since(Instant::now()))
            };
            match pause {
                Some(pause) => drop(tokio::time::timeout(pause, notified).await),
                None => notified.await,
            }
        }
    }

    /// Records the end of the reconcile of `key`.
    pub fn done(&self, key: &Key, generation: i64, outcome: &ReconcileResult) {
        let mut inner = self.lock();
        let Some(item) = inner.items.get_mut(key) else { return };
        if let ItemState::Processing(since) = item.state {
            self.metrics.worked(since.elapsed());
        }
        item.state = ItemState::Idle;
        let pending_events = std::mem::take(&mut item.pending_events);
        item.generation = generation;
        let delay = match outcome {
            ReconcileResult::Done => None,
            ReconcileResult::RequeueAfter(delay) => Some(*delay),
            ReconcileResult::Failed | ReconcileResult::Parked => {
                self.metrics.retried();
                let (backoff, failures) = item.backoff.get_or_insert_with(|| (Backoff::object(), 0));
                *failures += 1;
                Some(if *outcome == ReconcileResult::Parked { Backoff::longest_of_object() } else { backoff.delay() })
            }
        };
        if matches!(outcome, ReconcileResult::Done | ReconcileResult::RequeueAfter(_)) {
            item.backoff = None;
        }
        if !pending_events.is_empty() {
            self.enqueue(&mut inner, key, None);
        } else if let Some(delay) = delay {
            inner.delay(key, Instant::now() + delay, ItemState::Delayed);
            self.wake.notify_one();
        }
        inner.forget_if_idle(key);
    }

    /// Ends the queue: workers get no more keys.
    pub fn close(&self) {
        self.lock().closed = true;
        self.wake.notify_waiters();
        self.wake.notify_one();
    }

    /// The number of keys that are ready.
    #[must_use]
    pub fn depth(&self) -> usize {
        self.lock().ready.len()
    }

    fn enqueue(&self, inner: &mut QueueState, key: &Key, event: Option<ObjectVersion>) {
        let item = inner.items.entry(key.clone()).or_default();
        match item.state {
            ItemState::Processing(_) => item.pending_events.push(event),
            ItemState::Ready(_) | ItemState::WaitingForCache(..) => {}
            ItemState::Delayed(at, n) => {
                inner.delayed.remove(&(at, n));
                self.make_ready(inner, key);
            }
            ItemState::Idle => self.make_ready(inner, key),
        }
    }

    fn make_ready(&self, inner: &mut QueueState, key: &Key) {
        let Some(item) = inner.items.get_mut(key) else { return };
        if !item.writes.is_empty() {
            inner.delay(key, Instant::now() + CACHE_CATCH_UP_TIMEOUT, ItemState::WaitingForCache);
            self.wake.notify_one();
            return;
        }
        if let Some(rests_until) = item.contentions.rests_until(Instant::now()) {
            inner.delay(key, rests_until, ItemState::Delayed);
            self.wake.notify_one();
            return;
        }
        item.state = ItemState::Ready(Instant::now());
        inner.ready.push_back(key.clone());
        self.metrics.added(inner.ready.len());
        self.wake.notify_one();
    }

    /// Makes keys ready whose delay has elapsed.
    fn promote(&self, inner: &mut QueueState, now: Instant) {
        while let Some(entry) = inner.delayed.first_entry().filter(|entry| entry.key().0 <= now) {
            let key = entry.remove();
            if let Some(item) = inner.items.get_mut(&key) {
                if matches!(item.state, ItemState::WaitingForCache(..)) {
                    item.writes.clear();
                }
                item.state = ItemState::Idle;
            }
            self.make_ready(inner, &key);
        }
    }

    fn take(&self, inner: &mut QueueState) -> Option<Request> {
        let key = inner.ready.pop_front()?;
        let item = inner.items.get_mut(&key)?;
        if let ItemState::Ready(since) = item.state {
            self.metrics.taken(inner.ready.len(), since.elapsed());
        }
        item.state = ItemState::Processing(Instant::now());
        let failures = item.backoff.as_ref().map_or(0, |(_, failures)| *failures);
        if !inner.ready.is_empty() {
            self.wake.notify_one();
        }
        Some(Request { key, failures })
    }

    fn lock(&self) -> MutexGuard<'_, QueueState> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl QueueState {
    fn delay(&mut self, key: &Key, at: Instant, state: fn(Instant, u64) -> ItemState) {
        self.sequence += 1;
        if let Some(item) = self.items.get_mut(key) {
            item.state = state(at, self.sequence);
            self.delayed.insert((at, self.sequence), key.clone());
        }
    }

    /// Removes the item of a key that has nothing to remember.
    fn forget_if_idle(&mut self, key: &Key) {
        let now = Instant::now();
        if self.items.get(key).is_some_and(|item| item.is_idle(now)) {
            self.items.remove(key);
        }
        // Also items that were remembered only to detect a contention.
        if self.swept.is_none_or(|swept| now >= swept + SWEEP_INTERVAL) {
            self.swept = Some(now);
            self.items.retain(|_, item| !item.is_idle(now));
        }
    }
}

#[cfg(test)]
mod tests;
