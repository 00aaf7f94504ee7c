//! Rejected writes, and failing watches.

use std::collections::HashSet;
use std::sync::Arc;

use super::FakeCluster;
use crate::Error;
use crate::cache::watch_health::WatchFailure;
use crate::cache::{Projection, Store};
use crate::plan::meta::ResourceKind;
use crate::projections::Resource;
use crate::status::outcome::ReconcileOutcome;

impl FakeCluster {
    /// Makes each apply and creation of that kind fail with this error, until it is called with `None`.
    pub fn refuse(&mut self, kind: ResourceKind, error: Option<Error>) {
        match error {
            Some(error) => drop(self.refusals.insert(kind.plural, error)),
            None => drop(self.refusals.remove(kind.plural)),
        }
    }

    /// The error with which they fail.
    #[must_use]
    pub fn refusal(&self, kind: ResourceKind) -> Option<&Error> {
        self.refusals.get(kind.plural)
    }

    pub(super) fn check_refusal(&self, kind: ResourceKind) -> Result<(), Error> {
        self.refusal(kind).cloned().map_or(Ok(()), Err)
    }

    /// The API server stops serving the kind of that store, so that it has no objects.
    pub fn stop_serving<V: Projection>(&mut self, store: &Arc<Store<V>>) {
        store.health().not_served(None);
        store.retain(None, &HashSet::new());
        self.events.forget(V::KIND);
    }

    /// The watch of that store fails, and has never listed: nothing is known of the kind.
    pub fn fail_watch<V: Projection>(&mut self, store: &Arc<Store<V>>, why: &str) {
        self.stop_serving(store);
        store.health().failed(None, WatchFailure::Fault(why.to_owned()));
    }

    /// The watch of that store lists all live objects.
    pub fn relist<V: Projection>(&mut self, store: &Arc<Store<V>>) {
        store.retain(None, &HashSet::new());
        self.events.forget(V::KIND);
        store.health().synced(None);
        let all: Vec<_> = self.all(V::KIND).map(|(key, _)| key.clone()).collect();
        all.iter().for_each(|key| self.push_event(V::KIND, key));
        self.events.deliver_events_of(V::KIND, all.len());
    }

    /// A reconcile that could not observe: there is no plan, and the status reports why.
    ///
    /// # Errors
    /// As those of [`FakeCluster::reconcile`].
    pub fn fail_observe<R: Resource>(&mut self, object: &R, error: &Error) -> Result<(), Option<Error>> {
        self.report(object, None, ReconcileOutcome::Failed(error))
    }
}
