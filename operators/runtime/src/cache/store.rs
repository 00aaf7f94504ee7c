//! The objects of one kind, in memory.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, PoisonError, RwLock};

use tokio::time::Instant;

use super::applied_cache::AppliedCache;
use super::entry::CacheEntry;
use super::kind_health::{KindHealth, WatchState};
use super::projection::Projection;
use crate::apply::drift::Rendered;
use crate::cache::watch_health::message;
use crate::plan::child::{ChildState, OwnedChild, Served};
use crate::plan::meta::{Key, Meta, Owner};

/// A change of one object.
pub struct ObjectChange<'a> {
    /// The object.
    pub key: &'a Key,
    /// Its `resourceVersion`; for a deletion, the last one known.
    pub version: u64,
    /// Its generation.
    pub generation: i64,
    /// Whether it was deleted, or is terminating.
    pub deleted: bool,
    /// Whether anything changed that a planner reads.
    pub relevant: bool,
    /// Whether a field changed that only others write, so that the event is not only that of an own write.
    pub has_foreign_changes: bool,
    /// Its owner now and, if that is another one, its owner before.
    pub owners: [Option<&'a Owner>; 2],
}

/// Handles each change; must not block.
pub type ChangeHandler = Box<dyn Fn(&ObjectChange<'_>) + Send + Sync>;

/// The objects of one kind.
pub struct Store<V> {
    inner: RwLock<StoreContent<V>>,
    handlers: RwLock<Vec<ChangeHandler>>,
    health: Arc<KindHealth>,
}

struct StoreContent<V> {
    objects: HashMap<Key, CacheEntry<V>>,
    owned: HashMap<(Arc<str>, Owner), Vec<Key>>,
    applied: AppliedCache,
}

impl<V: Projection> Store<V> {
    /// An empty store that is fed by that number of watches.
    #[must_use]
    pub fn new(watches: usize) -> Self {
        Self {
            inner: RwLock::new(StoreContent {
                objects: HashMap::new(),
                owned: HashMap::new(),
                applied: AppliedCache::default(),
            }),
            handlers: RwLock::default(),
            health: Arc::new(KindHealth::new(V::KIND, watches)),
        }
    }

    /// Calls `handler` for each change from now on. Must be called before the watches start.
    pub fn subscribe(&self, handler: ChangeHandler) {
        self.handlers.write().unwrap_or_else(PoisonError::into_inner).push(handler);
    }

    /// The health of its kind.
    #[must_use]
    pub fn health(&self) -> &Arc<KindHealth> {
        &self.health
    }

    /// The entry under that key.
    #[must_use]
    pub fn get(&self, key: &Key) -> Option<CacheEntry<V>> {
        self.read(|inner| inner.objects.get(key).cloned())
    }

    /// The state of the child under that key, for `owner`.
    #[must_use]
    pub fn child(&self, key: &Key, owner: &Meta) -> ChildState<V> {
        match self.get(key) {
            None => ChildState::Absent,
            Some(CacheEntry::Undecodable(undecodable)) => ChildState::Undecodable(undecodable.error.clone()),
            Some(CacheEntry::Object(view)) => {
                let fingerprint = self.read(|inner| inner.applied.rendered(key, view.fingerprint()));
                ChildState::judge(OwnedChild { view: view.clone(), fingerprint }, view.meta(), owner)
            }
        }
    }

    /// The same for an optional kind.
    #[must_use]
    pub fn child_if_served(&self, key: &Key, owner: &Meta) -> Served<V> {
        match self.health.state(&key.namespace) {
            WatchState::NotServed => Served::Not,
            WatchState::Starting => Served::Unknown(format!("waiting for the first list of {}", V::KIND.plural)),
            WatchState::Synced | WatchState::Failing { .. } => match self.health.stale_in(&key.namespace) {
                Some(unwatched) => Served::Unknown(message(&[unwatched])),
                None => Served::Child(self.child(key, owner)),
            },
        }
    }

    /// All objects in `namespace` that belong to `owner`, by name.
    #[must_use]
    pub fn owned(&self, namespace: &Arc<str>, owner: &Owner) -> Vec<CacheEntry<V>> {
        self.read(|inner| {
            let mut keys = inner.owned.get(&(namespace.clone(), owner.clone())).cloned().unwrap_or_default();
            keys.sort();
            keys.iter().filter_map(|key| inner.objects.get(key).cloned()).collect()
        })
    }

    /// The `resourceVersion` under that key; 0 for none.
    #[must_use]
    pub fn version(&self, key: &Key) -> u64 {
        self.read(|inner| inner.objects.get(key).map_or(0, |entry| entry.meta().resource_version))
    }

    /// Records that a write of `rendered` resulted in that version of the object.
    pub fn applied(&self, key: &Key, rendered: Rendered, version: u64) {
        self.write(|inner| {
            let held = inner
                .objects
                .get(key)
                .and_then(CacheEntry::object)
                .filter(|view| view.meta().resource_version == version);
            let live = held.map(|view| view.fingerprint());
            inner.applied.record(key, rendered, version, live);
        });
    }

    /// All keys.
    #[must_use]
    pub fn keys(&self) -> Vec<Key> {
        let mut keys: Vec<Key> = self.read(|inner| inner.objects.keys().cloned().collect());
        keys.sort_unstable();
        keys
    }

    /// Whether the predicate holds for one of its objects.
    #[must_use]
    pub fn any(&self, predicate: impl Fn(&V) -> bool) -> bool {
        self.read(|inner| inner.objects.values().filter_map(CacheEntry::object).any(predicate))
    }

    /// The number of its objects.
    #[must_use]
    pub fn len(&self) -> usize {
        self.read(|inner| inner.objects.len())
    }

    /// Whether it holds no objects.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Adds or replaces an object.
    pub fn apply(&self, mut entry: CacheEntry<V>) {
        let meta = entry.meta().clone();
        let (before, now) = self.write(|inner| {
            let before = inner.remove(&meta.key);
            entry.carry_over(before.as_ref(), Instant::now());
            if let Some(view) = entry.object() {
                inner.applied.confirm(&meta.key, meta.resource_version, view.fingerprint());
            }
            let now = entry.is_retained().then_some(entry);
            if let Some(entry) = &now {
                inner.insert(meta.key.clone(), entry.clone());
            }
            (before, now)
        });
        let relevant = match (&now, &before) {
            (Some(now), Some(before)) => !now.is_unchanged(before),
            (None, None) => false,
            _ => true,
        };
        self.notify(&meta, meta.deleting, relevant, before.as_ref(), now.as_ref());
    }

    /// Removes a deleted object.
    pub fn delete(&self, key: &Key) {
        let removed = self.write(|inner| {
            inner.applied.forget(key);
            inner.remove(key)
        });
        if let Some(before) = removed {
            self.notify(&before.meta().clone(), true, true, Some(&before), None);
        }
    }

    /// Removes the objects that a new list of `namespace` (or of all namespaces) did not contain.
    pub fn retain(&self, namespace: Option<&str>, found: &HashSet<Key>) {
        let inside = |key: &Key| namespace.is_none_or(|namespace| namespace == &*key.namespace);
        let mut deleted: Vec<Key> = self
            .read(|inner| inner.objects.keys().filter(|key| inside(key) && !found.contains(*key)).cloned().collect());
        deleted.sort_unstable();
        for key in deleted {
            self.delete(&key);
        }
    }

    fn notify(
        &self,
        meta: &Meta,
        deleted: bool,
        relevant: bool,
        before: Option<&CacheEntry<V>>,
        now: Option<&CacheEntry<V>>,
    ) {
        let (old, new) = (before.and_then(CacheEntry::owner), now.and_then(CacheEntry::owner));
        let change = ObjectChange {
            key: &meta.key,
            version: meta.resource_version,
            generation: meta.generation,
            deleted,
            relevant,
            has_foreign_changes: before.zip(now).is_some_and(|(before, now)| !now.only_own_fields_changed(before)),
            owners: [new, old.filter(|old| Some(*old) != new)],
        };
        for handler in &*self.handlers.read().unwrap_or_else(PoisonError::into_inner) {
            handler(&change);
        }
    }

    fn read<T>(&self, with: impl FnOnce(&StoreContent<V>) -> T) -> T {
        with(&self.inner.read().unwrap_or_else(PoisonError::into_inner))
    }

    fn write<T>(&self, with: impl FnOnce(&mut StoreContent<V>) -> T) -> T {
        with(&mut self.inner.write().unwrap_or_else(PoisonError::into_inner))
    }
}

impl<V: Projection> StoreContent<V> {
    fn insert(&mut self, key: Key, entry: CacheEntry<V>) {
        if let Some(owner) = entry.owner() {
            self.owned.entry((key.namespace.clone(), owner.clone())).or_default().push(key.clone());
        }
        self.objects.insert(key, entry);
    }

    fn remove(&mut self, key: &Key) -> Option<CacheEntry<V>> {
        let entry = self.objects.remove(key)?;
        if let Some(owner) = entry.owner() {
            let index = (key.namespace.clone(), owner.clone());
            if let Some(keys) = self.owned.get_mut(&index) {
                keys.retain(|k| k != key);
                if keys.is_empty() {
                    self.owned.remove(&index);
                }
            }
        }
        Some(entry)
    }
}

#[cfg(test)]
mod tests;
