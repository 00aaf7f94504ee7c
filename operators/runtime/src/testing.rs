//! A cluster in memory, for property tests: effects act upon it, stores are fed from it, as late as a test likes.
//!
//! It knows what plans rely on: versions, generations, uids, field ownership by apply, preconditions, and background
//! garbage collection. What other controllers do (say, a Deployment's), tests do by [`World::edit`].

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::Error;
use crate::cache::{Projection, Store};
use crate::plan::meta::{Key, Kind};

pub mod branching;
mod events;
mod fork;
mod ownership;
mod pass;
mod trouble;

use events::Events;
use ownership::{Owned, PATCHED, at};

/// Time stands still here, so that only changes make differences.
pub const NOW: Timestamp = Timestamp::UNIX_EPOCH;

type Id = (Kind, Key);

/// The cluster.
#[derive(Default)]
pub struct World {
    objects: BTreeMap<(&'static str, Key), Object>,
    clock: u64,
    events: Events,
    lingering: Vec<Kind>,
    refusals: BTreeMap<&'static str, Error>,
    /// What the API server's clock says.
    pub now: Timestamp,
    /// Writes by the operator under test, status included.
    pub writes: usize,
    /// How many more writes the operator lives to see; `None` for ever.
    pub lifetime: Option<usize>,
}

#[derive(Clone)]
struct Object {
    kind: Kind,
    value: Value,
    /// Which fields each manager owns by apply.
    owned: BTreeMap<String, Owned>,
    /// When that last changed.
    applied: BTreeMap<String, Timestamp>,
}

impl Object {
    /// Notes that `manager` has written, by an update or a patch, what differs from `before`.
    fn own_changes(&mut self, before: &Value, manager: &str, now: Timestamp) {
        let mut changed = ownership::of(&self.value);
        changed.retain(|path| at(before, path) != at(&self.value, path) && path[0] != "status");
        let manager = format!("{PATCHED}{manager}");
        self.applied.insert(manager.clone(), now);
        self.owned.entry(manager).or_default().extend(changed);
    }
}

impl World {
    /// Feeds a store with what happens to its kind.
    pub fn feed<V: Projection>(&mut self, store: &Arc<Store<V>>) {
        store.health().synced(None);
        self.events.feed(store);
    }

    /// Lets stores see up to `count` more events, in order.
    pub fn deliver(&mut self, count: usize) {
        self.events.deliver(count);
    }

    /// Lets stores see up to `count` more events of one kind, in order: each kind has a watch of its own.
    pub fn deliver_of(&mut self, kind: Kind, count: usize) {
        self.events.deliver_of(kind, count);
    }

    /// Lets stores see all that the operator has written, and what came before it in the same kind: for so long the real
    /// queue holds back the next pass.
    pub fn catch_up(&mut self) {
        self.events.catch_up();
    }

    /// Lets stores see everything.
    pub fn deliver_all(&mut self) {
        self.deliver(usize::MAX);
    }

    /// Lets objects of that kind stay when they are deleted, marked as such, until they are removed: as pods do, and claims
    /// in use.
    pub fn linger(&mut self, kind: Kind) {
        self.lingering.push(kind);
    }

    /// Deletes an object, which begins to linger if that is its kind's way.
    pub fn begin_removal(&mut self, kind: Kind, key: &Key) {
        if !self.lingering.contains(&kind) {
            self.remove(kind, key);
        } else if self.get(kind, key).is_some_and(|live| live["metadata"]["deletionTimestamp"].is_null()) {
            self.edit(kind, key, |live| live["metadata"]["deletionTimestamp"] = json!(NOW));
        }
    }

    /// Creates an object, as a user or another controller would.
    pub fn create(&mut self, kind: Kind, key: &Key, value: Value) {
        self.insert(kind, key, value, BTreeMap::new());
    }

    fn insert(&mut self, kind: Kind, key: &Key, mut value: Value, owned: BTreeMap<String, Owned>) {
        self.clock += 1;
        value["metadata"]["name"] = json!(&*key.name);
        value["metadata"]["namespace"] = json!(&*key.namespace);
        value["metadata"]["uid"] = json!(format!("uid-{}", self.clock));
        value["metadata"]["generation"] = json!(1);
        let applied = owned.keys().map(|manager| (manager.clone(), self.now)).collect();
        self.objects.insert((kind.plural, key.clone()), Object { kind, value, owned, applied });
        self.publish(kind, key);
    }

    /// Changes an object, as a user or another controller would: fields that change are no longer ours.
    pub fn edit(&mut self, kind: Kind, key: &Key, change: impl FnOnce(&mut Value)) {
        self.write(kind, key, change, None);
    }

    /// Changes an object, as a user would by `kubectl edit`: fields that change are the user's.
    pub fn edit_by_hand(&mut self, kind: Kind, key: &Key, change: impl FnOnce(&mut Value)) {
        self.write(kind, key, change, Some("kubectl-edit"));
    }

    /// Changes an object by an update or a patch: what changes is `manager`'s, if one is given. One write is one event.
    fn write(&mut self, kind: Kind, key: &Key, change: impl FnOnce(&mut Value), manager: Option<&str>) {
        let Some(object) = self.objects.get_mut(&(kind.plural, key.clone())) else { return };
        let before = object.value.clone();
        change(&mut object.value);
        let value = &object.value;
        object.owned.values_mut().for_each(|owned| owned.retain(|path| at(&before, path) == at(value, path)));
        if let Some(manager) = manager {
            object.own_changes(&before, manager, self.now);
        }
        self.changed(kind, key, &before);
    }

    /// Deletes an object and, as garbage collection does in the background, all it controls.
    pub fn remove(&mut self, kind: Kind, key: &Key) {
        if self.objects.remove(&(kind.plural, key.clone())).is_some() {
            self.events.push(kind, key.clone(), None);
            self.collect_garbage();
        }
    }

    /// Deletes what is controlled by an object that is no more: made for it by somebody who had not seen it go.
    pub fn collect_garbage(&mut self) {
        let uids: Vec<Value> = self.objects.values().map(|object| object.value["metadata"]["uid"].clone()).collect();
        let orphaned = |o: &Object| {
            o.value["metadata"]["ownerReferences"]
                .as_array()
                .is_some_and(|owners| owners.iter().any(|o| !uids.contains(&o["uid"])))
        };
        let garbage: Vec<Id> =
            self.objects.iter().filter(|(_, o)| orphaned(o)).map(|((_, key), o)| (o.kind, key.clone())).collect();
        for (kind, key) in garbage {
            self.begin_removal(kind, &key);
        }
    }

    /// The object as it truly is.
    #[must_use]
    pub fn get(&self, kind: Kind, key: &Key) -> Option<&Value> {
        self.objects.get(&(kind.plural, key.clone())).map(|object| &object.value)
    }

    /// The object as stores have been told of it last.
    #[must_use]
    pub fn shown(&self, kind: Kind, key: &Key) -> Option<&Value> {
        self.events.shown.get(&(kind.plural, key.clone()))
    }

    /// All objects of a kind as stores have been told of them last.
    pub fn all_shown(&self, kind: Kind) -> impl Iterator<Item = &Value> {
        self.events.shown.iter().filter(move |((plural, _), _)| *plural == kind.plural).map(|(_, value)| value)
    }

    /// All objects of a kind as they truly are, by key.
    pub fn all(&self, kind: Kind) -> impl Iterator<Item = (&Key, &Value)> {
        let of_kind = self.objects.iter().filter(move |((plural, _), _)| *plural == kind.plural);
        of_kind.map(|((_, key), object)| (key, &object.value))
    }

    /// All objects without what differs between two worlds of the same content: uids, versions, generations.
    #[must_use]
    pub fn content(&self) -> BTreeMap<String, Value> {
        let plain = |object: &Object| {
            let mut value = object.value.clone();
            if let Some(meta) = value["metadata"].as_object_mut() {
                ["uid", "generation", "resourceVersion", "ownerReferences"]
                    .iter()
                    .for_each(|key| drop(meta.remove(*key)));
            }
            value
        };
        self.objects.iter().map(|((plural, key), object)| (format!("{plural} {key}"), plain(object))).collect()
    }

    /// Bumps what a change bumps, and tells.
    fn changed(&mut self, kind: Kind, key: &Key, before: &Value) {
        let Some(object) = self.objects.get_mut(&(kind.plural, key.clone())) else { return };
        let spec = |value: &Value| {
            let mut spec = value.as_object().cloned().unwrap_or_default();
            ["metadata", "status"].iter().for_each(|part| drop(spec.remove(*part)));
            spec
        };
        if spec(&object.value) != spec(before) && before["metadata"]["generation"].is_number() {
            let generation = before["metadata"]["generation"].as_i64().unwrap_or(0);
            object.value["metadata"]["generation"] = json!(generation + 1);
        }
        self.publish(kind, key);
    }

    fn publish(&mut self, kind: Kind, key: &Key) {
        self.clock += 1;
        let Some(object) = self.objects.get_mut(&(kind.plural, key.clone())) else { return };
        object.value["metadata"]["resourceVersion"] = json!(self.clock.to_string());
        self.tell(kind, key);
    }

    fn tell(&mut self, kind: Kind, key: &Key) {
        let Some(object) = self.objects.get(&(kind.plural, key.clone())) else { return };
        let mut value = object.value.clone();
        value["metadata"]["managedFields"] = ownership::managed_fields(&object.owned, &object.applied);
        self.events.push(kind, key.clone(), Some(value));
    }
}
