//! Performs effects. Only this module and `status` write to objects.

use api::ReconcileReason;
use serde::de::IgnoredAny;
use serde_json::{Value, json};

use self::creation::is_collected_with;
use self::repair::Repaired;
use crate::Error;
use crate::apply::drift::Rendered;
use crate::plan::meta::{Meta, ResourceKind};
use crate::plan::{Apply, Delete, Effect, Reported};
use crate::workqueue::ResourceVersion;

pub mod adoption;
mod creation;
pub mod drift;
mod failed_applies;
mod independent;
mod last_applied;
mod repair;
mod request;
mod writer;

pub use failed_applies::IndependentApplyError;
pub use independent::IndependentApplies;
pub(crate) use request::{create_request, merge_request};
pub use writer::ObjectWriter;

impl ObjectWriter {
    /// Performs one effect for `owner`, an object of `kind` whose status reported that. `act` performs the acts of its operator.
    ///
    /// # Errors
    /// The failure, classified by what resolves it.
    pub async fn perform<X>(
        &self,
        kind: &ResourceKind,
        owner: &Meta,
        reported: Reported,
        effect: Effect<X>,
        act: impl AsyncFnOnce(X) -> Result<(), Error>,
    ) -> Result<(), Error> {
        match effect {
            Effect::Apply(apply) => self.apply(kind, owner, reported, apply).await,
            Effect::Create(create) => self.create(kind, owner, reported, create).await,
            Effect::Delete(delete) => self.delete(owner, delete).await,
            Effect::Act(x) => {
                self.check_fence()?;
                act(x).await
            }
        }
    }

    async fn apply(&self, kind: &ResourceKind, owner: &Meta, reported: Reported, apply: Apply) -> Result<(), Error> {
        let child = apply.kind;
        self.apply_served(kind, owner, reported, apply).await.map_err(|error| self.recheck_if_unserved(&child, error))
    }

    /// Makes the watch check whether the kind is served, if the API server rejects a child of an optional kind as if it were not:
    /// the deletions that come with the end of a kind arrive before the watch knows the reason.
    fn recheck_if_unserved(&self, child: &ResourceKind, error: Error) -> Error {
        let Some(store) = self.stores.get(child).filter(|store| store.may_be_missing()) else { return error };
        let error = error.of_optional(child.kind);
        if error.reason() == ReconcileReason::KindNotServed {
            store.health().request_recheck();
        }
        error
    }

    async fn apply_served(
        &self,
        kind: &ResourceKind,
        owner: &Meta,
        reported: Reported,
        mut apply: Apply,
    ) -> Result<(), Error> {
        if apply.repairs {
            match self.repair(owner, &apply).await? {
                Repaired::Whole => return Ok(()),
                Repaired::InPart => apply.migrates_ownership = true,
                Repaired::Nothing => {}
            }
        }
        let uid = match &apply.seen {
            Some(uid) => Some(uid.clone()),
            None if apply.creates && self.create_absent(kind, owner, reported, &apply).await? => return Ok(()),
            None => {
                let found = self.check_adoption(kind, owner, apply.kind, &apply.key).await?;
                if reported.had_children() && is_collected_with(&apply.body, owner) {
                    self.check_owner(kind, owner).await?;
                }
                apply.migrates_ownership = apply.creates && found.is_some();
                found
            }
        };
        if self.restore(owner, &apply).await? {
            return Ok(());
        }
        if apply.migrates_ownership {
            self.migrate_ownership(owner, &apply, reported).await?;
        }
        let path = apply.kind.path_of(&apply.key);
        let manager = match apply.manager_prefix {
            Some(prefix) => format!("{prefix}/{}", self.manager),
            None => self.manager.clone(),
        };
        // What differs after an apply next to an earlier creation is no normalization by the API server: its ownership has to be
        // migrated, so it is not learned.
        let repairs = apply.unapplied && !apply.migrates_ownership;
        let rendered = Rendered::of(&apply.kind, &apply.body);
        let place = (apply.kind, apply.key.clone(), apply.manager_prefix);
        let mut body = apply.body;
        if let Some(uid) = &uid {
            // A precondition: the write fails if another object has taken the name in the meantime.
            body["metadata"]["uid"] = json!(uid);
        }
        let store = self.stores.get(&apply.kind);
        let before = store.map_or(0, |store| store.version(&apply.key));
        // Without force, an object that was created since the live read causes a conflict. With force, edited fields of our own
        // child are taken back.
        let answer = self.send(&path, &manager, uid.is_some(), &body).await.map_err(Error::of_child)?;
        let version = answer.metadata.resource_version;
        if let (Some(store), None) = (store, apply.manager_prefix) {
            if !repairs || version == before {
                store.applied(&apply.key, rendered, version);
            }
            if version == before {
                // Nothing changed, so no event follows; but what was just learned may change the plan.
                self.queue.add(&owner.key);
            }
        }
        let is_repeated = self.last.replace(&owner.key, place, rendered.all) && uid.is_some();
        if version != before && (repairs || is_repeated) {
            self.queue.repaired(&owner.key, apply.kind, &apply.key);
        } else {
            self.queue.wrote_child(&owner.key, apply.kind, &apply.key);
        }
        self.wrote(&owner.key, apply.kind, &apply.key, ResourceVersion::Exact(version));
        tracing::debug!(child = %apply.key, kind = apply.kind.kind, "applied");
        Ok(())
    }

    async fn delete(&self, owner: &Meta, delete: Delete) -> Result<(), Error> {
        if let Some((kind, key)) = &delete.only_if_absent
            && self.metadata::<IgnoredAny>(kind, key).await?.is_some()
        {
            // The cache is behind; the next reconcile observes what this live read found.
            return Err(Error::transient(
                ReconcileReason::Conflict,
                format!("deletion of {} {} delayed: {} {key} still exists", delete.kind.kind, delete.key, kind.kind),
            ));
        }
        let path = delete.kind.path_of(&delete.key);
        self.check_fence()?;
        match self.client.request::<Value>(request::delete(&path, &delete)?).await {
            Ok(_) => {}
            Err(kube::Error::Api(status)) if status.code == 404 => return Ok(()),
            Err(error) => return Err(error.into()),
        }
        self.queue.wrote_child(&owner.key, delete.kind, &delete.key);
        self.wrote(&owner.key, delete.kind, &delete.key, ResourceVersion::Deleted);
        tracing::debug!(child = %delete.key, kind = delete.kind.kind, "deleted");
        Ok(())
    }
}

#[cfg(test)]
mod tests;
