//! Watches: streams of events, one in a line, that may lag, freeze and break off.

use std::collections::VecDeque;
use std::future::pending;
use std::io;
use std::time::Duration;

use futures::stream;
use http::Response;
use http_body_util::{BodyExt, StreamBody};
use hyper::body::{Bytes, Frame};
use tokio::time::{Instant, sleep_until};
use tower::BoxError;

use super::answer::{ResponseBody, respond};
use super::fate::{Faults, Interruption};
use super::kinds::KindId;
use super::request::{ApiError, ApiRequest, WatchOptions};
use super::service::SimulatedApiServer;
use super::state::StoredState;
use events::{bookmark, event, expired, present};
use selection::Selection;

mod events;
mod selection;

/// When the API server ends a watch whose client names no time.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(1800);
/// The time between two bookmarks. (kubernetes: apiserver/pkg/storage/cacher)
const BOOKMARK_INTERVAL: Duration = Duration::from_secs(60);
/// The last bookmark comes this long before the end.
const BOOKMARK_BEFORE_END: Duration = Duration::from_secs(2);
/// How long a connection is frozen before it is reset.
const FROZEN_FOR: Duration = Duration::from_secs(120);

/// Opens a watch.
///
/// # Errors
/// With the code 501 if its selectors are not modelled.
pub fn open(
    server: &SimulatedApiServer,
    request: &ApiRequest,
    options: &WatchOptions,
) -> Result<Response<ResponseBody>, ApiError> {
    let watch = Watch::new(server, request, options)?;
    let events = stream::unfold(watch, |mut watch| async move { Some((watch.next().await?, watch)) });
    let body = BodyExt::boxed_unsync(StreamBody::new(Box::pin(events)));
    Ok(respond(200, "application/json", body))
}

/// The state of a watch.
struct Watch {
    server: SimulatedApiServer,
    user: String,
    kind: KindId,
    selection: Selection,
    metadata_only: bool,
    /// Lines that are due.
    lines: VecDeque<Bytes>,
    /// The version up to which all events are in `lines` or were sent.
    sent: u64,
    /// When the events up to that version are delivered.
    delivery: Option<(Instant, u64)>,
    /// Since when nothing is on its way: the last delivery, or the opening.
    idle_since: Instant,
    lag: Duration,
    interruption: Option<(Instant, Interruption)>,
    /// How often all watches had been cut when this one was opened.
    cuts: u64,
    frozen: bool,
    /// When the next bookmark is sent, if the client wants any.
    bookmark: Option<Instant>,
    end: Instant,
    ended: bool,
}

/// What a watch has waited for.
#[derive(Clone, Copy)]
enum Wakeup {
    Delivery(u64),
    Interruption(Interruption),
    Bookmark,
    End,
    /// An object of the kind has changed, or changes are forgotten.
    Change,
}

impl Watch {
    fn new(server: &SimulatedApiServer, request: &ApiRequest, options: &WatchOptions) -> Result<Self, ApiError> {
        let selection = Selection::of(request, &options.of)?;
        let (fate, now) = (server.draw(Faults::watch), Instant::now());
        let (kind, metadata_only) = (request.kind, request.metadata_only);
        let (lines, sent, version) = server.read(|state| match options.since {
            Some(since) => (VecDeque::new(), since, state.version()),
            None => (present(state, kind, &selection, metadata_only), state.version(), state.version()),
        });
        let end = options.timeout.and_then(|timeout| now.checked_add(timeout)).unwrap_or(now + DEFAULT_TIMEOUT);
        Ok(Self {
            server: server.clone(),
            user: request.user.clone(),
            kind,
            selection,
            metadata_only,
            lines,
            sent,
            delivery: (sent < version).then(|| (now + fate.lag, version)),
            idle_since: now,
            lag: fate.lag,
            interruption: fate.interruption.map(|(after, interruption)| (now + after, interruption)),
            cuts: server.draw(|faults| faults.watch_cuts),
            frozen: false,
            bookmark: options.bookmarks.then(|| next_bookmark(now, end)),
            end,
            ended: false,
        })
    }

    /// The next line; `None` after the last one.
    async fn next(&mut self) -> Option<Result<Frame<Bytes>, BoxError>> {
        loop {
            if let Some(line) = self.lines.pop_front() {
                return Some(Ok(Frame::data(line)));
            }
            if self.ended {
                return None;
            }
            match self.wait().await {
                Wakeup::Delivery(version) => self.deliver(version),
                Wakeup::Change => self.follow(),
                Wakeup::Bookmark => {
                    if self.delivery.is_none() {
                        self.catch_up(|at, now| at <= now);
                    }
                    let line = self.server.read(|state| bookmark(state, self.kind, self.metadata_only, self.sent));
                    self.lines.extend(line);
                    self.bookmark = Some(next_bookmark(Instant::now(), self.end));
                }
                Wakeup::End | Wakeup::Interruption(Interruption::End) => self.ended = true,
                Wakeup::Interruption(Interruption::Freeze) => self.freeze(),
                Wakeup::Interruption(Interruption::Reset) => return Some(Err(self.reset())),
            }
        }
    }

    /// Waits for the next thing that happens.
    async fn wait(&self) -> Wakeup {
        let timer = self.timer();
        let timer = async {
            match timer {
                Some((at, wakeup)) => {
                    sleep_until(at).await;
                    wakeup
                }
                None => pending().await,
            }
        };
        let is_listening = !self.frozen;
        // In this order, so that a run does not depend on tokio's random numbers.
        tokio::select! {
            biased;
            how = self.server.interrupted(&self.user, self.cuts), if is_listening => Wakeup::Interruption(how),
            wakeup = timer => wakeup,
            () = self.server.kind_changed(self.kind, self.sent), if is_listening && self.delivery.is_none() => Wakeup::Change,
        }
    }

    /// The timer that ends first. Of several that end at once, it is the first one here.
    fn timer(&self) -> Option<(Instant, Wakeup)> {
        let interruption = self.interruption.map(|(at, interruption)| (at, Wakeup::Interruption(interruption)));
        if self.frozen {
            return interruption;
        }
        let delivery = self.delivery.map(|(at, version)| (at, Wakeup::Delivery(version)));
        let bookmark = self.bookmark.map(|at| (at, Wakeup::Bookmark));
        let all = [delivery, interruption, bookmark, Some((self.end, Wakeup::End))];
        all.into_iter().flatten().min_by_key(|(at, _)| *at)
    }

    /// Puts on its way what has changed.
    fn follow(&mut self) {
        let (now, first) = (Instant::now(), self.server.times().of_kind_after(self.kind, self.sent));
        if first.is_some_and(|first| first < now) {
            // It was not read when that changed.
            self.delivery = Some((now + self.lag, self.server.read(StoredState::version)));
            return;
        }
        self.catch_up(|at, now| at < now);
    }

    /// Does what would have been done at each change of other kinds: it would have been put on its way, and delivered as nothing.
    /// So a watch delivers a change of its kind at the same time and up to the same version, but is woken for no other. A delivery
    /// that has a change of its kind is never one of them, however late the client reads.
    fn catch_up(&mut self, is_over: impl Fn(Instant, Instant) -> bool) {
        let now = Instant::now();
        loop {
            let next = || self.server.times().next(self.sent, self.idle_since);
            let delivery = self.delivery.or_else(|| next().map(|(from, until)| (from + self.lag, until)));
            match delivery {
                Some((at, until)) if is_over(at, now) && !self.has_own_change(at) => {
                    (self.delivery, self.idle_since, self.sent) = (None, at, until)
                }
                _ => {
                    self.delivery = delivery.filter(|_| self.server.concerns(self.kind, self.sent));
                    return;
                }
            }
        }
    }

    /// Whether a delivery at that time has a change of its kind: it has those up to when it was put on its way.
    fn has_own_change(&self, delivered: Instant) -> bool {
        let first = self.server.times().of_kind_after(self.kind, self.sent);
        first.is_some_and(|first| first + self.lag <= delivered)
    }

    fn deliver(&mut self, until: u64) {
        (self.delivery, self.idle_since) = (None, Instant::now());
        let (kind, selection, metadata_only) = (self.kind, &self.selection, self.metadata_only);
        let lines = self.server.read(|state| {
            let changes = state.changes(self.sent).ok()?;
            let changes = changes.iter().filter(|change| change.version <= until && change.kind == kind);
            Some(changes.filter_map(|change| event(change, selection, metadata_only)).collect::<Vec<_>>())
        });
        match lines {
            Some(lines) => {
                self.lines.extend(lines);
                self.sent = until;
            }
            None => {
                let line = self.server.read(|state| expired(self.sent, state.version()));
                self.lines.push_back(line);
                self.ended = true;
            }
        }
    }

    /// Delivers nothing until the connection is reset.
    fn freeze(&mut self) {
        self.frozen = true;
        self.interruption = Some((Instant::now() + FROZEN_FOR, Interruption::Reset));
    }

    fn reset(&mut self) -> BoxError {
        self.ended = true;
        connection_reset()
    }
}

fn next_bookmark(now: Instant, end: Instant) -> Instant {
    let last = end.checked_sub(BOOKMARK_BEFORE_END).filter(|last| *last > now);
    last.map_or(now + BOOKMARK_INTERVAL, |last| last.min(now + BOOKMARK_INTERVAL))
}

/// The error of a connection that is lost.
pub(super) fn connection_reset() -> BoxError {
    io::Error::new(io::ErrorKind::ConnectionReset, "connection reset by peer").into()
}

#[cfg(test)]
mod tests;
