//! How the watches of one kind fare, each by itself: what befalls one namespace is no matter of the others.

use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use tokio::sync::{Notify, watch};

use crate::cache::watch_health::{UnwatchedKind, Why};
use crate::crd::schema::Crd;
use crate::plan::meta::Kind;

mod crd;
mod sought;
mod state;

use state::Known;
pub use state::State;

/// Shared by the watches of one kind, its store, and everyone who wants to know.
pub struct Health {
    kind: Kind,
    watches: watch::Sender<Watches>,
    /// That a watch ended before its time, as it does when its CRD is replaced.
    interrupted: Notify,
    /// That a status could not be written.
    refused: Notify,
    /// How often somebody has doubted that the kind is served.
    doubts: watch::Sender<u64>,
    /// Whether somebody looks at the kind's CRD.
    looked_after: AtomicBool,
    /// Whether somebody still asks for such an object.
    asks: OnceLock<Box<dyn Fn() -> bool + Send + Sync>>,
}

/// The watches of one kind, by namespace; the one of all namespaces has none.
#[derive(Debug)]
pub struct Watches {
    expected: usize,
    all: BTreeMap<Option<Arc<str>>, Watch>,
    crd: Crd,
    /// When that was looked at last.
    looked: Option<Instant>,
    /// Whether somebody has asked for what is not served.
    sought: bool,
}

#[derive(Debug)]
struct Watch {
    /// Whether it has ever listed.
    listed: bool,
    state: State,
    /// What was known by it when it was heard of last.
    known: Known,
}

/// What is known of a kind's objects, by namespace.
pub(crate) type AllKnown = BTreeMap<Option<Arc<str>>, Known>;

impl Watch {
    fn new(listed: bool, state: State) -> Self {
        Self { listed, known: state.known(), state }
    }
}

impl Watches {
    fn known(&self) -> AllKnown {
        self.all.iter().map(|(namespace, watch)| (namespace.clone(), watch.known)).collect()
    }

    /// Whether each has listed, or has failed to.
    #[must_use]
    pub fn tried(&self) -> bool {
        self.all.len() == self.expected
    }
}

impl Health {
    pub(super) fn new(kind: Kind, expected: usize) -> Self {
        let watches = Watches { expected, all: BTreeMap::new(), crd: Crd::Unknown, looked: None, sought: false };
        let (interrupted, refused) = (Notify::new(), Notify::new());
        let (watches, doubts) = (watch::Sender::new(watches), watch::Sender::default());
        let looked_after = AtomicBool::new(false);
        Self { kind, watches, interrupted, refused, doubts, looked_after, asks: OnceLock::new() }
    }

    /// The kind.
    #[must_use]
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// Whether each watch has listed, or has failed to.
    #[must_use]
    pub fn tried(&self) -> bool {
        self.watches.borrow().tried()
    }

    /// The watch that sees that namespace, as it is now.
    #[must_use]
    pub fn state(&self, namespace: &Arc<str>) -> State {
        let watches = self.watches.borrow();
        let watch = watches.all.get(&Some(namespace.clone())).or_else(|| watches.all.get(&None));
        watch.map_or(State::Starting, |watch| watch.state.clone())
    }

    /// What does not work now, be it for a moment; by namespace.
    #[must_use]
    pub fn failing(&self) -> Vec<UnwatchedKind> {
        self.unseen(|state| match state {
            State::Failing { why, .. } => Some(why),
            _ => None,
        })
    }

    /// What may not be decided by; by namespace.
    #[must_use]
    pub fn blind(&self) -> Vec<UnwatchedKind> {
        self.unseen(State::blind)
    }

    /// The same, of what is seen of one namespace.
    #[must_use]
    pub fn blind_in(&self, namespace: &Arc<str>) -> Option<UnwatchedKind> {
        let watches = self.watches.borrow();
        let of = |namespace| watches.all.get_key_value(&namespace);
        let (namespace, watch) = of(Some(namespace.clone())).or_else(|| of(None))?;
        let why = watch.state.blind()?.clone();
        Some(UnwatchedKind { kind: self.kind, namespace: namespace.clone(), why })
    }

    fn unseen(&self, why: impl Fn(&State) -> Option<&Why>) -> Vec<UnwatchedKind> {
        let watches = self.watches.borrow();
        let unseen = watches.all.iter().filter_map(|(namespace, watch)| Some((namespace.clone(), why(&watch.state)?)));
        unseen.map(|(namespace, why)| UnwatchedKind { kind: self.kind, namespace, why: why.clone() }).collect()
    }

    /// Has it looked whether the kind is still served: a request was answered as if it were not.
    pub(crate) fn doubt(&self) {
        self.doubts.send_modify(|doubts| *doubts += 1);
    }

    /// Whenever somebody has doubted that the kind is served.
    pub(crate) fn doubts(&self) -> watch::Receiver<u64> {
        self.doubts.subscribe()
    }

    /// What is known of the kind's objects: that there can be none, what is seen of them, or nothing. A failure that lasts for a
    /// moment changes nothing of that.
    pub(crate) fn known(&self) -> AllKnown {
        self.watches.borrow().known()
    }

    /// Waits until something else is known.
    pub(crate) async fn known_otherwise(&self, before: &AllKnown) {
        // The sender lives as long as this, so this does not end early.
        drop(self.subscribe().wait_for(|watches| watches.known() != *before).await);
    }

    /// As it changes.
    #[must_use]
    pub fn subscribe(&self) -> watch::Receiver<Watches> {
        self.watches.subscribe()
    }

    /// Waits until a watch has ended before its time.
    pub(crate) async fn interruption(&self) {
        self.interrupted.notified().await;
    }

    /// Waits until a status could not be written.
    pub(crate) async fn refusal(&self) {
        self.refused.notified().await;
    }

    /// A watch ended before its time.
    pub(crate) fn interrupted(&self) {
        self.interrupted.notify_one();
    }

    /// A status could not be written, as if the CRD were not ours.
    pub(crate) fn refused(&self) {
        self.refused.notify_one();
    }

    /// A list is complete, or an event came in.
    pub(crate) fn synced(&self, namespace: Option<&Arc<str>>) {
        let news = self.change(namespace, |_| Some(Watch::new(true, State::Synced)));
        if news && self.crd().lacking().is_some() {
            // What could not be listed is served again.
            self.interrupted();
        }
    }

    /// The kind is not served. Returns whether that is news.
    pub(crate) fn not_served(&self, namespace: Option<&Arc<str>>) -> bool {
        self.change(namespace, |_| Some(Watch::new(false, State::NotServed)))
    }

    /// The server answers again; that heals a watch which had listed before.
    pub(super) fn recovered(&self, namespace: Option<&Arc<str>>) {
        self.change(namespace, |before| before.filter(|before| before.listed).map(|_| Watch::new(true, State::Synced)));
    }

    /// A list or watch failed. Returns whether that is news.
    pub(crate) fn failed(&self, namespace: Option<&Arc<str>>, why: Why) -> bool {
        self.change(namespace, |before| {
            let listed = before.is_some_and(|before| before.listed);
            let since = match before.map(|before| &before.state) {
                Some(State::Failing { since, .. }) => *since,
                _ => listed.then(Instant::now),
            };
            Some(Watch::new(listed, State::Failing { why, since }))
        })
    }

    /// Returns whether that is another state.
    fn change(&self, namespace: Option<&Arc<str>>, to: impl FnOnce(Option<&Watch>) -> Option<Watch>) -> bool {
        let mut is_news = false;
        self.watches.send_if_modified(|watches| {
            let namespace = namespace.cloned();
            let before = watches.all.get(&namespace);
            let Some(after) = to(before) else { return false };
            is_news = before.is_none_or(|before| before.state != after.state);
            // What has failed for a while is known no more, though it is the same state.
            let is_known_otherwise = before.is_some_and(|before| before.known != after.known);
            watches.all.insert(namespace, after);
            is_news || is_known_otherwise
        });
        is_news
    }

    /// As if what fails now had done so for a while.
    #[cfg(test)]
    pub(crate) fn has_failed_for_long(&self) {
        let long_ago = Instant::now().checked_sub(state::GRACE + std::time::Duration::from_secs(1));
        self.watches.send_modify(|watches| {
            for watch in watches.all.values_mut() {
                if let State::Failing { since, .. } = &mut watch.state {
                    *since = long_ago;
                }
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KIND: Kind = Kind { group: "example.com", version: "v1", kind: "MyApp", plural: "myapps" };

    fn fault(words: &str) -> Why {
        Why::Fault(words.to_owned())
    }

    #[test]
    fn what_befalls_one_namespace_is_no_matter_of_another() {
        let health = Health::new(KIND, 3);
        let [a, b, c] = ["team-a", "team-b", "team-c"].map(Arc::<str>::from);
        assert!(health.failed(Some(&b), fault("no right")));
        assert!(!health.tried() && health.state(&a) == State::Starting, "the others are still being listed");
        health.synced(Some(&a));
        health.failed(Some(&c), fault("no right either"));
        assert!(health.tried());
        assert_eq!((health.state(&a), health.blind_in(&a)), (State::Synced, None));
        assert_eq!(health.blind_in(&b).map(|unseen| unseen.why), Some(fault("no right")));
        let namespaces: Vec<_> = health.failing().into_iter().filter_map(|unseen| unseen.namespace).collect();
        assert_eq!(namespaces, [b.clone(), c]);
        health.recovered(Some(&b));
        assert!(health.blind_in(&b).is_some(), "an answer is no list");
        health.synced(Some(&b));
        assert_eq!(health.blind_in(&b), None);
    }

    #[test]
    fn what_had_worked_may_fail_for_a_while() {
        let (health, anywhere) = (Health::new(KIND, 1), Arc::from("anywhere"));
        health.synced(None);
        assert!(health.failed(None, fault("away")) && !health.failed(None, fault("away")), "told once");
        assert_eq!((health.failing().len(), health.blind().len(), health.blind_in(&anywhere)), (1, 0, None));
        assert!(matches!(health.state(&anywhere), State::Failing { since: Some(_), .. }));
        health.recovered(None);
        assert_eq!(health.state(&anywhere), State::Synced);
    }
}
