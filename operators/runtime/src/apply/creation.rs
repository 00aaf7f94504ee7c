//! Creates children. Another object may have the name, and the owner may be terminating.

use api::ReconcileReason;
use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use super::request;
use super::writer::{ObjectWriter, WriteResponse};
use crate::Error;
use crate::apply::adoption::{self, AdoptionVerdict};
use crate::apply::drift::Rendered;
use crate::plan::meta::{Key, Meta, ResourceKind};
use crate::plan::{Apply, Create, Reported};
use crate::workqueue::ResourceVersion;

/// Whether the garbage collector deletes a child together with its owner.
pub(super) fn is_collected_with(child: &Value, owner: &Meta) -> bool {
    let owners = child["metadata"]["ownerReferences"].as_array();
    owners.is_some_and(|owners| owners.iter().any(|reference| reference["uid"] == *owner.uid))
}

/// Whether the API server rejected a creation because an object has that name.
fn is_taken(error: &kube::Error) -> bool {
    matches!(error, kube::Error::Api(status) if status.code == 409 && status.reason == "AlreadyExists")
}

impl ObjectWriter {
    /// Creates a child that the cache does not hold. Returns false if another object has its name.
    ///
    /// A child that vanished may have done so because its owner is being deleted. The watch usually reports the owner first, and
    /// the garbage collector deletes what is created for a deleted owner. So the owner is read only if the same child vanishes
    /// again.
    pub(super) async fn create_absent(
        &self,
        kind: &ResourceKind,
        owner: &Meta,
        reported: Reported,
        child: &Apply,
    ) -> Result<bool, Error> {
        if reported.had_children()
            && is_collected_with(&child.body, owner)
            && self.queue.has_just_created_child(&owner.key)
        {
            self.check_owner(kind, owner).await?;
        }
        self.check_fence()?;
        let request = request::create_as(&self.manager, &child.kind.path(&child.key.namespace), &child.body)?;
        let bytes = request.body().len();
        let version = match self.client.request::<WriteResponse>(request).await {
            Ok(answer) => answer.metadata.resource_version,
            Err(error) if is_taken(&error) => return Ok(false),
            Err(error) => return Err(Error::from(error).about(child.kind.kind, &child.key.name, bytes)),
        };
        if let Some(store) = self.stores.get(&child.kind) {
            store.applied(&child.key, Rendered::of(&child.kind, &child.body), version);
        }
        if reported.had_children() {
            self.queue.created_child(&owner.key);
        }
        self.queue.wrote_child(&owner.key, child.kind, &child.key);
        self.wrote(&owner.key, child.kind, &child.key, ResourceVersion::Exact(version));
        tracing::debug!(child = %child.key, kind = child.kind.kind, "created");
        Ok(true)
    }

    pub(super) async fn create(
        &self,
        kind: &ResourceKind,
        owner: &Meta,
        reported: Reported,
        create: Create,
    ) -> Result<(), Error> {
        if reported.had_children() && is_collected_with(&create.body, owner) {
            self.check_owner(kind, owner).await?;
        }
        self.check_fence()?;
        let path = create.kind.path(&create.key.namespace);
        match self.client.request::<WriteResponse>(request::create_request(&path, &create.body)?).await {
            Ok(answer) => self.wrote(
                &owner.key,
                create.kind,
                &create.key,
                ResourceVersion::Exact(answer.metadata.resource_version),
            ),
            // If the child is ours, the cache does not hold it yet, usually for milliseconds. But if a user has removed the label
            // by which it is watched, the cache never will: so retries back off.
            Err(error) if is_taken(&error) => {
                drop(self.check_adoption(kind, owner, create.kind, &create.key).await?);
                let (kind, name) = (create.kind.kind, &create.key.name);
                let why = format!("{kind} {name} exists already: waiting for its watch to report it");
                return Err(Error::transient(ReconcileReason::Conflict, why));
            }
            Err(error) => return Err(error.into()),
        }
        self.queue.wrote_child(&owner.key, create.kind, &create.key);
        tracing::debug!(child = %create.key, kind = create.kind.kind, "created");
        Ok(())
    }

    /// Reads a child that the cache does not hold before its first apply. Returns its uid if the child exists.
    pub(super) async fn check_adoption(
        &self,
        kind: &ResourceKind,
        owner: &Meta,
        child: ResourceKind,
        key: &Key,
    ) -> Result<Option<Box<str>>, Error> {
        #[derive(Deserialize)]
        struct Labels {
            #[serde(default)]
            labels: BTreeMap<String, String>,
        }
        let Some(found) = self.metadata::<Value>(&child, key).await? else { return Ok(None) };
        let unreadable =
            |error: serde_json::Error| Error::transient(ReconcileReason::APIServerError, error.to_string());
        let live = Meta::deserialize(&found).map_err(unreadable)?;
        let labels = Labels::deserialize(&found).map_err(unreadable)?.labels;
        let (child, name) = (child.kind, &key.name);
        match adoption::judge(&live, &labels, kind, owner) {
            AdoptionVerdict::Owned => Ok(Some(live.uid)),
            AdoptionVerdict::Terminating => Err(Error::blocked(
                ReconcileReason::WaitingForDeletion,
                format!("waiting for the earlier {child} {name} to be deleted"),
            )),
            AdoptionVerdict::Foreign => Err(adoption::name_taken(child, name, kind)),
        }
    }

    /// Reads the owner before a child that it has lost is recreated or adopted. If the owner is being deleted as well, the
    /// garbage collector would delete the new child, again and again, until the watch reports the owner; and it would delete
    /// orphans that a user wanted to keep, once they were adopted.
    pub(super) async fn check_owner(&self, kind: &ResourceKind, owner: &Meta) -> Result<(), Error> {
        let live: Option<Meta> = self.metadata(kind, &owner.key).await?;
        // An operator that works until its finalizer is removed creates children deliberately.
        let is_terminating = |live: Meta| live.deleting && !owner.deleting || live.uid != owner.uid;
        if live.is_none_or(is_terminating) {
            return Err(Error::blocked(ReconcileReason::OwnerLeaving, format!("this {} is being deleted", kind.kind)));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
