//! The queue of one controller: first in, first out, each key once, never the same key twice at a time.
//!
//! It also knows the controller's own writes. The event of an own write is no news and queues nothing; and a key whose
//! own writes have not all come back through the watch waits for them, so that no pass plans from before its own last
//! write. The wait ends by the events themselves, or after [`CATCH_UP`] (a child that was relabelled never comes back).

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::Notify;

use crate::metrics::QueueMetrics;
use crate::plan::meta::Key;
use crate::retry::Backoff;

mod children;
mod item;
mod pass;
mod spread;
mod version;

pub use item::{FIGHT, FIGHT_WRITES, Fight, SLOW_FIGHT, SLOW_FIGHT_REPAIRS};
use item::{Item, Place};
pub use pass::{ReconcileResult, Request, Trigger};
pub use version::{At, Version};

/// How long a key waits for its own writes to come back.
const CATCH_UP: Duration = Duration::from_secs(10);

/// The queue of one controller.
pub struct Queue {
    inner: Mutex<Inner>,
    wake: Notify,
    metrics: QueueMetrics,
}

#[derive(Default)]
struct Inner {
    ready: VecDeque<Key>,
    delayed: BTreeMap<(Instant, u64), Key>,
    items: HashMap<Key, Item>,
    sequence: u64,
    swept: Option<Instant>,
    closed: bool,
}

impl Queue {
    /// An empty queue whose metrics bear the controller's name.
    #[must_use]
    pub fn new(controller: &'static str) -> Arc<Self> {
        Arc::new(Self { inner: Mutex::default(), wake: Notify::new(), metrics: QueueMetrics::new(controller) })
    }

    /// Wants a pass over that key.
    pub fn add(&self, key: &Key) {
        let mut inner = self.lock();
        self.want(&mut inner, key, None);
    }

    /// Takes note of an event; wants a pass over `key` if it is news. The event of the object
    /// itself names its `generation`: a new one ends the delays of earlier failures.
    pub fn observe(&self, key: &Key, seen: Version, generation: Option<i64>, news: Trigger) {
        let mut inner = self.lock();
        let Some(item) = inner.items.get_mut(key) else {
            if news != Trigger::None {
                self.want(&mut inner, key, Some(seen));
            }
            return;
        };
        let gone = seen.at == At::Gone;
        if generation.is_some_and(|generation| gone || generation != item.generation) {
            item.backoff = None;
            (item.child_writes, item.fight) = (None, None);
        }
        let own = item.writes.contains(&seen);
        item.writes.retain(|write| !seen.covers(write));
        let caught_up = item.writes.is_empty();
        if let (Place::CatchingUp(at, n), true) = (item.place, caught_up) {
            item.place = Place::Idle;
            inner.delayed.remove(&(at, n));
            self.make_ready(&mut inner, key);
        }
        match news {
            Trigger::UnlessOwn if !own => self.want(&mut inner, key, Some(seen)),
            Trigger::Always => self.want(&mut inner, key, None),
            _ => {}
        }
        inner.forget_if_idle(key);
    }

    /// Takes note of a write that the pass over `key` has just made. `held` is the version that the store holds.
    pub fn wrote(&self, key: &Key, written: Version, held: u64) {
        let mut inner = self.lock();
        let Some(item) = inner.items.get_mut(key) else { return };
        let news = item.news.len();
        item.news.retain(|event| event.as_ref() != Some(&written));
        let came_back_first = item.news.len() < news || matches!(written.at, At::Version(v) if held >= v);
        if !came_back_first {
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
                    // Every worker has to hear of it.
                    self.wake.notify_one();
                    return None;
                }
                self.promote(&mut inner, Instant::now());
                if let Some(work) = self.take(&mut inner) {
                    return Some(work);
                }
                inner.delayed.keys().next().map(|(at, _)| at.saturating_duration_since(Instant::now()))
            };
            match pause {
                Some(pause) => drop(tokio::time::timeout(pause, notified).await),
                None => notified.await,
            }
        }
    }

    /// Ends the pass over `key`.
    pub fn done(&self, key: &Key, generation: i64, outcome: &ReconcileResult) {
        let mut inner = self.lock();
        let Some(item) = inner.items.get_mut(key) else { return };
        if let Place::Processing(since) = item.place {
            self.metrics.worked(since.elapsed());
        }
        item.place = Place::Idle;
        let news = std::mem::take(&mut item.news);
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
        if !news.is_empty() {
            self.want(&mut inner, key, None);
        } else if let Some(delay) = delay {
            inner.delay(key, Instant::now() + delay, Place::Delayed);
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

    /// How many keys are ready for a pass.
    #[must_use]
    pub fn depth(&self) -> usize {
        self.lock().ready.len()
    }

    fn want(&self, inner: &mut Inner, key: &Key, event: Option<Version>) {
        let item = inner.items.entry(key.clone()).or_default();
        match item.place {
            Place::Processing(_) => item.news.push(event),
            Place::Ready(_) | Place::CatchingUp(..) => {}
            Place::Delayed(at, n) => {
                inner.delayed.remove(&(at, n));
                self.make_ready(inner, key);
            }
            Place::Idle => self.make_ready(inner, key),
        }
    }

    fn make_ready(&self, inner: &mut Inner, key: &Key) {
        let Some(item) = inner.items.get_mut(key) else { return };
        if !item.writes.is_empty() {
            inner.delay(key, Instant::now() + CATCH_UP, Place::CatchingUp);
            self.wake.notify_one();
            return;
        }
        if let Some(rested) = item.fights_until(Instant::now()) {
            inner.delay(key, rested, Place::Delayed);
            self.wake.notify_one();
            return;
        }
        item.place = Place::Ready(Instant::now());
        inner.ready.push_back(key.clone());
        self.metrics.added(inner.ready.len());
        self.wake.notify_one();
    }

    /// Makes ready what has waited long enough.
    fn promote(&self, inner: &mut Inner, now: Instant) {
        while let Some(entry) = inner.delayed.first_entry().filter(|entry| entry.key().0 <= now) {
            let key = entry.remove();
            if let Some(item) = inner.items.get_mut(&key) {
                if matches!(item.place, Place::CatchingUp(..)) {
                    item.writes.clear();
                }
                item.place = Place::Idle;
            }
            self.make_ready(inner, &key);
        }
    }

    fn take(&self, inner: &mut Inner) -> Option<Request> {
        let key = inner.ready.pop_front()?;
        let item = inner.items.get_mut(&key)?;
        if let Place::Ready(since) = item.place {
            self.metrics.taken(inner.ready.len(), since.elapsed());
        }
        item.place = Place::Processing(Instant::now());
        let failures = item.backoff.as_ref().map_or(0, |(_, failures)| *failures);
        if !inner.ready.is_empty() {
            self.wake.notify_one();
        }
        Some(Request { key, failures })
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inner {
    fn delay(&mut self, key: &Key, at: Instant, place: fn(Instant, u64) -> Place) {
        self.sequence += 1;
        if let Some(item) = self.items.get_mut(key) {
            item.place = place(at, self.sequence);
            self.delayed.insert((at, self.sequence), key.clone());
        }
    }

    /// Keeps nothing of a key about which there is nothing to remember.
    fn forget_if_idle(&mut self, key: &Key) {
        let now = Instant::now();
        if self.items.get(key).is_some_and(|item| item.is_idle(now)) {
            self.items.remove(key);
        }
        // Those that were remembered for a while only, for the case of a fight.
        if self.swept.is_none_or(|swept| now >= swept + FIGHT) {
            self.swept = Some(now);
            self.items.retain(|_, item| !item.is_idle(now));
        }
    }
}

#[cfg(test)]
mod tests;
