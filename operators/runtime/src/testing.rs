//! A cluster in memory, for property tests: it performs effects, and delivers events to stores as late as a test likes.
//!
//! It implements what plans rely on: versions, generations, uids, field ownership by apply, preconditions, and background garbage
//! collection. Tests play other controllers, such as that of Deployments, with [`FakeCluster::edit`].

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::Error;
use crate::cache::{Projection, Store};
use crate::plan::meta::{Key, ResourceKind};

mod copy;
mod failures;
pub mod fault_injection;
mod ownership;
mod pending_events;
mod reconcile;

use ownership::{Owned, PATCHED, at};
use pending_events::PendingEvents;

/// The time does not change, so that only changes make differences.
pub const NOW: Timestamp = Timestamp::UNIX_EPOCH;

type Id = (ResourceKind, Key);

/// A cluster in memory.
#[derive(Default)]
pub struct FakeCluster {
    objects: BTreeMap<(&'static str, Key), StoredObject>,
    clock: u64,
    events: PendingEvents,
    blocks_deletion: Vec<ResourceKind>,
    refusals: BTreeMap<&'static str, Error>,
    /// The time of the API server.
    pub now: Timestamp,
    /// Writes by the operator under test, status included.
    pub writes: usize,
    /// After how many more writes the operator crashes; `None` for never.
    pub remaining_writes: Option<usize>,
}

#[derive(Clone)]
struct StoredObject {
    kind: ResourceKind,
    value: Value,
    /// The fields that each manager owns.
    owned: BTreeMap<String, Owned>,
    /// When each manager last changed its fields.
    applied: BTreeMap<String, Timestamp>,
}

impl StoredObject {
    /// Records that `manager` has written what differs from `before`, with an update or a patch.
    fn own_changes(&mut self, before: &Value, manager: &str, now: Timestamp) {
        let mut changed = ownership::of(&self.value);
        changed.retain(|path| at(before, path) != at(&self.value, path) && path[0] != "status");
        let manager = format!("{PATCHED}{manager}");
        self.applied.insert(manager.clone(), now);
        self.owned.entry(manager).or_default().extend(changed);
    }
}

impl FakeCluster {
    /// Delivers the events of its kind to a store.
    pub fn feed<V: Projection>(&mut self, store: &Arc<Store<V>>) {
        store.health().synced(None);
        self.events.feed(store);
    }

    /// Delivers up to `count` more events to stores, in order.
    pub fn deliver_events(&mut self, count: usize) {
        self.events.deliver_events(count);
    }

    /// Delivers up to `count` more events of one kind, in order: each kind has a watch of its own.
    pub fn deliver_events_of(&mut self, kind: ResourceKind, count: usize) {
        self.events.deliver_events_of(kind, count);
    }

    /// Delivers all own writes of the operator, and earlier events of the same kinds: the real queue delays the next reconcile
    /// until then.
    pub fn deliver_own_writes(&mut self) {
        self.events.deliver_own_writes();
    }

    /// Delivers all events.
    pub fn deliver_all_events(&mut self) {
        self.deliver_events(usize::MAX);
    }

    /// Makes objects of that kind stay terminating after a deletion until they are removed, like pods and PVCs in use.
    pub fn block_deletion(&mut self, kind: ResourceKind) {
        self.blocks_deletion.push(kind);
    }

    /// Deletes an object, which stays terminating if the deletion of its kind is blocked.
    pub fn delete(&mut self, kind: ResourceKind, key: &Key) {
        if !self.blocks_deletion.contains(&kind) {
            self.remove(kind, key);
        } else if self.get(kind, key).is_some_and(|live| live["metadata"]["deletionTimestamp"].is_null()) {
            self.edit(kind, key, |live| live["metadata"]["deletionTimestamp"] = json!(NOW));
        }
    }

    /// Creates an object, as a user or another controller would.
    pub fn create(&mut self, kind: ResourceKind, key: &Key, value: Value) {
        self.insert(kind, key, value, BTreeMap::new());
    }

    fn insert(&mut self, kind: ResourceKind, key: &Key, mut value: Value, owned: BTreeMap<String, Owned>) {
        self.clock += 1;
        value["metadata"]["name"] = json!(&*key.name);
        value["metadata"]["namespace"] = json!(&*key.namespace);
        value["metadata"]["uid"] = json!(format!("uid-{}", self.clock));
        value["metadata"]["generation"] = json!(1);
        let applied = owned.keys().map(|manager| (manager.clone(), self.now)).collect();
        self.objects.insert((kind.plural, key.clone()), StoredObject { kind, value, owned, applied });
        self.publish(kind, key);
    }

    /// Changes an object, as another controller would: no manager owns the changed fields.
    pub fn edit(&mut self, kind: ResourceKind, key: &Key, change: impl FnOnce(&mut Value)) {
        self.write(kind, key, change, None);
    }

    /// Changes an object, as a user would with `kubectl edit`: the user owns the changed fields.
    pub fn edit_by_hand(&mut self, kind: ResourceKind, key: &Key, change: impl FnOnce(&mut Value)) {
        self.write(kind, key, change, Some("kubectl-edit"));
    }

    /// Changes an object with an update or a patch: `manager`, if given, owns the changed fields. One write is one event.
    fn write(&mut self, kind: ResourceKind, key: &Key, change: impl FnOnce(&mut Value), manager: Option<&str>) {
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

    /// Removes an object and, as the garbage collector does in the background, all objects that it controls.
    pub fn remove(&mut self, kind: ResourceKind, key: &Key) {
        if self.objects.remove(&(kind.plural, key.clone())).is_some() {
            self.events.push(kind, key.clone(), None);
            self.collect_garbage();
        }
    }

    /// Deletes the children of removed objects, which a controller created before it observed the removal.
    pub fn collect_garbage(&mut self) {
        let uids: Vec<Value> = self.objects.values().map(|object| object.value["metadata"]["uid"].clone()).collect();
        let orphaned = |o: &StoredObject| {
            o.value["metadata"]["ownerReferences"]
                .as_array()
                .is_some_and(|owners| owners.iter().any(|o| !uids.contains(&o["uid"])))
        };
        let garbage: Vec<Id> =
            self.objects.iter().filter(|(_, o)| orphaned(o)).map(|((_, key), o)| (o.kind, key.clone())).collect();
        for (kind, key) in garbage {
            self.delete(kind, &key);
        }
    }

    /// The live object.
    #[must_use]
    pub fn get(&self, kind: ResourceKind, key: &Key) -> Option<&Value> {
        self.objects.get(&(kind.plural, key.clone())).map(|object| &object.value)
    }

    /// The object as last delivered to stores.
    #[must_use]
    pub fn cached(&self, kind: ResourceKind, key: &Key) -> Option<&Value> {
        self.events.cached.get(&(kind.plural, key.clone()))
    }

    /// All objects of a kind as last delivered to stores.
    pub fn all_cached(&self, kind: ResourceKind) -> impl Iterator<Item = &Value> {
        self.events.cached.iter().filter(move |((plural, _), _)| *plural == kind.plural).map(|(_, value)| value)
    }

    /// All live objects of a kind, by key.
    pub fn all(&self, kind: ResourceKind) -> impl Iterator<Item = (&Key, &Value)> {
        let of_kind = self.objects.iter().filter(move |((plural, _), _)| *plural == kind.plural);
        of_kind.map(|((_, key), object)| (key, &object.value))
    }

    /// All objects without what differs between two clusters of the same content: uids, versions, generations.
    #[must_use]
    pub fn content(&self) -> BTreeMap<String, Value> {
        let plain = |object: &StoredObject| {
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

    /// Updates the version and the generation after a change, and publishes the event.
    fn changed(&mut self, kind: ResourceKind, key: &Key, before: &Value) {
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

    fn publish(&mut self, kind: ResourceKind, key: &Key) {
        self.clock += 1;
        let Some(object) = self.objects.get_mut(&(kind.plural, key.clone())) else { return };
        object.value["metadata"]["resourceVersion"] = json!(self.clock.to_string());
        self.push_event(kind, key);
    }

    fn push_event(&mut self, kind: ResourceKind, key: &Key) {
        let Some(object) = self.objects.get(&(kind.plural, key.clone())) else { return };
        let mut value = object.value.clone();
        value["metadata"]["managedFields"] = ownership::managed_fields(&object.owned, &object.applied);
        self.events.push(kind, key.clone(), Some(value));
    }
}
