//! Statuses that would change nothing though they are not what is there: of a list, others may have items.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Mutex, MutexGuard, PoisonError};

use api::Status;

use crate::plan::meta::Key;

/// What was written last in vain, by object, with what was there before: a hash of both. Empty as a rule.
#[derive(Default)]
pub struct Vain(Mutex<HashMap<Key, u64>>);

impl Vain {
    /// Whether that status has just been written over that one, and nothing came of it.
    pub(super) fn is<S: Status>(&self, key: &Key, before: &S, status: &S) -> bool {
        let last = self.lock().get(key).copied();
        last.is_some_and(|last| last == hash(before, status))
    }

    /// Takes note of a status that was written, in vain or not.
    pub(super) fn note<S: Status>(&self, key: &Key, before: &S, status: &S, in_vain: bool) {
        if in_vain {
            self.lock().insert(key.clone(), hash(before, status));
        } else {
            self.forget(key);
        }
    }

    /// Forgets an object that is gone.
    pub(super) fn forget(&self, key: &Key) {
        self.lock().remove(key);
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Key, u64>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn hash<S: Status>(before: &S, status: &S) -> u64 {
    let mut hasher = DefaultHasher::new();
    for status in [before, status] {
        serde_json::to_string(status).unwrap_or_default().hash(&mut hasher);
    }
    hasher.finish()
}
