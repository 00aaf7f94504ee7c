//! A cache of what was read from live systems, with a time to live.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Mutex, MutexGuard, PoisonError};

use jiff::{SignedDuration, Timestamp};

/// Values by key, each with the time at which it was read.
pub(crate) struct TtlCache<K, V>(Mutex<HashMap<K, (Timestamp, V)>>);

impl<K: Eq + Hash, V: Clone> TtlCache<K, V> {
    /// Returns the value of that key if it is younger than `ttl`. A value from the future (the clock was set back) does not
    /// count.
    pub(crate) fn get(&self, key: &K, ttl: SignedDuration, now: Timestamp) -> Option<V> {
        let all = self.lock();
        all.get(key).filter(|(at, _)| is_fresh(*at, ttl, now)).map(|(_, value)| value.clone())
    }

    /// Stores a value, and drops those that are older than `ttl`. A value that another, later reconcile stored stays.
    pub(crate) fn put(&self, key: K, value: V, ttl: SignedDuration, now: Timestamp) {
        let mut all = self.lock();
        all.retain(|_, (at, _)| now.duration_since(*at).abs() < ttl);
        all.insert(key, (now, value));
    }

    /// Drops the value of that key.
    pub(crate) fn remove(&self, key: &K) {
        self.lock().remove(key);
    }

    /// Drops the values of all keys that match.
    pub(crate) fn remove_matching(&self, matches: impl Fn(&K) -> bool) {
        self.lock().retain(|key, _| !matches(key));
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<K, (Timestamp, V)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn is_fresh(at: Timestamp, ttl: SignedDuration, now: Timestamp) -> bool {
    (SignedDuration::ZERO..ttl).contains(&now.duration_since(at))
}

impl<K, V> Default for TtlCache<K, V> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<K: Clone + Eq + Hash, V: Clone> Clone for TtlCache<K, V> {
    fn clone(&self) -> Self {
        Self(Mutex::new(self.lock().clone()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_expire_and_are_dropped() {
        let (known, ttl) = (TtlCache::default(), SignedDuration::from_secs(5));
        let at = |second| Timestamp::from_second(second).unwrap();
        known.put("a", 1, ttl, at(100));
        assert_eq!(known.get(&"a", ttl, at(104)), Some(1));
        assert_eq!(known.get(&"a", ttl, at(105)), None);
        assert_eq!(known.get(&"a", ttl, at(99)), None, "the clock was set back");
        assert_eq!(known.clone().get(&"a", ttl, at(100)), Some(1));
        known.put("b", 2, ttl, at(105));
        assert_eq!(known.lock().len(), 1);
        known.put("c", 3, ttl, at(103));
        assert_eq!(known.get(&"b", ttl, at(105)), Some(2), "another reconcile began later");
        known.remove(&"c");
        known.remove_matching(|key| *key == "b");
        assert!(known.lock().is_empty());
    }
}
