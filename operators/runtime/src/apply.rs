//! Performs effects: with `status`, the only module that writes to objects.

use api::ReconcileReason;
use serde::de::IgnoredAny;
use serde_json::{Value, json};

use self::creation::goes_with;
use self::repair::Repaired;
use crate::Error;
use crate::apply::drift::Rendered;
use crate::plan::meta::{Kind, Meta};
use crate::plan::{Apply, Delete, Effect, Reported};
use crate::workqueue::At;

pub mod adoption;
mod again;
mod creation;
pub mod drift;
mod failed;
mod independent;
mod repair;
mod request;
mod writer;

pub use failed::IndependentApplyError;
pub use independent::IndependentApplies;
pub(crate) use request::{create_request, merge_request};
pub use writer::Writer;

impl Writer {
    /// Performs one effect for `owner`, an object of `kind` whose status told that; `act` does what only its operator can.
    ///
    /// # Errors
    /// The failure, classed by what ends it.
    pub async fn perform<X>(
        &self,
        kind: &Kind,
        owner: &Meta,
        told: Reported,
        effect: Effect<X>,
        act: impl AsyncFnOnce(X) -> Result<(), Error>,
    ) -> Result<(), Error> {
        match effect {
            Effect::Apply(apply) => self.apply(kind, owner, told, apply).await,
            Effect::Create(create) => self.create(kind, owner, told, create).await,
            Effect::Delete(delete) => self.delete(owner, delete).await,
            Effect::Act(x) => {
                self.check_fence()?;
                act(x).await
            }
        }
    }

    async fn apply(&self, kind: &Kind, owner: &Meta, told: Reported, apply: Apply) -> Result<(), Error> {
        let child = apply.kind;
        self.apply_served(kind, owner, told, apply).await.map_err(|error| self.doubting(&child, error))
    }

    /// Has the watch look, if a child of a kind that may be missing is refused as if it were: its events of what went with the
    /// kind come before it knows why.
    fn doubting(&self, child: &Kind, error: Error) -> Error {
        let Some(store) = self.stores.get(child).filter(|store| store.may_be_missing()) else { return error };
        let error = error.of_optional(child.kind);
        if error.reason() == ReconcileReason::KindNotServed {
            store.health().doubt();
        }
        error
    }

    async fn apply_served(&self, kind: &Kind, owner: &Meta, told: Reported, mut apply: Apply) -> Result<(), Error> {
        if apply.repairs {
            match self.repair(owner, &apply).await? {
                Repaired::Whole => return Ok(()),
                Repaired::InPart => apply.gathers = true,
                Repaired::Nothing => {}
            }
        }
        let uid = match &apply.seen {
            Some(uid) => Some(uid.clone()),
            None if apply.creates && self.make(kind, owner, told, &apply).await? => return Ok(()),
            None => {
                let found = self.look(kind, owner, apply.kind, &apply.key).await?;
                if told.had_children() && goes_with(&apply.body, owner) {
                    self.look_at_owner(kind, owner).await?;
                }
                apply.gathers = apply.creates && found.is_some();
                found
            }
        };
        if self.restore(owner, &apply).await? {
            return Ok(());
        }
        if apply.gathers {
            self.gather(owner, &apply, told).await?;
        }
        let path = apply.kind.path_of(&apply.key);
        let manager = match apply.hand_over {
            Some(suffix) => format!("{suffix}/{}", self.manager),
            None => self.manager.clone(),
        };
        // What an apply beside an earlier creation leaves is not the API server's way of writing, but to be gathered.
        let heals = apply.unapplied && !apply.gathers;
        let rendered = Rendered::of(&apply.kind, &apply.body);
        let place = (apply.kind, apply.key.clone(), apply.hand_over);
        let mut body = apply.body;
        if let Some(uid) = &uid {
            // A precondition: not the object that has taken the name meanwhile.
            body["metadata"]["uid"] = json!(uid);
        }
        let store = self.stores.get(&apply.kind);
        let before = store.map_or(0, |store| store.version(&apply.key));
        // Without force a stranger made since the look shows as a conflict; of our own, edited fields are taken back.
        let answer = self.send(&path, &manager, uid.is_some(), &body).await.map_err(Error::of_child)?;
        let version = answer.metadata.version;
        if let (Some(store), None) = (store, apply.hand_over) {
            if !heals || version == before {
                store.applied(&apply.key, rendered, version);
            }
            if version == before {
                // Nothing changed, so no event will come; but what was just learned may change the plan.
                self.queue.add(&owner.key);
            }
        }
        let is_again = self.last.was(&owner.key, place, rendered.whole) && uid.is_some();
        if version != before && (heals || is_again) {
            self.queue.repaired(&owner.key, apply.kind, &apply.key);
        } else {
            self.queue.wrote_child(&owner.key, apply.kind, &apply.key);
        }
        self.wrote(&owner.key, apply.kind, &apply.key, At::Version(version));
        tracing::debug!(child = %apply.key, kind = apply.kind.kind, "applied");
        Ok(())
    }

    async fn delete(&self, owner: &Meta, delete: Delete) -> Result<(), Error> {
        if let Some((kind, key)) = &delete.unless
            && self.metadata::<IgnoredAny>(kind, key).await?.is_some()
        {
            // The cache is behind; the next pass sees what this look has seen.
            return Err(Error::transient(ReconcileReason::Conflict, format!("{} {key} is still there", kind.kind)));
        }
        let path = delete.kind.path_of(&delete.key);
        self.check_fence()?;
        match self.client.request::<Value>(request::delete(&path, &delete)?).await {
            Ok(_) => {}
            Err(kube::Error::Api(status)) if status.code == 404 => return Ok(()),
            Err(error) => return Err(error.into()),
        }
        self.queue.wrote_child(&owner.key, delete.kind, &delete.key);
        self.wrote(&owner.key, delete.kind, &delete.key, At::Gone);
        tracing::debug!(child = %delete.key, kind = delete.kind.kind, "deleted");
        Ok(())
    }
}

#[cfg(test)]
mod tests;
