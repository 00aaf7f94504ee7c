//! Statuses whose write changes nothing although the present status differs: other managers may own items of a list.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Mutex, MutexGuard, PoisonError};

use api::ObjectStatus;

use crate::plan::meta::Key;

/// The last write of each object that changed nothing, as a hash of the statuses before and written. Usually empty.
#[derive(Default)]
pub struct NoOpWrites(Mutex<HashMap<Key, u64>>);

impl NoOpWrites {
    /// Whether the last write of that status over that one changed nothing.
    pub(super) fn contains<S: ObjectStatus>(&self, key: &Key, before: &S, status: &S) -> bool {
        let last = self.lock().get(key).copied();
        last.is_some_and(|last| last == hash(before, status))
    }

    /// Records a write, and whether it changed nothing.
    pub(super) fn record<S: ObjectStatus>(&self, key: &Key, before: &S, status: &S, changed_nothing: bool) {
        if changed_nothing {
            self.lock().insert(key.clone(), hash(before, status));
        } else {
            self.forget(key);
        }
    }

    /// Forgets a deleted object.
    pub(super) fn forget(&self, key: &Key) {
        self.lock().remove(key);
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Key, u64>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn hash<S: ObjectStatus>(before: &S, status: &S) -> u64 {
    let mut hasher = DefaultHasher::new();
    for status in [before, status] {
        serde_json::to_string(status).unwrap_or_default().hash(&mut hasher);
    }
    hasher.finish()
}
