//! What the API server stores, and each change of it. ([`super::verbs`] perform the requests.)

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::errors::UNMODELLED;
use super::kinds::{KindId, Kinds};
use super::managers::Managers;
use super::request::{Answer, ApiError, ApiRequest, Patch, Subresource, Verb};
use super::verbs;
use crate::random::Random;

#[cfg(test)]
mod tests;

/// A stored object.
#[derive(Clone, Debug)]
pub struct StoredObject {
    /// The complete object, with `metadata.managedFields`.
    pub value: Arc<Value>,
    /// The owners of its fields.
    pub managers: Managers,
}

/// The namespace (empty if there is none) and the name of an object.
pub type ObjectKey = (String, String);

/// What happened to an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// It was created.
    Added,
    /// It was changed.
    Modified,
    /// It was removed.
    Deleted,
}

/// A change of the stored objects.
#[derive(Clone, Debug)]
pub struct StoredChange {
    /// The version that began with it.
    pub version: u64,
    /// The kind of the object.
    pub kind: KindId,
    /// The object.
    pub key: ObjectKey,
    /// What happened.
    pub event: Event,
    /// The object before.
    pub before: Option<Arc<Value>>,
    /// The object after; if it was removed, its last state with the new version.
    pub after: Arc<Value>,
    /// Whose request it was.
    pub user: String,
}

/// The changes since a version were forgotten.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Expired;

/// A request that writes, as it was answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditEntry {
    /// When.
    pub now: Timestamp,
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
    pub fn new(kinds: Kinds) -> Self {
        let objects = kinds.iter().map(|_| BTreeMap::new()).collect();
        Self {
            kinds: Arc::new(kinds),
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

    /// The version of the last change.
    #[must_use]
    pub fn version(&self) -> u64 {
        self.version
    }

    /// Performs a request, at once. A watch is none of them.
    ///
    /// # Errors
    /// The refusal. What the model lacks is noted. ([`Self::unmodelled`])
    pub fn perform(&mut self, request: &ApiRequest, now: Timestamp) -> Result<Answer, ApiError> {
        let before = self.version;
        let kinds = self.kinds.clone();
        let result = verbs::perform(self, &kinds, request, now).map_err(|mut error| {
            if error.code == UNMODELLED {
                error.message = format!("{}: {request:?}", error.message);
                self.note_unmodelled(error.message.clone());
            }
            error
        });
        if let Some(verb) = write(&request.verb) {
            let code = result.as_ref().map_or_else(|error| error.code, |answer| answer.code);
            let key = audited_key(request, result.as_ref().ok());
            let (user, subresource) = (request.user.clone(), request.subresource);
            let changed = self.version != before;
            let after = self.get(request.kind, &key.0, &key.1).cloned();
            self.audit.push(AuditEntry { now, user, verb, kind: request.kind, key, subresource, code, changed, after });
        }
        result
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
        let stored = StoredObject { value: value.clone(), managers };
        let before = self.objects.get_mut(kind).and_then(|objects| objects.insert(key.clone(), stored));
        let event = if before.is_some() { Event::Modified } else { Event::Added };
        self.record(user, kind, key, event, before.map(|before| before.value), value.clone());
        value
    }

    /// Removes an object; that is a new version, too.
    pub(super) fn remove(&mut self, user: &str, kind: KindId, key: &ObjectKey) {
        let Some(before) = self.objects.get_mut(kind).and_then(|objects| objects.remove(key)) else { return };
        self.version += 1;
        let mut last = (*before.value).clone();
        set_version(&mut last, self.version);
        self.record(user, kind, key, Event::Deleted, Some(before.value), Arc::new(last));
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
        self.changes.push(StoredChange { version, kind, key: key.clone(), event, before, after, user });
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

/// The name of a verb that writes.
fn write(verb: &Verb) -> Option<&'static str> {
    match verb {
        Verb::Get | Verb::List(_) | Verb::Watch(_) => None,
        Verb::Create { .. } => Some("create"),
        Verb::Update { .. } => Some("update"),
        Verb::Patch(Patch::Apply { .. }) => Some("apply"),
        Verb::Patch(_) => Some("patch"),
        Verb::Delete(_) => Some("delete"),
    }
}

/// The object of a request; if that creates one, it may have its name from the answer only.
fn audited_key(request: &ApiRequest, answer: Option<&Answer>) -> ObjectKey {
    let in_body = |body: &Value| body.pointer("/metadata/name").and_then(Value::as_str).map(str::to_owned);
    let sent = || match &request.verb {
        Verb::Create { body, .. } => in_body(body),
        _ => None,
    };
    let name = request.name.clone().or_else(|| answer.and_then(|answer| in_body(&answer.body))).or_else(sent);
    (request.namespace.clone().unwrap_or_default(), name.unwrap_or_default())
}

fn set_version(object: &mut Value, version: u64) {
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.insert("resourceVersion".to_owned(), json!(version.to_string()));
    }
}
