//! Whether what is applied is what was applied before: then somebody has changed the child since.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::apply::drift::Fingerprint;
use crate::plan::meta::{Key, Kind};

/// A child, and the part of it that is applied by itself, if it is one.
type Place = (Kind, Key, Option<&'static str>);

/// What was applied last, by owner.
#[derive(Default)]
pub(super) struct Last(Mutex<HashMap<Key, Vec<(Place, Fingerprint)>>>);

impl Last {
    /// Takes note of what was applied of a child of `owner`; returns whether the one before was the same.
    pub(super) fn was(&self, owner: &Key, place: Place, rendered: Fingerprint) -> bool {
        let mut last = self.lock();
        let places = last.entry(owner.clone()).or_default();
        match places.iter_mut().find(|(other, _)| *other == place) {
            Some((_, before)) => std::mem::replace(before, rendered) == rendered,
            None => {
                places.push((place, rendered));
                false
            }
        }
    }

    /// Forgets an owner that is gone.
    pub(super) fn forget(&self, owner: &Key) {
        self.lock().remove(owner);
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Key, Vec<(Place, Fingerprint)>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
