//! What was read lately, so that it is not read again at once.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Mutex, MutexGuard, PoisonError};

use jiff::{SignedDuration, Timestamp};

/// What was read, by key, with the time.
pub(crate) struct Remembered<K, V>(Mutex<HashMap<K, (Timestamp, V)>>);

impl<K: Eq + Hash, V: Clone> Remembered<K, V> {
    /// What was read of that key no longer than `fresh` ago. Should the clock be set back, it is read again.
    pub(crate) fn get(&self, key: &K, fresh: SignedDuration, now: Timestamp) -> Option<V> {
        let all = self.lock();
        all.get(key).filter(|(at, _)| is_fresh(*at, fresh, now)).map(|(_, value)| value.clone())
    }

    /// Remembers that; what is no longer fresh is forgotten. What another reconcile has read, which began later, stays.
    pub(crate) fn put(&self, key: K, value: V, fresh: SignedDuration, now: Timestamp) {
        let mut all = self.lock();
        all.retain(|_, (at, _)| now.duration_since(*at).abs() < fresh);
        all.insert(key, (now, value));
    }

    /// Forgets what was read of that key.
    pub(crate) fn remove(&self, key: &K) {
        self.lock().remove(key);
    }

    /// Forgets what was read of such keys.
    pub(crate) fn forget(&self, is_such: impl Fn(&K) -> bool) {
        self.lock().retain(|key, _| !is_such(key));
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<K, (Timestamp, V)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn is_fresh(at: Timestamp, fresh: SignedDuration, now: Timestamp) -> bool {
    (SignedDuration::ZERO..fresh).contains(&now.duration_since(at))
}

impl<K, V> Default for Remembered<K, V> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<K: Clone + Eq + Hash, V: Clone> Clone for Remembered<K, V> {
    fn clone(&self) -> Self {
        Self(Mutex::new(self.lock().clone()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_longer_fresh_is_read_again_and_forgotten() {
        let (known, fresh) = (Remembered::default(), SignedDuration::from_secs(5));
        let at = |second| Timestamp::from_second(second).unwrap();
        known.put("a", 1, fresh, at(100));
        assert_eq!(known.get(&"a", fresh, at(104)), Some(1));
        assert_eq!(known.get(&"a", fresh, at(105)), None);
        assert_eq!(known.get(&"a", fresh, at(99)), None, "the clock was set back");
        assert_eq!(known.clone().get(&"a", fresh, at(100)), Some(1));
        known.put("b", 2, fresh, at(105));
        assert_eq!(known.lock().len(), 1);
        known.put("c", 3, fresh, at(103));
        assert_eq!(known.get(&"b", fresh, at(105)), Some(2), "another reconcile began later");
        known.remove(&"c");
        known.forget(|key| *key == "b");
        assert!(known.lock().is_empty());
    }
}
