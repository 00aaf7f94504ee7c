//! The objects of a state with their owners, and what the garbage collector does about them.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::super::client::Target;
use super::super::object::{has_finalizer, is_deleting, items, list_or_null, name, namespace, set, text, uid};
use super::super::ownership::without_owners;
use crate::api_server::kinds::{KindId, Kinds};
use crate::api_server::request::{DeleteOptions, Propagation};
use crate::api_server::state::StoredState;

/// The finalizer of an object that is deleted after its dependents.
pub(super) const FOREGROUND: &str = "foregroundDeletion";

/// The finalizer of an object whose dependents stay.
pub(super) const ORPHAN: &str = "orphan";

/// Requests of which each depends on the success of the ones before.
#[derive(Debug, Default)]
pub(super) struct Action {
    pub(super) changes: Vec<GraphChange>,
}

/// One request.
#[derive(Debug)]
pub(super) enum GraphChange {
    Patch(Target, Value),
    Delete(Target, DeleteOptions),
}

/// All objects.
pub(super) struct Graph<'a> {
    kinds: &'a Kinds,
    by_uid: BTreeMap<&'a str, Object<'a>>,
    /// The dependents of each uid.
    dependents: BTreeMap<&'a str, Vec<Object<'a>>>,
}

#[derive(Clone, Copy)]
struct Object<'a> {
    kind: KindId,
    value: &'a Value,
}

/// The state of an owner.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Owner {
    /// It exists.
    Solid,
    /// It exists until its dependents are gone.
    Waiting,
    /// It does not exist.
    Absent,
    /// Its kind is not served, so nothing is known.
    Unknown,
}

impl<'a> Graph<'a> {
    /// The objects of that state.
    pub(super) fn of(state: &'a StoredState) -> Self {
        let ids = (0..).map_while(|kind| state.kinds().get(kind).map(|_| kind));
        let objects = ids.flat_map(|kind| state.all(kind).map(move |(_, value)| Object { kind, value }));
        let mut graph = Self { kinds: state.kinds(), by_uid: BTreeMap::new(), dependents: BTreeMap::new() };
        for object in objects {
            graph.by_uid.insert(uid(object.value), object);
            for owner in owners(object.value) {
                graph.dependents.entry(text(&owner["uid"])).or_default().push(object);
            }
        }
        graph
    }

    /// What is to be done.
    pub(super) fn actions(&self) -> Vec<Action> {
        self.by_uid.values().filter_map(|object| self.action(*object)).collect()
    }

    fn action(&self, object: Object<'a>) -> Option<Action> {
        let value = object.value;
        if is_deleting(value) && has_finalizer(value, ORPHAN) {
            return Some(self.orphan(object));
        }
        if is_waiting(value) {
            let blocks = |dependent: &Object<'_>| {
                owners(dependent.value)
                    .iter()
                    .any(|owner| owner["uid"] == uid(value) && owner["blockOwnerDeletion"] == true)
            };
            let is_blocked = self.dependents_of(value).iter().any(blocks);
            return (!is_blocked).then(|| object.patch(without_finalizer(value, FOREGROUND)).into());
        }
        if is_deleting(value) || owners(value).is_empty() { None } else { self.collect(object) }
    }

    /// Removes the owner from its dependents, then its finalizer.
    fn orphan(&self, owner: Object<'a>) -> Action {
        let of = uid(owner.value);
        let dependents = self.dependents_of(owner.value).iter();
        let mut changes: Vec<_> = dependents.map(|one| one.patch(without_owners(one.value, &[of]))).collect();
        changes.push(owner.patch(without_finalizer(owner.value, ORPHAN)));
        Action { changes }
    }

    /// Deletes an object without an owner that stays, and removes the owners that do not from one that has another.
    fn collect(&self, object: Object<'a>) -> Option<Action> {
        let value = object.value;
        let states: Vec<(&str, Owner)> =
            owners(value).iter().map(|owner| (text(&owner["uid"]), self.owner(object, owner))).collect();
        let any = |of: Owner| states.iter().any(|(_, state)| *state == of);
        if any(Owner::Unknown) {
            return None;
        }
        if any(Owner::Solid) {
            let gone: Vec<&str> =
                states.iter().filter(|(_, state)| *state != Owner::Solid).map(|(uid, _)| *uid).collect();
            return (!gone.is_empty()).then(|| object.patch(without_owners(value, &gone)).into());
        }
        let dependents = self.dependents_of(value);
        if !any(Owner::Waiting) || dependents.is_empty() {
            return Some(object.delete(by_finalizers(value)).into());
        }
        // Objects that own each other would wait for each other for ever.
        let is_circle = dependents.iter().any(|dependent| is_waiting(dependent.value));
        let unblock = is_circle.then(|| unblocked(value)).flatten().map(|patch| object.patch(patch));
        // The patch makes another version of it, so it is deleted in the next step.
        Some(unblock.unwrap_or_else(|| object.delete(Propagation::Foreground)).into())
    }

    fn owner(&self, of: Object<'_>, reference: &Value) -> Owner {
        let Some(kind) = self.kinds.of(text(&reference["apiVersion"]), text(&reference["kind"])) else {
            return Owner::Unknown;
        };
        let is_namespaced = self.kinds.get(kind).is_some_and(|kind| kind.namespaced);
        if is_namespaced && namespace(of.value).is_empty() {
            // An object without a namespace cannot have such an owner, and is never collected.
            return Owner::Unknown;
        }
        let is_named = |owner: &&Object<'_>| {
            let is_near = !is_namespaced || namespace(owner.value) == namespace(of.value);
            owner.kind == kind && reference["name"] == name(owner.value) && is_near
        };
        match self.by_uid.get(text(&reference["uid"])).filter(is_named) {
            Some(owner) if is_waiting(owner.value) => Owner::Waiting,
            Some(_) => Owner::Solid,
            None => Owner::Absent,
        }
    }

    fn dependents_of(&self, owner: &Value) -> &[Object<'a>] {
        self.dependents.get(uid(owner)).map_or(&[], Vec::as_slice)
    }
}

impl Object<'_> {
    fn patch(&self, patch: Value) -> GraphChange {
        GraphChange::Patch(Target::of(self.kind, self.value), patch)
    }

    fn delete(&self, propagation: Propagation) -> GraphChange {
        GraphChange::Delete(Target::of(self.kind, self.value), exactly(self.value, propagation))
    }
}

impl From<GraphChange> for Action {
    fn from(change: GraphChange) -> Self {
        Self { changes: vec![change] }
    }
}

fn owners(object: &Value) -> &[Value] {
    items(&object["metadata"]["ownerReferences"])
}

/// Whether the object is being deleted after its dependents.
fn is_waiting(object: &Value) -> bool {
    is_deleting(object) && has_finalizer(object, FOREGROUND)
}

/// An object keeps the propagation that its finalizers ask for.
fn by_finalizers(object: &Value) -> Propagation {
    if has_finalizer(object, ORPHAN) {
        Propagation::Orphan
    } else if has_finalizer(object, FOREGROUND) {
        Propagation::Foreground
    } else {
        Propagation::Background
    }
}

/// The patch after which an object blocks the deletion of none of its owners; none if it blocks none.
fn unblocked(object: &Value) -> Option<Value> {
    let blocks = |owner: &Value| owner["blockOwnerDeletion"] == true;
    if !owners(object).iter().any(blocks) {
        return None;
    }
    let mut unblocked = owners(object).to_vec();
    for owner in &mut unblocked {
        set(owner, &["blockOwnerDeletion"], json!(false));
    }
    Some(json!({ "metadata": { "uid": uid(object), "ownerReferences": unblocked } }))
}

/// The patch that removes a finalizer from an object of that version.
fn without_finalizer(object: &Value, finalizer: &str) -> Value {
    let metadata = &object["metadata"];
    let others = items(&metadata["finalizers"]).iter().filter(|one| **one != finalizer).cloned().collect();
    let finalizers = list_or_null(others);
    let (uid, version) = (&metadata["uid"], &metadata["resourceVersion"]);
    json!({ "metadata": { "uid": uid, "resourceVersion": version, "finalizers": finalizers } })
}

/// The deletion of exactly this version of an object.
fn exactly(object: &Value, propagation: Propagation) -> DeleteOptions {
    let text = |field: &str| object["metadata"][field].as_str().map(ToOwned::to_owned);
    DeleteOptions { uid: text("uid"), version: text("resourceVersion"), propagation, grace: None }
}
