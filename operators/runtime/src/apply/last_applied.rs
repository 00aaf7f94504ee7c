//! Whether an apply repeats the last one: then another writer has changed the child since.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::apply::drift::Fingerprint;
use crate::plan::meta::{Key, ResourceKind};

/// A child, and the prefix of the field manager if only a part of it is applied.
type AppliedPart = (ResourceKind, Key, Option<&'static str>);

/// The last applies, by owner.
#[derive(Default)]
pub(super) struct LastApplied(Mutex<HashMap<Key, Vec<(AppliedPart, Fingerprint)>>>);

impl LastApplied {
    /// Records an apply to a child of `owner`. Returns whether it equals the one before.
    pub(super) fn replace(&self, owner: &Key, part: AppliedPart, rendered: Fingerprint) -> bool {
        let mut last = self.lock();
        let parts = last.entry(owner.clone()).or_default();
        match parts.iter_mut().find(|(other, _)| *other == part) {
            Some((_, before)) => std::mem::replace(before, rendered) == rendered,
            None => {
                parts.push((part, rendered));
                false
            }
        }
    }

    /// Forgets a deleted owner.
    pub(super) fn forget(&self, owner: &Key) {
        self.lock().remove(owner);
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Key, Vec<(AppliedPart, Fingerprint)>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
