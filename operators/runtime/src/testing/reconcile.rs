//! Reconciles: performs a plan, up to the write after which the operator crashes.

use std::collections::BTreeMap;

use api::{ObjectStatus as _, ReconcileReason};
use serde::Deserialize;
use serde_json::{Value, json};

use super::ownership::{self, Owned, PATCHED, at, remove, set};
use super::{FakeCluster, NOW};
use crate::Error;
use crate::apply::adoption::{self, AdoptionVerdict};
use crate::plan::meta::{INSTANCE, Meta, ResourceKind, argocd_no_prune_annotations, field_manager};
use crate::plan::{Apply, Create, Delete, Effect, Plan, Reported, is_independent_due};
use crate::projections::Resource;
use crate::status::outcome::{ReconcileOutcome, next_status};

mod repair;

impl FakeCluster {
    /// One reconcile of `object`: performs the plan, and then writes the status, like the real one.
    ///
    /// # Errors
    /// The failure of the reconcile; `None` inside for a crash of the operator.
    pub fn reconcile<R: Resource>(&mut self, object: &R, plan: Plan<R::Status>) -> Result<(), Option<Error>> {
        self.reconcile_with(object, plan, |_, act| match act {})
    }

    /// One reconcile of an operator with a live system, on which `act` performs acts. An act counts as a write.
    ///
    /// # Errors
    /// As those of [`FakeCluster::reconcile`].
    pub fn reconcile_with<R: Resource, X>(
        &mut self,
        object: &R,
        plan: Plan<R::Status, X>,
        mut act: impl FnMut(&mut Self, X) -> Result<(), Error>,
    ) -> Result<(), Option<Error>> {
        let reported = Reported::by(object.status().contract(), object.meta());
        let effects_result = plan.effects.into_iter().try_for_each(|effect| {
            self.count_write()?;
            let meta = object.meta();
            self.events.ours = true;
            let done = match effect {
                Effect::Apply(apply) => self.apply(&R::KIND, meta, reported, apply),
                Effect::Create(create) => self.create_child(&R::KIND, meta, create),
                Effect::Delete(delete) => self.delete_child(&delete),
                Effect::Act(x) => act(self, x),
            };
            self.events.ours = false;
            done.map_err(Some)
        });
        let effects_result = match effects_result {
            Err(None) => return Err(None),
            Err(Some(error)) => Err(error),
            Ok(()) => Ok(()),
        };
        let independent = if is_independent_due(&effects_result) {
            self.apply_independent(object, reported, plan.independent)?
        } else {
            Ok(())
        };
        let both = effects_result.as_ref().err().zip(independent.as_ref().err());
        let both = both.and_then(|(error, independent)| adoption::with_name_taken(error, independent));
        let outcome = match (&effects_result, &independent) {
            (Err(error), _) => ReconcileOutcome::Failed(both.as_ref().unwrap_or(error)),
            (Ok(()), Err(error)) => ReconcileOutcome::FailedIndependently(error),
            (Ok(()), Ok(())) => ReconcileOutcome::Done,
        };
        self.report(object, plan.status, outcome)?;
        effects_result.and(independent).map_err(Some)
    }

    /// Performs the independent applies; the first failure is inside.
    fn apply_independent<R: Resource>(
        &mut self,
        object: &R,
        reported: Reported,
        applies: Vec<Apply>,
    ) -> Result<Result<(), Error>, Option<Error>> {
        let mut first = Ok(());
        for apply in applies {
            self.count_write()?;
            self.events.ours = true;
            first = first.and(self.apply(&R::KIND, object.meta(), reported, apply));
            self.events.ours = false;
        }
        Ok(first)
    }

    /// Writes the status after a reconcile, if any.
    pub(super) fn report<R: Resource>(
        &mut self,
        object: &R,
        planned: Option<R::Status>,
        outcome: ReconcileOutcome<'_>,
    ) -> Result<(), Option<Error>> {
        let status = next_status(planned, outcome, object.status(), object.meta(), "ns/lease", 1, NOW);
        let Some(status) = status else { return Ok(()) };
        self.count_write()?;
        self.events.ours = true;
        let written = self.write_status(R::KIND, object.meta(), &status);
        self.events.ours = false;
        written.map_err(Some)
    }

    fn count_write(&mut self) -> Result<(), Option<Error>> {
        match &mut self.remaining_writes {
            Some(0) => return Err(None),
            Some(writes) => *writes -= 1,
            None => {}
        }
        self.writes += 1;
        Ok(())
    }

    fn write_status(&mut self, kind: ResourceKind, meta: &Meta, status: &impl serde::Serialize) -> Result<(), Error> {
        let Some(object) = self.objects.get_mut(&(kind.plural, meta.key.clone())) else { return Ok(()) };
        if object.value["metadata"]["resourceVersion"] != *meta.resource_version.to_string() {
            return Err(Error::transient(ReconcileReason::Conflict, "the object has been changed since"));
        }
        let before = object.value.clone();
        object.value["status"] = serde_json::to_value(status).expect("a status is JSON");
        self.changed(kind, &meta.key, &before);
        Ok(())
    }

    fn create_child(&mut self, kind: &ResourceKind, owner: &Meta, create: Create) -> Result<(), Error> {
        self.check_refusal(create.kind)?;
        match self.get(create.kind, &create.key).cloned() {
            Some(live) => check_adoption(&live, &create.kind, kind, owner),
            None => {
                check_no_prune_annotations(&create.body);
                let owned = ownership::of(&create.body);
                self.create(create.kind, &create.key, create.body);
                if let Some(object) = self.objects.get_mut(&(create.kind.plural, create.key)) {
                    // Its creator owns them until an apply changes them.
                    object.owned.insert("create".to_owned(), owned);
                }
                Ok(())
            }
        }
    }

    /// Creates a child whose creator also owns the defaults of the API server.
    fn create_applied(&mut self, apply: Apply) {
        check_no_prune_annotations(&apply.body);
        let mut body = apply.body;
        drop(body.as_object_mut().map(|body| (body.remove("apiVersion"), body.remove("kind"))));
        fill_in(apply.kind, &mut body);
        let manager = format!("{PATCHED}{}", field_manager("test"));
        let owned = BTreeMap::from([(manager, ownership::of(&body))]);
        self.insert(apply.kind, &apply.key, body, owned);
    }

    fn delete_child(&mut self, delete: &Delete) -> Result<(), Error> {
        if delete.only_if_absent.as_ref().is_some_and(|(kind, key)| self.get(*kind, key).is_some()) {
            return Err(Error::transient(ReconcileReason::Conflict, "an object that must not exist still exists"));
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
                self.delete(delete.kind, &delete.key);
                Ok(())
            }
        }
    }

    fn apply(&mut self, kind: &ResourceKind, owner: &Meta, reported: Reported, mut apply: Apply) -> Result<(), Error> {
        self.check_refusal(apply.kind)?;
        let live = self.get(apply.kind, &apply.key).cloned();
        match (&apply.seen, &live) {
            (Some(uid), Some(live)) if live["metadata"]["uid"] == **uid => {}
            (Some(_), _) => return Err(Error::transient(ReconcileReason::Conflict, "not the observed object")),
            (None, Some(live)) => check_adoption(live, &apply.kind, kind, owner)?,
            (None, None) if apply.creates => {
                self.create_applied(apply);
                return Ok(());
            }
            (None, None) => {
                check_no_prune_annotations(&apply.body);
                self.create(apply.kind, &apply.key, json!({ "metadata": {} }));
            }
        }
        if apply.seen.is_none() && apply.creates {
            apply.migrates_ownership = true;
        }
        let manager = apply.manager_prefix.map_or_else(|| field_manager("test"), str::to_owned);
        if apply.repairs {
            match self.repair(&apply) {
                Some(false) => return Ok(()),
                Some(true) => apply.migrates_ownership = true,
                None => {}
            }
        }
        if self.restore(&apply) {
            return Ok(());
        }
        if apply.migrates_ownership {
            self.migrate_ownership(&apply, reported);
        }
        let object = self.objects.get_mut(&(apply.kind.plural, apply.key.clone())).expect("created above if absent");
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

/// Checks that Argo CD does not prune a child without an owner.
fn check_no_prune_annotations(body: &Value) {
    let metadata = &body["metadata"];
    if !metadata["labels"][INSTANCE].is_null() && metadata["ownerReferences"].is_null() {
        for (key, value) in argocd_no_prune_annotations() {
            assert_eq!(metadata["annotations"][&key], *value, "{key} of {metadata}");
        }
    }
}

/// Fills in some defaults.
fn fill_in(kind: ResourceKind, body: &mut Value) {
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

/// What the real writer checks with a live read.
fn check_adoption(live: &Value, child: &ResourceKind, kind: &ResourceKind, owner: &Meta) -> Result<(), Error> {
    let meta = Meta::deserialize(&live["metadata"]).expect("objects here have names");
    let labels = Option::deserialize(&live["metadata"]["labels"]).ok().flatten().unwrap_or_default();
    match adoption::judge(&meta, &labels, kind, owner) {
        AdoptionVerdict::Owned => Ok(()),
        AdoptionVerdict::Terminating => Err(Error::blocked(ReconcileReason::WaitingForDeletion, "terminating")),
        AdoptionVerdict::Foreign => Err(adoption::name_taken(child.kind, &meta.key.name, kind)),
    }
}
