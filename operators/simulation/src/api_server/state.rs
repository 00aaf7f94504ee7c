//! What the API server stores, and each change of it. ([`super::verbs`] perform the requests.)

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use hyper::body::Bytes;
use jiff::Timestamp;
use serde_json::{Value, json};

use super::kinds::{KindId, Kinds};
use super::managers::Managers;
use super::request::Subresource;
use crate::random::Random;

mod change;
#[cfg(test)]
mod tests;

pub use change::{Event, ObjectKey, StoredChange};

/// A stored object.
#[derive(Clone, Debug)]
pub struct StoredObject {
    /// The complete object, with `metadata.managedFields`.
    pub value: Arc<Value>,
    /// The owners of its fields.
    pub managers: Managers,
    /// Reads show a default as its status, which is not stored yet: the next write stores it, even if it changes nothing.
    pub(super) has_default_status: bool,
}

/// The changes since a version were forgotten.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Expired;

/// A request that writes, as it was answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditEntry {
    /// When it took effect.
    pub now: Timestamp,
    /// When it was sent.
    pub sent: Timestamp,
    /// Who sent it.
    pub user: String,
    /// `create`, `update`, `patch`, `apply` or `delete`.
    pub verb: &'static str,
    /// Of which kind.
    pub kind: KindId,
    /// Of which object.
    pub key: ObjectKey,
    /// Of which part of it.
    pub subresource: Option<Subresource>,
    /// The status code of the answer.
    pub code: u16,
    /// It changed something.
    pub changed: bool,
    /// The object after it, if it still exists.
    pub after: Option<Arc<Value>>,
}

/// What the API server stores.
#[derive(Clone)]
pub struct StoredState {
    kinds: Arc<Kinds>,
    version: u64,
    /// How many uids and names were generated.
    generated: u64,
    objects: Vec<BTreeMap<ObjectKey, StoredObject>>,
    changes: Vec<StoredChange>,
    /// The changes up to this version were forgotten.
    compacted: u64,
    unmodelled: Vec<String>,
    audit: Vec<AuditEntry>,
}

impl StoredState {
    /// An API server without objects that serves these kinds.
    #[must_use]
    pub fn new(kinds: Arc<Kinds>) -> Self {
        let objects = kinds.iter().map(|_| BTreeMap::new()).collect();
        Self {
            kinds,
            // Clients take the version 0 for any.
            version: 1,
            generated: 0,
            objects,
            changes: Vec::new(),
            compacted: 1,
            unmodelled: Vec::new(),
            audit: Vec::new(),
        }
    }

    /// The kinds that it serves.
    #[must_use]
    pub fn kinds(&self) -> &Kinds {
        &self.kinds
    }

    /// The same, for as long as a request takes that changes the state.
    pub(super) fn shared_kinds(&self) -> Arc<Kinds> {
        self.kinds.clone()
    }

    /// The version of the last change.
    #[must_use]
    pub fn version(&self) -> u64 {
        self.version
    }

    /// An object.
    #[must_use]
    pub fn get(&self, kind: KindId, namespace: &str, name: &str) -> Option<&Arc<Value>> {
        self.stored(kind, &(namespace.to_owned(), name.to_owned())).map(|stored| &stored.value)
    }

    /// All objects of a kind, by namespace and name.
    pub fn all(&self, kind: KindId) -> impl Iterator<Item = (&ObjectKey, &Arc<Value>)> {
        self.objects.get(kind).into_iter().flatten().map(|(key, stored)| (key, &stored.value))
    }

    /// The changes that are newer than the version `since`, in order.
    ///
    /// # Errors
    /// If some of them were forgotten.
    pub fn changes(&self, since: u64) -> Result<&[StoredChange], Expired> {
        if since < self.compacted {
            return Err(Expired);
        }
        let newer = self.changes.partition_point(|change| change.version <= since);
        Ok(self.changes.get(newer..).unwrap_or_default())
    }

    /// An object as JSON.
    #[must_use]
    pub fn text(&self, object: &Arc<Value>) -> Bytes {
        match self.changes.last() {
            Some(change) if Arc::ptr_eq(&change.after, object) => change.text().clone(),
            _ => Bytes::from(object.to_string()),
        }
    }

    /// The changes up to this version are forgotten.
    #[must_use]
    pub fn forgotten(&self) -> u64 {
        self.compacted
    }

    /// Forgets all changes: watches from before get 410.
    pub fn compact(&mut self) {
        self.changes.clear();
        self.compacted = self.version;
    }

    /// The requests that the model lacks.
    #[must_use]
    pub fn unmodelled(&self) -> &[String] {
        &self.unmodelled
    }

    /// Notes a request that the model lacks.
    pub fn note_unmodelled(&mut self, what: String) {
        self.unmodelled.push(what);
    }

    /// All requests that write, in order.
    #[must_use]
    pub fn audit(&self) -> &[AuditEntry] {
        &self.audit
    }

    /// Records a request that writes.
    pub(super) fn record_write(&mut self, entry: AuditEntry) {
        self.audit.push(entry);
    }

    /// An object, with the owners of its fields.
    #[must_use]
    pub fn stored(&self, kind: KindId, key: &ObjectKey) -> Option<&StoredObject> {
        self.objects.get(kind)?.get(key)
    }

    /// Stores an object as a new version.
    pub(super) fn put(
        &mut self,
        user: &str,
        kind: KindId,
        key: &ObjectKey,
        mut value: Value,
        managers: Managers,
    ) -> Arc<Value> {
        self.version += 1;
        set_version(&mut value, self.version);
        let value = Arc::new(value);
        let stored = StoredObject { value: value.clone(), managers, has_default_status: false };
        let before = self.objects.get_mut(kind).and_then(|objects| objects.insert(key.clone(), stored));
        let event = if before.is_some() { Event::Modified } else { Event::Added };
        self.record(user, kind, key, event, before.map(|before| before.value), value.clone());
        value
    }

    /// Notes that the status of an object is a default that is not stored.
    pub(super) fn note_default_status(&mut self, kind: KindId, key: &ObjectKey) {
        if let Some(stored) = self.objects.get_mut(kind).and_then(|objects| objects.get_mut(key)) {
            stored.has_default_status = true;
        }
    }

    /// Removes an object; that is a new version, too. Returns its last state, with that version.
    pub(super) fn remove(&mut self, user: &str, kind: KindId, key: &ObjectKey) -> Option<Arc<Value>> {
        let before = self.objects.get_mut(kind).and_then(|objects| objects.remove(key))?;
        self.version += 1;
        let mut last = (*before.value).clone();
        set_version(&mut last, self.version);
        let last = Arc::new(last);
        self.record(user, kind, key, Event::Deleted, Some(before.value), last.clone());
        Some(last)
    }

    fn record(
        &mut self,
        user: &str,
        kind: KindId,
        key: &ObjectKey,
        event: Event,
        before: Option<Arc<Value>>,
        after: Arc<Value>,
    ) {
        let (version, user) = (self.version, user.to_owned());
        self.changes.push(StoredChange {
            version,
            kind,
            key: key.clone(),
            event,
            before,
            after,
            user,
            text: OnceLock::new(),
        });
    }

    /// A uid that no object has.
    pub(super) fn new_uid(&mut self) -> String {
        let mut random = self.next_generated();
        let (high, low) = (random.number(), random.number());
        let (node, clock) = (low & 0xffff_ffff_ffff, (low >> 50) | 0x8000);
        format!("{:08x}-{:04x}-4{:03x}-{clock:04x}-{node:012x}", high >> 32, (high >> 16) & 0xffff, high & 0xfff)
    }

    /// The end of a generated name: five letters and digits, as the API server chooses them.
    pub(super) fn new_suffix(&mut self) -> String {
        const LETTERS: [char; 27] = [
            'b', 'c', 'd', 'f', 'g', 'h', 'j', 'k', 'l', 'm', 'n', 'p', 'q', 'r', 's', 't', 'v', 'w', 'x', 'z', '2',
            '4', '5', '6', '7', '8', '9',
        ];
        let mut random = self.next_generated();
        (0..5).filter_map(|_| random.pick(&LETTERS)).collect()
    }

    fn next_generated(&mut self) -> Random {
        self.generated += 1;
        Random::new(self.generated)
    }
}

fn set_version(object: &mut Value, version: u64) {
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.insert("resourceVersion".to_owned(), json!(version.to_string()));
    }
}
