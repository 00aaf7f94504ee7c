//! The objects of one kind, in memory.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Instant;

use super::applied::Applied;
use super::entry::Entry;
use super::health::{Health, State};
use super::projection::Projection;
use crate::apply::drift::Rendered;
use crate::cache::watch_health::sentence;
use crate::plan::child::{ChildState, OwnedChild, Served};
use crate::plan::meta::{Key, Meta, Owner};

/// What happened to one object.
pub struct Change<'a> {
    /// The object.
    pub key: &'a Key,
    /// Its `resourceVersion`; for a deletion, the last one known.
    pub version: u64,
    /// Its generation.
    pub generation: i64,
    /// Whether it is gone, or on its way out.
    pub deleted: bool,
    /// Whether anything that a planner reads changed.
    pub relevant: bool,
    /// Whether anything changed that only others write, so that the event cannot be that of our own write alone.
    pub by_others: bool,
    /// Whom it belonged to before and belongs to now, without repetition.
    pub owners: [Option<&'a Owner>; 2],
}

/// Told of every change; must not block.
pub type Route = Box<dyn Fn(&Change<'_>) + Send + Sync>;

/// The objects of one kind.
pub struct Store<V> {
    inner: RwLock<Inner<V>>,
    routes: RwLock<Vec<Route>>,
    health: Arc<Health>,
}

struct Inner<V> {
    objects: HashMap<Key, Entry<V>>,
    owned: HashMap<(Arc<str>, Owner), Vec<Key>>,
    applied: Applied,
}

impl<V: Projection> Store<V> {
    /// An empty store, fed by that many watches.
    #[must_use]
    pub fn new(watches: usize) -> Self {
        Self {
            inner: RwLock::new(Inner { objects: HashMap::new(), owned: HashMap::new(), applied: Applied::default() }),
            routes: RwLock::default(),
            health: Arc::new(Health::new(V::KIND, watches)),
        }
    }

    /// Has `route` told of every change from now on. To be called before the watches start.
    pub fn route(&self, route: Route) {
        self.routes.write().unwrap_or_else(PoisonError::into_inner).push(route);
    }

    /// How its watches fare.
    #[must_use]
    pub fn health(&self) -> &Arc<Health> {
        &self.health
    }

    /// What is held under that key.
    #[must_use]
    pub fn get(&self, key: &Key) -> Option<Entry<V>> {
        self.read(|inner| inner.objects.get(key).cloned())
    }

    /// The child under that key, as `owner` sees it.
    #[must_use]
    pub fn child(&self, key: &Key, owner: &Meta) -> ChildState<V> {
        match self.get(key) {
            None => ChildState::Absent,
            Some(Entry::Broken(broken)) => ChildState::Undecodable(broken.error.clone()),
            Some(Entry::Object(view)) => {
                let fingerprint = self.read(|inner| inner.applied.rendered(key, view.fingerprint()));
                ChildState::judge(OwnedChild { view: view.clone(), fingerprint }, view.meta(), owner)
            }
        }
    }

    /// The same, of a kind that may not be served.
    #[must_use]
    pub fn child_if_served(&self, key: &Key, owner: &Meta) -> Served<V> {
        match self.health.state(&key.namespace) {
            State::NotServed => Served::Not,
            State::Starting => Served::Unknown(format!("the cache of {} is being filled", V::KIND.plural)),
            State::Synced | State::Failing { .. } => match self.health.blind_in(&key.namespace) {
                Some(unseen) => Served::Unknown(sentence(&[unseen])),
                None => Served::Child(self.child(key, owner)),
            },
        }
    }

    /// Everything in `namespace` that belongs to `owner`, by name.
    #[must_use]
    pub fn owned(&self, namespace: &Arc<str>, owner: &Owner) -> Vec<Entry<V>> {
        self.read(|inner| {
            let mut keys = inner.owned.get(&(namespace.clone(), owner.clone())).cloned().unwrap_or_default();
            keys.sort();
            keys.iter().filter_map(|key| inner.objects.get(key).cloned()).collect()
        })
    }

    /// The `resourceVersion` held under that key; 0 for none.
    #[must_use]
    pub fn version(&self, key: &Key) -> u64 {
        self.read(|inner| inner.objects.get(key).map_or(0, |entry| entry.meta().version))
    }

    /// Takes note that a write of what was `rendered` made the object be at `version`.
    pub fn applied(&self, key: &Key, rendered: Rendered, version: u64) {
        self.write(|inner| {
            let held = inner.objects.get(key).and_then(Entry::object).filter(|view| view.meta().version == version);
            let live = held.map(|view| view.fingerprint());
            inner.applied.note(key, rendered, version, live);
        });
    }

    /// All keys.
    #[must_use]
    pub fn keys(&self) -> Vec<Key> {
        self.read(|inner| inner.objects.keys().cloned().collect())
    }

    /// Whether one of its objects is such a one.
    #[must_use]
    pub fn any(&self, is_such: impl Fn(&V) -> bool) -> bool {
        self.read(|inner| inner.objects.values().filter_map(Entry::object).any(is_such))
    }

    /// How many objects it holds.
    #[must_use]
    pub fn len(&self) -> usize {
        self.read(|inner| inner.objects.len())
    }

    /// Whether it holds none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Takes in an object that was added or changed.
    pub fn apply(&self, mut entry: Entry<V>) {
        let meta = entry.meta().clone();
        let (before, now) = self.write(|inner| {
            let before = inner.remove(&meta.key);
            entry.carry_over(before.as_ref(), Instant::now());
            if let Some(view) = entry.object() {
                inner.applied.came_back(&meta.key, meta.version, view.fingerprint());
            }
            let now = entry.kept().then_some(entry);
            if let Some(entry) = &now {
                inner.insert(meta.key.clone(), entry.clone());
            }
            (before, now)
        });
        let relevant = match (&now, &before) {
            (Some(now), Some(before)) => !now.unchanged(before),
            (None, None) => false,
            _ => true,
        };
        self.tell(&meta, meta.deleting, relevant, before.as_ref(), now.as_ref());
    }

    /// Takes out an object that was deleted.
    pub fn delete(&self, key: &Key) {
        let removed = self.write(|inner| {
            inner.applied.forget(key);
            inner.remove(key)
        });
        if let Some(before) = removed {
            self.tell(&before.meta().clone(), true, true, Some(&before), None);
        }
    }

    /// Takes out what a relist of `namespace` (or of all) did not find.
    pub fn retain(&self, namespace: Option<&str>, found: &HashSet<Key>) {
        let inside = |key: &Key| namespace.is_none_or(|namespace| namespace == &*key.namespace);
        let gone: Vec<Key> = self
            .read(|inner| inner.objects.keys().filter(|key| inside(key) && !found.contains(*key)).cloned().collect());
        for key in gone {
            self.delete(&key);
        }
    }

    fn tell(&self, meta: &Meta, deleted: bool, relevant: bool, before: Option<&Entry<V>>, now: Option<&Entry<V>>) {
        let (old, new) = (before.and_then(Entry::owner), now.and_then(Entry::owner));
        let change = Change {
            key: &meta.key,
            version: meta.version,
            generation: meta.generation,
            deleted,
            relevant,
            by_others: before.zip(now).is_some_and(|(before, now)| !now.only_own_fields_changed(before)),
            owners: [new, old.filter(|old| Some(*old) != new)],
        };
        for route in &*self.routes.read().unwrap_or_else(PoisonError::into_inner) {
            route(&change);
        }
    }

    fn read<T>(&self, with: impl FnOnce(&Inner<V>) -> T) -> T {
        with(&self.inner.read().unwrap_or_else(PoisonError::into_inner))
    }

    fn write<T>(&self, with: impl FnOnce(&mut Inner<V>) -> T) -> T {
        with(&mut self.inner.write().unwrap_or_else(PoisonError::into_inner))
    }
}

impl<V: Projection> Inner<V> {
    fn insert(&mut self, key: Key, entry: Entry<V>) {
        if let Some(owner) = entry.owner() {
            self.owned.entry((key.namespace.clone(), owner.clone())).or_default().push(key.clone());
        }
        self.objects.insert(key, entry);
    }

    fn remove(&mut self, key: &Key) -> Option<Entry<V>> {
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
