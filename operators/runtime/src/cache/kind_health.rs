//! The health of one kind: of each of its watches, independently of the others, and of its CRD.

use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, OnceLock};

use tokio::sync::Notify;
use tokio::time::Instant;

use crate::cache::watch_health::{UnwatchedKind, WatchFailure};
use crate::crd::schema::CrdState;
use crate::plan::meta::ResourceKind;
use crate::watched_value::{Changes, WatchedValue};

mod crd;
mod required;
mod watch_state;

use watch_state::KindVisibility;
pub use watch_state::WatchState;

/// The health of one kind, shared by its watches, its store, and their readers.
pub struct KindHealth {
    kind: ResourceKind,
    watches: WatchedValue<WatchStates>,
    /// Notified when a watch ends early, as all watches of a CRD do when it is replaced.
    interrupted: Notify,
    /// Notified when a status could not be written.
    status_rejections: Notify,
    /// Changes when a check whether the kind is still served is requested.
    rechecks: WatchedValue<()>,
    /// Whether the kind's CRD is checked.
    checks_crd: AtomicBool,
    /// Whether a managed object still needs the kind.
    still_required: OnceLock<Box<dyn Fn() -> bool + Send + Sync>>,
}

/// The watches of one kind by namespace (`None` for a watch of all namespaces), and its CRD.
#[derive(Debug)]
pub(crate) struct WatchStates {
    expected: usize,
    all: BTreeMap<Option<Arc<str>>, Watch>,
    crd: CrdState,
    /// When the CRD was last checked.
    crd_checked: Option<Instant>,
    /// Whether a managed object needs the kind, so that it is polled for while it is not served.
    required: bool,
}

#[derive(Debug)]
struct Watch {
    /// Whether it has ever listed.
    listed: bool,
    state: WatchState,
    /// What was visible through it at its last change.
    visibility: KindVisibility,
}

/// The visibility of a kind's objects, by namespace.
pub(crate) type Visibilities = BTreeMap<Option<Arc<str>>, KindVisibility>;

impl Watch {
    fn new(listed: bool, state: WatchState) -> Self {
        Self { listed, visibility: state.visibility(), state }
    }
}

impl WatchStates {
    fn visibility(&self) -> Visibilities {
        self.all.iter().map(|(namespace, watch)| (namespace.clone(), watch.visibility)).collect()
    }

    fn all_attempted(&self) -> bool {
        self.all.len() == self.expected
    }
}

impl KindHealth {
    pub(super) fn new(kind: ResourceKind, expected: usize) -> Self {
        let watches =
            WatchStates { expected, all: BTreeMap::new(), crd: CrdState::Unknown, crd_checked: None, required: false };
        let (interrupted, status_rejections) = (Notify::new(), Notify::new());
        let (watches, rechecks) = (WatchedValue::new(watches), WatchedValue::default());
        let checks_crd = AtomicBool::new(false);
        Self { kind, watches, interrupted, status_rejections, rechecks, checks_crd, still_required: OnceLock::new() }
    }

    /// The kind.
    #[must_use]
    pub fn kind(&self) -> ResourceKind {
        self.kind
    }

    /// Whether each watch has listed, or has failed to.
    #[must_use]
    pub fn all_attempted(&self) -> bool {
        self.watches.read(WatchStates::all_attempted)
    }

    /// Waits until each watch has listed, or has failed to.
    pub async fn until_all_attempted(&self) {
        self.watches.wait_for(WatchStates::all_attempted).await;
    }

    /// The present state of the watch of that namespace.
    #[must_use]
    pub fn state(&self, namespace: &Arc<str>) -> WatchState {
        self.watches.read(|watches| {
            let watch = watches.all.get(&Some(namespace.clone())).or_else(|| watches.all.get(&None));
            watch.map_or(WatchState::Starting, |watch| watch.state.clone())
        })
    }

    /// The watches that fail now, if only for a moment, by namespace.
    #[must_use]
    pub fn failing(&self) -> Vec<UnwatchedKind> {
        self.unwatched(|state| match state {
            WatchState::Failing { why, .. } => Some(why),
            _ => None,
        })
    }

    /// The watches that are too stale for decisions, by namespace.
    #[must_use]
    pub fn stale(&self) -> Vec<UnwatchedKind> {
        self.unwatched(WatchState::stale)
    }

    /// The stale watch of that namespace, if it is stale.
    #[must_use]
    pub fn stale_in(&self, namespace: &Arc<str>) -> Option<UnwatchedKind> {
        self.watches.read(|watches| {
            let of = |namespace| watches.all.get_key_value(&namespace);
            let (namespace, watch) = of(Some(namespace.clone())).or_else(|| of(None))?;
            let why = watch.state.stale()?.clone();
            Some(UnwatchedKind { kind: self.kind, namespace: namespace.clone(), why })
        })
    }

    fn unwatched(&self, why: impl Fn(&WatchState) -> Option<&WatchFailure>) -> Vec<UnwatchedKind> {
        self.watches.read(|watches| {
            let unwatched =
                watches.all.iter().filter_map(|(namespace, watch)| Some((namespace.clone(), why(&watch.state)?)));
            unwatched.map(|(namespace, why)| UnwatchedKind { kind: self.kind, namespace, why: why.clone() }).collect()
        })
    }

    /// Requests a check whether the kind is still served, after a response as if it were not.
    pub(crate) fn request_recheck(&self) {
        self.rechecks.set(());
    }

    /// Receives each request for such a check.
    pub(crate) fn rechecks(&self) -> Changes<'_, ()> {
        self.rechecks.changes()
    }

    /// The visibility of the kind's objects. A failure that lasts only a moment does not change it.
    pub(crate) fn visibility(&self) -> Visibilities {
        self.watches.read(WatchStates::visibility)
    }

    /// Waits until the visibility differs from `before`.
    pub(crate) async fn visibility_changed(&self, before: &Visibilities) {
        self.watches.wait_for(|watches| watches.visibility() != *before).await;
    }

    /// Receives each change of a watch, or of the CRD.
    pub(crate) fn changes(&self) -> Changes<'_, WatchStates> {
        self.watches.changes()
    }

    /// Waits until a watch has ended early.
    pub(crate) async fn interruption(&self) {
        self.interrupted.notified().await;
    }

    /// Waits until a status could not be written.
    pub(crate) async fn status_rejection(&self) {
        self.status_rejections.notified().await;
    }

    /// Records that a watch ended early.
    pub(crate) fn interrupted(&self) {
        self.interrupted.notify_one();
    }

    /// Records that a status could not be written, as if the CRD were another one.
    pub(crate) fn status_rejected(&self) {
        self.status_rejections.notify_one();
    }

    /// Records a complete list, or an event.
    pub(crate) fn synced(&self, namespace: Option<&Arc<str>>) {
        let changed = self.change(namespace, |_| Some(Watch::new(true, WatchState::Synced)));
        if changed && self.crd().mismatches().is_some() {
            // A CRD that could not be listed is served again.
            self.interrupted();
        }
    }

    /// Records that the kind is not served. Returns whether the state changed.
    pub(crate) fn not_served(&self, namespace: Option<&Arc<str>>) -> bool {
        self.change(namespace, |_| Some(Watch::new(false, WatchState::NotServed)))
    }

    /// Records a response of the API server: a watch that had listed before is synced again.
    pub(super) fn recovered(&self, namespace: Option<&Arc<str>>) {
        self.change(namespace, |before| {
            before.filter(|before| before.listed).map(|_| Watch::new(true, WatchState::Synced))
        });
    }

    /// Records a failed list or watch. Returns whether the state changed.
    pub(crate) fn failed(&self, namespace: Option<&Arc<str>>, why: WatchFailure) -> bool {
        self.change(namespace, |before| {
            let listed = before.is_some_and(|before| before.listed);
            let since = match before.map(|before| &before.state) {
                Some(WatchState::Failing { since, .. }) => *since,
                _ => listed.then(Instant::now),
            };
            Some(Watch::new(listed, WatchState::Failing { why, since }))
        })
    }

    /// Changes the state of a watch. Returns whether it is another state.
    fn change(&self, namespace: Option<&Arc<str>>, to: impl FnOnce(Option<&Watch>) -> Option<Watch>) -> bool {
        let mut changed = false;
        self.watches.modify(|watches| {
            let namespace = namespace.cloned();
            let before = watches.all.get(&namespace);
            let Some(after) = to(before) else { return false };
            changed = before.is_none_or(|before| before.state != after.state);
            // A watch that keeps failing becomes stale, although its state stays the same.
            let visibility_changed = before.is_some_and(|before| before.visibility != after.visibility);
            watches.all.insert(namespace, after);
            changed || visibility_changed
        });
        changed
    }

    /// Makes the failing watches stale.
    #[cfg(test)]
    pub(crate) fn mark_stale(&self) {
        let long_ago = Instant::now().checked_sub(watch_state::STALE_AFTER + std::time::Duration::from_secs(1));
        self.watches.modify(|watches| {
            for watch in watches.all.values_mut() {
                if let WatchState::Failing { since, .. } = &mut watch.state {
                    *since = long_ago;
                }
            }
            true
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KIND: ResourceKind = ResourceKind { group: "example.com", version: "v1", kind: "MyApp", plural: "myapps" };

    fn fault(message: &str) -> WatchFailure {
        WatchFailure::Fault(message.to_owned())
    }

    #[test]
    fn each_namespace_has_a_state_of_its_own() {
        let health = KindHealth::new(KIND, 3);
        let [a, b, c] = ["team-a", "team-b", "team-c"].map(Arc::<str>::from);
        assert!(health.failed(Some(&b), fault("no right")));
        assert!(
            !health.all_attempted() && health.state(&a) == WatchState::Starting,
            "the others are still being listed"
        );
        health.synced(Some(&a));
        health.failed(Some(&c), fault("no right either"));
        assert!(health.all_attempted());
        assert_eq!((health.state(&a), health.stale_in(&a)), (WatchState::Synced, None));
        assert_eq!(health.stale_in(&b).map(|unwatched| unwatched.why), Some(fault("no right")));
        let namespaces: Vec<_> = health.failing().into_iter().filter_map(|unwatched| unwatched.namespace).collect();
        assert_eq!(namespaces, [b.clone(), c]);
        health.recovered(Some(&b));
        assert!(health.stale_in(&b).is_some(), "a response is no list");
        health.synced(Some(&b));
        assert_eq!(health.stale_in(&b), None);
    }

    #[test]
    fn a_synced_watch_may_fail_for_a_moment() {
        let (health, anywhere) = (KindHealth::new(KIND, 1), Arc::from("anywhere"));
        health.synced(None);
        assert!(health.failed(None, fault("away")) && !health.failed(None, fault("away")), "reported once");
        assert_eq!((health.failing().len(), health.stale().len(), health.stale_in(&anywhere)), (1, 0, None));
        assert!(matches!(health.state(&anywhere), WatchState::Failing { since: Some(_), .. }));
        health.recovered(None);
        assert_eq!(health.state(&anywhere), WatchState::Synced);
    }
}
