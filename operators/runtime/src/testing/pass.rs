//! Passes over a world: what a plan says is done, up to the write after which the manager dies.

use std::collections::BTreeMap;

use api::{ReconcileReason, Status as _};
use serde::Deserialize;
use serde_json::{Value, json};

use super::ownership::{self, Owned, PATCHED, at, remove, set};
use super::{NOW, World};
use crate::Error;
use crate::apply::adoption::{self, Verdict};
use crate::plan::meta::{INSTANCE, Kind, Meta, field_manager, not_for_pruning};
use crate::plan::{Apply, Create, Delete, Effect, Plan, Reported, is_independent_due};
use crate::projections::Resource;
use crate::status::outcome::{ReconcileOutcome, next_status};

mod repair;

impl World {
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
        let told = Reported::by(object.status().contract(), object.meta());
        let acted = plan.effects.into_iter().try_for_each(|effect| {
            self.live()?;
            let meta = object.meta();
            self.events.ours = true;
            let done = match effect {
                Effect::Apply(apply) => self.apply(&R::KIND, meta, told, apply),
                Effect::Create(create) => self.make(&R::KIND, meta, create),
                Effect::Delete(delete) => self.delete(&delete),
                Effect::Act(x) => act(self, x),
            };
            self.events.ours = false;
            done.map_err(Some)
        });
        let acted = match acted {
            Err(None) => return Err(None),
            Err(Some(error)) => Err(error),
            Ok(()) => Ok(()),
        };
        let beside =
            if is_independent_due(&acted) { self.apply_independent(object, told, plan.independent)? } else { Ok(()) };
        let both = acted.as_ref().err().zip(beside.as_ref().err());
        let both = both.and_then(|(error, beside)| adoption::with_taken(error, beside));
        let came = match (&acted, &beside) {
            (Err(error), _) => ReconcileOutcome::Failed(both.as_ref().unwrap_or(error)),
            (Ok(()), Err(error)) => ReconcileOutcome::FailedIndependently(error),
            (Ok(()), Ok(())) => ReconcileOutcome::Done,
        };
        self.report(object, plan.status, came)?;
        acted.and(beside).map_err(Some)
    }

    /// Applies each of these; what failed first is inside.
    fn apply_independent<R: Resource>(
        &mut self,
        object: &R,
        told: Reported,
        applies: Vec<Apply>,
    ) -> Result<Result<(), Error>, Option<Error>> {
        let mut first = Ok(());
        for apply in applies {
            self.live()?;
            self.events.ours = true;
            first = first.and(self.apply(&R::KIND, object.meta(), told, apply));
            self.events.ours = false;
        }
        Ok(first)
    }

    /// Writes the status that a pass comes to, if any.
    pub(super) fn report<R: Resource>(
        &mut self,
        object: &R,
        planned: Option<R::Status>,
        came: ReconcileOutcome<'_>,
    ) -> Result<(), Option<Error>> {
        let status = next_status(planned, came, object.status(), object.meta(), "ns/lease", 1, NOW);
        let Some(status) = status else { return Ok(()) };
        self.live()?;
        self.events.ours = true;
        let written = self.write_status(R::KIND, object.meta(), &status);
        self.events.ours = false;
        written.map_err(Some)
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
            return Err(Error::transient(ReconcileReason::Conflict, "the object has been changed since"));
        }
        let before = object.value.clone();
        object.value["status"] = serde_json::to_value(status).expect("a status is JSON");
        self.changed(kind, &meta.key, &before);
        Ok(())
    }

    fn make(&mut self, kind: &Kind, owner: &Meta, create: Create) -> Result<(), Error> {
        self.taken(create.kind)?;
        match self.get(create.kind, &create.key).cloned() {
            Some(live) => look(&live, &create.kind, kind, owner),
            None => {
                judge_made(&create.body);
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

    /// Creates a child, whose maker owns what the API server fills in, too.
    fn make_child(&mut self, apply: Apply) {
        judge_made(&apply.body);
        let mut body = apply.body;
        drop(body.as_object_mut().map(|body| (body.remove("apiVersion"), body.remove("kind"))));
        fill_in(apply.kind, &mut body);
        let manager = format!("{PATCHED}{}", field_manager("test"));
        let owned = BTreeMap::from([(manager, ownership::of(&body))]);
        self.insert(apply.kind, &apply.key, body, owned);
    }

    fn delete(&mut self, delete: &Delete) -> Result<(), Error> {
        if delete.unless.as_ref().is_some_and(|(kind, key)| self.get(*kind, key).is_some()) {
            return Err(Error::transient(ReconcileReason::Conflict, "what must be gone is still there"));
        }
        let other = |live: &Value| {
            let version = live["metadata"]["resourceVersion"].as_str().and_then(|version| version.parse::<u64>().ok());
            delete.version.is_some_and(|seen| version != Some(seen))
        };
        match self.get(delete.kind, &delete.key) {
            Some(live) if live["metadata"]["uid"] != *delete.uid => {
                Err(Error::transient(ReconcileReason::Conflict, "another object"))
            }
            Some(live) if other(live) => {
                Err(Error::transient(ReconcileReason::Conflict, "the object has been changed since"))
            }
            _ => {
                self.begin_removal(delete.kind, &delete.key);
                Ok(())
            }
        }
    }

    fn apply(&mut self, kind: &Kind, owner: &Meta, told: Reported, mut apply: Apply) -> Result<(), Error> {
        self.taken(apply.kind)?;
        let live = self.get(apply.kind, &apply.key).cloned();
        match (&apply.seen, &live) {
            (Some(uid), Some(live)) if live["metadata"]["uid"] == **uid => {}
            (Some(_), _) => return Err(Error::transient(ReconcileReason::Conflict, "not the object that was seen")),
            (None, Some(live)) => look(live, &apply.kind, kind, owner)?,
            (None, None) if apply.creates => {
                self.make_child(apply);
                return Ok(());
            }
            (None, None) => {
                judge_made(&apply.body);
                self.create(apply.kind, &apply.key, json!({ "metadata": {} }));
            }
        }
        if apply.seen.is_none() && apply.creates {
            apply.gathers = true;
        }
        let manager = apply.hand_over.map_or_else(|| field_manager("test"), str::to_owned);
        if apply.repairs {
            match self.repair(&apply) {
                Some(false) => return Ok(()),
                Some(true) => apply.gathers = true,
                None => {}
            }
        }
        if self.restore(&apply) {
            return Ok(());
        }
        if apply.gathers {
            self.gather(&apply, told);
        }
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
        if old != new || object.value != before {
            object.applied.insert(manager.clone(), self.now);
        }
        object.owned.insert(manager, new);
        fill_in(apply.kind, &mut object.value);
        self.changed(apply.kind, &apply.key, &before);
        Ok(())
    }
}

/// A child without an owner must say that it is nobody's leftover.
fn judge_made(body: &Value) {
    let metadata = &body["metadata"];
    if !metadata["labels"][INSTANCE].is_null() && metadata["ownerReferences"].is_null() {
        for (key, value) in not_for_pruning() {
            assert_eq!(metadata["annotations"][&key], *value, "{key} of {metadata}");
        }
    }
}

/// Some of the defaults.
fn fill_in(kind: Kind, body: &mut Value) {
    let defaults = match kind.plural {
        "deployments" => json!({ "replicas": 1, "revisionHistoryLimit": 10, "progressDeadlineSeconds": 600 }),
        "services" => json!({ "type": "ClusterIP", "sessionAffinity": "None" }),
        _ => return,
    };
    for (name, value) in defaults.as_object().into_iter().flatten() {
        if body["spec"][name].is_null() {
            body["spec"][name] = value.clone();
        }
    }
}

/// What the real apply finds out by a live look.
fn look(live: &Value, child: &Kind, kind: &Kind, owner: &Meta) -> Result<(), Error> {
    let meta = Meta::deserialize(&live["metadata"]).expect("objects here have names");
    let labels = Option::deserialize(&live["metadata"]["labels"]).ok().flatten().unwrap_or_default();
    match adoption::judge(&meta, &labels, kind, owner) {
        Verdict::Ours => Ok(()),
        Verdict::Leaving => Err(Error::blocked(ReconcileReason::WaitingForDeletion, "leaving")),
        Verdict::Stranger => Err(adoption::name_taken(child.kind, &meta.key.name, kind)),
    }
}
