//! How the watches of one kind fare.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use tokio::sync::watch;

use crate::plan::meta::Kind;

/// State of a kind's watches, the worst of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum State {
    /// The first list is under way.
    Starting,
    /// All have listed, and watch.
    Synced,
    /// One cannot list or watch.
    Failing {
        /// Which, and why.
        why: String,
        /// When it began; `None` if it never listed, so that nothing at all is known.
        since: Option<Instant>,
    },
}

/// Shared by the watches of one kind, its store, and everyone who wants to know.
pub struct Health {
    kind: Kind,
    scopes: Mutex<Scopes>,
    state: watch::Sender<State>,
}

struct Scopes {
    expected: usize,
    listed: HashSet<Option<Arc<str>>>,
    states: HashMap<Option<Arc<str>>, State>,
}

impl Health {
    pub(super) fn new(kind: Kind, watches: usize) -> Self {
        let scopes = Mutex::new(Scopes { expected: watches, listed: HashSet::new(), states: HashMap::new() });
        Self { kind, scopes, state: watch::Sender::new(State::Starting) }
    }

    /// The kind.
    #[must_use]
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// As it is now.
    #[must_use]
    pub fn state(&self) -> State {
        self.state.borrow().clone()
    }

    /// As it changes.
    #[must_use]
    pub fn subscribe(&self) -> watch::Receiver<State> {
        self.state.subscribe()
    }

    /// A list is complete, or an event came in.
    pub(super) fn synced(&self, namespace: Option<&Arc<str>>) {
        self.change(|scopes| {
            scopes.listed.insert(namespace.cloned());
            scopes.states.insert(namespace.cloned(), State::Synced);
        });
    }

    /// The server answers again; that heals a watch which had listed before.
    pub(super) fn recovered(&self, namespace: Option<&Arc<str>>) {
        let namespace = namespace.cloned();
        self.change(|scopes| {
            if scopes.listed.contains(&namespace) {
                scopes.states.insert(namespace, State::Synced);
            }
        });
    }

    /// A list or watch failed. Returns whether that is news.
    pub(super) fn failing(&self, namespace: Option<&Arc<str>>, why: String) -> bool {
        let namespace = namespace.cloned();
        let mut news = true;
        self.change(|scopes| {
            let mut since = scopes.listed.contains(&namespace).then(Instant::now);
            if let Some(State::Failing { why: before, since: began }) = scopes.states.get(&namespace) {
                since = *began;
                news = *before != why;
            }
            scopes.states.insert(namespace, State::Failing { why, since });
        });
        news
    }

    fn change(&self, with: impl FnOnce(&mut Scopes)) {
        let mut scopes = self.scopes.lock().unwrap_or_else(PoisonError::into_inner);
        with(&mut scopes);
        let worst = scopes.worst();
        self.state.send_if_modified(|state| {
            let changed = *state != worst;
            *state = worst;
            changed
        });
    }
}

impl Scopes {
    fn worst(&self) -> State {
        let failing = self.states.values().find(|s| matches!(s, State::Failing { .. }));
        match failing {
            Some(failing) => failing.clone(),
            None if self.states.len() == self.expected && self.states.values().all(|s| *s == State::Synced) => {
                State::Synced
            }
            None => State::Starting,
        }
    }
}
