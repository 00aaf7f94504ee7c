//! The API server that clients and actors share.

use std::future::pending;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use jiff::Timestamp;
use tokio::sync::Notify;
use tokio::time::Instant;

use super::change_times::ChangeTimes;
use super::errors::UNMODELLED;
use super::fate::{Faults, Interruption};
use super::kinds::KindId;
use super::request::{Answer, ApiError, ApiRequest};
use super::state::StoredState;
use crate::random::Random;

/// An API server in memory.
#[derive(Clone)]
pub struct SimulatedApiServer(Arc<Shared>);

struct Shared {
    state: Mutex<StoredState>,
    faults: Mutex<Faults>,
    /// How many requests clients have sent.
    requests: AtomicUsize,
    /// Wakes what waits for changes of the state, in the order in which it began to wait: tokio's channel `watch` does so in a
    /// random order.
    news: Notify,
    /// The same for what waits for changes of one kind, by its number. That the API server forgets changes counts as one.
    kind_news: Vec<Notify>,
    times: Mutex<ChangeTimes>,
    /// Wakes what waits for changes of the faults.
    fault_news: Notify,
    /// What each request was about, and what came of it, if that is recorded.
    record: Mutex<Option<Vec<RecordedRequest>>>,
}

/// A request, and what came of it.
#[derive(Clone, Debug)]
pub struct RecordedRequest {
    /// When its handling ended.
    pub now: Timestamp,
    /// Who sent it.
    pub user: String,
    /// The request and the code of its answer.
    pub what: String,
}

impl SimulatedApiServer {
    /// An API server with that state, and without faults. Latencies, and the faults to come, are determined by `random`.
    #[must_use]
    pub fn new(state: StoredState, random: Random) -> Self {
        let kinds = state.kinds().iter().count();
        Self(Arc::new(Shared {
            times: Mutex::new(ChangeTimes::new(Instant::now(), state.version(), kinds)),
            state: Mutex::new(state),
            faults: Mutex::new(Faults::new(random)),
            requests: AtomicUsize::new(0),
            news: Notify::new(),
            kind_news: (0..kinds).map(|_| Notify::new()).collect(),
            fault_news: Notify::new(),
            record: Mutex::default(),
        }))
    }

    /// Performs the request of an actor: at once, and without faults.
    ///
    /// # Errors
    /// If the API server rejects it.
    pub fn perform(&self, request: &ApiRequest) -> Result<Answer, ApiError> {
        self.edit(|state| {
            let answer = state.perform(request, runtime::clock::now());
            answer.inspect_err(|error| note(state, error))
        })
    }

    /// Reads the state.
    pub fn read<R>(&self, read: impl FnOnce(&StoredState) -> R) -> R {
        read(&self.state())
    }

    /// Changes the state, and wakes what waits for changes.
    pub fn edit<R>(&self, edit: impl FnOnce(&mut StoredState) -> R) -> R {
        let (result, changed, of) = {
            let mut state = self.state();
            let (before, forgotten) = (state.version(), state.forgotten());
            let result = edit(&mut state);
            let changes = state.changes(before).ok().filter(|_| state.forgotten() == forgotten);
            let mut times = self.times();
            for change in changes.unwrap_or_default() {
                times.note(Instant::now(), change.version, change.kind);
            }
            let of = changes.map(|changes| changes.iter().map(|change| change.kind).collect::<Vec<_>>());
            (result, state.version() != before, of)
        };
        if changed {
            self.0.news.notify_waiters();
        }
        match of {
            Some(kinds) => {
                kinds.into_iter().filter_map(|kind| self.0.kind_news.get(kind)).for_each(Notify::notify_waiters)
            }
            None => self.0.kind_news.iter().for_each(Notify::notify_waiters),
        }
        result
    }

    /// When the state changed.
    pub(super) fn times(&self) -> MutexGuard<'_, ChangeTimes> {
        self.0.times.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for a change of a kind after the version `since`, or until changes after it are forgotten.
    pub(super) async fn kind_changed(&self, kind: KindId, since: u64) {
        let Some(news) = self.0.kind_news.get(kind) else { return pending().await };
        loop {
            // From here on, no change is missed.
            let news = news.notified();
            if self.concerns(kind, since) {
                return;
            }
            news.await;
        }
    }

    /// Whether an object of a kind changed after the version `since`, or changes after it are forgotten.
    pub(super) fn concerns(&self, kind: KindId, since: u64) -> bool {
        let forgotten = self.read(StoredState::forgotten);
        forgotten > since || self.times().of_kind_after(kind, since).is_some()
    }

    /// Waits for a version newer than `since`, and returns it.
    pub async fn changed(&self, since: u64) -> u64 {
        loop {
            // From here on, no change is missed.
            let news = self.0.news.notified();
            let version = self.read(StoredState::version);
            if version > since {
                return version;
            }
            news.await;
        }
    }

    /// Changes the faults. An outage that begins interrupts watches at once.
    pub fn faults<R>(&self, change: impl FnOnce(&mut Faults) -> R) -> R {
        let result = self.draw(change);
        self.0.fault_news.notify_waiters();
        result
    }

    /// Ends all watches with a connection error.
    pub fn cut_watches(&self) {
        self.faults(|faults| faults.watch_cuts += 1);
    }

    /// From now on, all requests of clients are recorded.
    pub fn record_requests(&self) {
        *self.record() = Some(Vec::new());
    }

    /// The requests recorded until now.
    #[must_use]
    pub fn recorded(&self) -> Vec<RecordedRequest> {
        self.record().clone().unwrap_or_default()
    }

    /// The requests recorded until now, if they are recorded.
    pub(super) fn record(&self) -> MutexGuard<'_, Option<Vec<RecordedRequest>>> {
        self.0.record.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts a request of a client.
    pub(super) fn count_request(&self) {
        self.0.requests.fetch_add(1, Ordering::Relaxed);
    }

    /// How many requests clients have sent.
    #[must_use]
    pub fn requests(&self) -> usize {
        self.0.requests.load(Ordering::Relaxed)
    }

    /// Draws what becomes of a request or a watch. Unlike a change of the faults, it wakes nothing.
    pub(super) fn draw<R>(&self, draw: impl FnOnce(&mut Faults) -> R) -> R {
        draw(&mut self.0.faults.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Waits until a watch of `user` is interrupted that was opened after watches were cut for the `cuts`th time.
    pub(super) async fn interrupted(&self, user: &str, cuts: u64) -> Interruption {
        loop {
            let news = self.0.fault_news.notified();
            if let Some(how) = self.draw(|faults| faults.interrupts(user, cuts, Instant::now())) {
                return how;
            }
            news.await;
        }
    }

    fn state(&self) -> MutexGuard<'_, StoredState> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Records that the model lacks something, once.
pub(super) fn note(state: &mut StoredState, error: &ApiError) {
    if error.code == UNMODELLED && !state.unmodelled().contains(&error.message) {
        state.note_unmodelled(error.message.clone());
    }
}

#[cfg(test)]
pub(super) mod testing;

#[cfg(test)]
mod tests {
    use super::testing::{config, create, server};
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn who_waits_for_a_change_gets_its_version() {
        let server = server();
        let version = server.read(StoredState::version);
        let (changed, ()) = tokio::join!(server.changed(version), async { create(&server, config("a", "x", "1")) });
        assert!(changed > version);
        assert_eq!(server.changed(version).await, changed, "it was before");
    }
}
