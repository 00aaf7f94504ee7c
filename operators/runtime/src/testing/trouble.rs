//! What an API server refuses, and what a manager does not see.

use std::collections::HashSet;
use std::sync::Arc;

use super::World;
use crate::Error;
use crate::cache::watch_health::Why;
use crate::cache::{Projection, Store};
use crate::plan::meta::Kind;
use crate::projections::Resource;
use crate::status::outcome::ReconcileOutcome;

impl World {
    /// Has each apply and each creation of that kind fail, until it is called with nothing.
    pub fn refuse(&mut self, kind: Kind, error: Option<Error>) {
        match error {
            Some(error) => drop(self.refusals.insert(kind.plural, error)),
            None => drop(self.refusals.remove(kind.plural)),
        }
    }

    /// With what these fail.
    #[must_use]
    pub fn refusal(&self, kind: Kind) -> Option<&Error> {
        self.refusals.get(kind.plural)
    }

    pub(super) fn taken(&self, kind: Kind) -> Result<(), Error> {
        self.refusal(kind).cloned().map_or(Ok(()), Err)
    }

    /// The watch of that store finds its kind not to be served, so that there is nothing of it.
    pub fn find_unserved<V: Projection>(&mut self, store: &Arc<Store<V>>) {
        store.health().not_served(None);
        store.retain(None, &HashSet::new());
        self.events.forget(V::KIND);
    }

    /// The watch of that store, which had found its kind not to be served, fails: nothing is known of it.
    pub fn lose_sight<V: Projection>(&mut self, store: &Arc<Store<V>>, why: &str) {
        self.find_unserved(store);
        store.health().failed(None, Why::Fault(why.to_owned()));
    }

    /// The watch of that store lists all that there is.
    pub fn list_of<V: Projection>(&mut self, store: &Arc<Store<V>>) {
        store.retain(None, &HashSet::new());
        self.events.forget(V::KIND);
        store.health().synced(None);
        let all: Vec<_> = self.all(V::KIND).map(|(key, _)| key.clone()).collect();
        all.iter().for_each(|key| self.tell(V::KIND, key));
        self.events.deliver_of(V::KIND, all.len());
    }

    /// A pass of an operator that could not look: of its plan there is nothing, and status tells why.
    ///
    /// # Errors
    /// As those of [`World::pass`].
    pub fn fail<R: Resource>(&mut self, object: &R, error: &Error) -> Result<(), Option<Error>> {
        self.report(object, None, ReconcileOutcome::Failed(error))
    }
}
