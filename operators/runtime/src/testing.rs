//! A cluster in memory, for property tests: effects act upon it, stores are fed from it, as late as a test likes.
//!
//! It knows what plans rely on: versions, generations, uids, field ownership by apply, preconditions, and background
//! garbage collection. What other controllers do (say, a Deployment's), tests do by [`World::edit`].

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::Error;
use crate::cache::{Store, View};
use crate::plan::adoption::{self, Verdict};
use crate::plan::meta::{Key, Kind, Meta, field_manager};
use crate::plan::report::{Came, report};
use crate::plan::{Apply, Create, Delete, Effect, Plan};
use crate::views::Resource;

mod events;
mod fork;
mod ownership;

use events::Events;
use ownership::{Owned, at, remove, set};

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
}

impl World {
    /// Feeds a store with what happens to its kind.
    pub fn feed<V: View>(&mut self, store: &Arc<Store<V>>) {
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
    pub fn create(&mut self, kind: Kind, key: &Key, mut value: Value) {
        self.clock += 1;
        value["metadata"]["name"] = json!(&*key.name);
        value["metadata"]["namespace"] = json!(&*key.namespace);
        value["metadata"]["uid"] = json!(format!("uid-{}", self.clock));
        value["metadata"]["generation"] = json!(1);
        self.objects.insert((kind.plural, key.clone()), Object { kind, value, owned: BTreeMap::new() });
        self.publish(kind, key);
    }

    /// Changes an object, as a user or another controller would: fields that change are no longer ours.
    pub fn edit(&mut self, kind: Kind, key: &Key, change: impl FnOnce(&mut Value)) {
        let Some(object) = self.objects.get_mut(&(kind.plural, key.clone())) else { return };
        let before = object.value.clone();
        change(&mut object.value);
        let value = &object.value;
        object.owned.values_mut().for_each(|owned| owned.retain(|path| at(&before, path) == at(value, path)));
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

    /// One pass of an operator over `object`: performs the plan, then writes status, as the real one does.
    ///
    /// # Errors
    /// What made the pass fail; `None` inside for the end of the operator's lifetime, a crash.
    pub fn pass<R: Resource>(&mut self, object: &R, plan: Plan<R::Status>) -> Result<(), Option<Error>> {
        self.pass_with(object, plan, |_, act| match act {})
    }

    /// One pass of an operator with a live system behind its objects, upon which `act` acts. Such an act is a write.
    ///
    /// # Errors
    /// As those of [`World::pass`].
    pub fn pass_with<R: Resource, X>(
        &mut self,
        object: &R,
        plan: Plan<R::Status, X>,
        mut act: impl FnMut(&mut Self, X) -> Result<(), Error>,
    ) -> Result<(), Option<Error>> {
        let acted = plan.effects.into_iter().try_for_each(|effect| {
            self.live()?;
            let meta = object.meta();
            self.events.ours = true;
            let done = match effect {
                Effect::Apply(apply) => self.apply(&R::KIND, meta, apply),
                Effect::Create(create) => self.make(&R::KIND, meta, create),
                Effect::Delete(delete) => self.delete(&delete),
                Effect::Act(x) => act(self, x),
            };
            self.events.ours = false;
            done.map_err(Some)
        });
        let (acted, beside) = match acted {
            Err(None) => return Err(None),
            Err(Some(error)) => (Err(error), Ok(())),
            Ok(()) => (Ok(()), self.aside(object, plan.aside)?),
        };
        let came = match (&acted, &beside) {
            (Err(error), _) => Came::Failed(error),
            (Ok(()), Err(error)) => Came::FailedBeside(error),
            (Ok(()), Ok(())) => Came::Done,
        };
        if let Some(status) = report(plan.status, came, object.status(), object.meta(), "ns/lease", 1, NOW) {
            self.live()?;
            self.events.ours = true;
            let written = self.write_status(R::KIND, object.meta(), &status);
            self.events.ours = false;
            written.map_err(Some)?;
        }
        acted.and(beside).map_err(Some)
    }

    /// Applies each of these; what failed first is inside.
    fn aside<R: Resource>(&mut self, object: &R, applies: Vec<Apply>) -> Result<Result<(), Error>, Option<Error>> {
        let mut first = Ok(());
        for apply in applies {
            self.live()?;
            self.events.ours = true;
            first = first.and(self.apply(&R::KIND, object.meta(), apply));
            self.events.ours = false;
        }
        Ok(first)
    }

    fn live(&mut self) -> Result<(), Option<Error>> {
        match &mut self.lifetime {
            Some(0) => return Err(None),
            Some(writes) => *writes -= 1,
            None => {}
        }
        self.writes += 1;
        Ok(())
    }

    fn write_status(&mut self, kind: Kind, meta: &Meta, status: &impl serde::Serialize) -> Result<(), Error> {
        let Some(object) = self.objects.get_mut(&(kind.plural, meta.key.clone())) else { return Ok(()) };
        if object.value["metadata"]["resourceVersion"] != *meta.version.to_string() {
            return Err(Error::transient("Conflict", "the object has been changed since"));
        }
        let before = object.value.clone();
        object.value["status"] = serde_json::to_value(status).expect("a status is JSON");
        self.changed(kind, &meta.key, &before);
        Ok(())
    }

    fn make(&mut self, kind: &Kind, owner: &Meta, create: Create) -> Result<(), Error> {
        match self.get(create.kind, &create.key).cloned() {
            Some(live) => look(&live, kind, owner),
            None => {
                let owned = ownership::of(&create.body);
                self.create(create.kind, &create.key, create.body);
                if let Some(object) = self.objects.get_mut(&(create.kind.plural, create.key)) {
                    // Its maker's, until an apply changes them.
                    object.owned.insert("create".to_owned(), owned);
                }
                Ok(())
            }
        }
    }

    fn delete(&mut self, delete: &Delete) -> Result<(), Error> {
        if delete.unless.as_ref().is_some_and(|(kind, key)| self.get(*kind, key).is_some()) {
            return Err(Error::transient("Conflict", "what must be gone is still there"));
        }
        match self.get(delete.kind, &delete.key) {
            Some(live) if live["metadata"]["uid"] != *delete.uid => Err(Error::transient("Conflict", "another object")),
            _ => {
                self.begin_removal(delete.kind, &delete.key);
                Ok(())
            }
        }
    }

    fn apply(&mut self, kind: &Kind, owner: &Meta, apply: Apply) -> Result<(), Error> {
        let live = self.get(apply.kind, &apply.key).cloned();
        match (&apply.seen, &live) {
            (Some(uid), Some(live)) if live["metadata"]["uid"] == **uid => {}
            (Some(_), _) => return Err(Error::transient("Conflict", "not the object that was seen")),
            (None, Some(live)) => look(live, kind, owner)?,
            (None, None) => self.create(apply.kind, &apply.key, json!({ "metadata": {} })),
        }
        let manager = apply.hand_over.map_or_else(|| field_manager("test"), str::to_owned);
        let object = self.objects.get_mut(&(apply.kind.plural, apply.key.clone())).expect("made above if absent");
        let before = object.value.clone();
        let new = ownership::of(&apply.body);
        let old = object.owned.remove(&manager).unwrap_or_default();
        let kept: Owned = object.owned.values().flatten().cloned().collect();
        for path in old.difference(&new).filter(|path| !kept.contains(*path)) {
            remove(&mut object.value, path);
        }
        for path in &new {
            if at(&object.value, path) != at(&apply.body, path) {
                object.owned.values_mut().for_each(|owned| {
                    owned.remove(path);
                });
            }
            set(&mut object.value, path, at(&apply.body, path).cloned().unwrap_or_default());
        }
        object.owned.insert(manager, new);
        self.changed(apply.kind, &apply.key, &before);
        Ok(())
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
        let entries = object.owned.iter().map(|(manager, owned)| {
            json!({ "manager": manager, "operation": "Apply", "fieldsV1": ownership::fields_v1(owned) })
        });
        value["metadata"]["managedFields"] = entries.collect();
        self.events.push(kind, key.clone(), Some(value));
    }
}

/// What the real apply finds out by a live look.
fn look(live: &Value, kind: &Kind, owner: &Meta) -> Result<(), Error> {
    let meta = Meta::deserialize(&live["metadata"]).expect("objects here have names");
    let labels = Option::deserialize(&live["metadata"]["labels"]).ok().flatten().unwrap_or_default();
    match adoption::judge(&meta, &labels, kind, owner) {
        Verdict::Ours => Ok(()),
        Verdict::Leaving => Err(Error::blocked("WaitingForDeletion", "leaving")),
        Verdict::Stranger => Err(Error::transient("NameTaken", "a stranger")),
    }
}
