//! What is made of nothing: the name may be taken, and the owner may be on its way out.

use api::ReconcileReason;
use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use super::request;
use super::writer::{Answer, Writer};
use crate::Error;
use crate::apply::adoption::{self, Verdict};
use crate::apply::drift::Rendered;
use crate::plan::meta::{Key, Kind, Meta};
use crate::plan::{Apply, Create, Reported};
use crate::workqueue::At;

/// Whether garbage collection would take a child away with its owner.
pub(super) fn goes_with(child: &Value, owner: &Meta) -> bool {
    let owners = child["metadata"]["ownerReferences"].as_array();
    owners.is_some_and(|owners| owners.iter().any(|reference| reference["uid"] == *owner.uid))
}

/// Whether a creation was refused because there is an object of that name.
fn is_taken(error: &kube::Error) -> bool {
    matches!(error, kube::Error::Api(status) if status.code == 409 && status.reason == "AlreadyExists")
}

impl Writer {
    /// Makes a child that the cache does not hold, all of it ours; false if its name is taken.
    ///
    /// That it is missing though it was there may mean that its owner is going. A watch tells of the owner first as a rule, and
    /// what is made for one that is gone is collected: so that is not asked before the first time, only before the next.
    pub(super) async fn make(&self, kind: &Kind, owner: &Meta, told: Reported, child: &Apply) -> Result<bool, Error> {
        if told.had_children() && goes_with(&child.body, owner) && self.queue.has_just_made_a_child(&owner.key) {
            self.look_at_owner(kind, owner).await?;
        }
        self.check_fence()?;
        let request = request::create_as(&self.manager, &child.kind.path(&child.key.namespace), &child.body)?;
        let bytes = request.body().len();
        let version = match self.client.request::<Answer>(request).await {
            Ok(answer) => answer.metadata.version,
            Err(error) if is_taken(&error) => return Ok(false),
            Err(error) => return Err(Error::from(error).about(child.kind.kind, &child.key.name, bytes)),
        };
        if let Some(store) = self.stores.get(&child.kind) {
            store.applied(&child.key, Rendered::of(&child.kind, &child.body), version);
        }
        if told.had_children() {
            self.queue.made_child(&owner.key);
        }
        self.queue.wrote_child(&owner.key, child.kind, &child.key);
        self.wrote(&owner.key, child.kind, &child.key, At::Version(version));
        tracing::debug!(child = %child.key, kind = child.kind.kind, "made");
        Ok(true)
    }

    pub(super) async fn create(&self, kind: &Kind, owner: &Meta, told: Reported, create: Create) -> Result<(), Error> {
        if told.had_children() && goes_with(&create.body, owner) {
            self.look_at_owner(kind, owner).await?;
        }
        self.check_fence()?;
        let path = create.kind.path(&create.key.namespace);
        match self.client.request::<Answer>(request::create_request(&path, &create.body)?).await {
            Ok(answer) => self.wrote(&owner.key, create.kind, &create.key, At::Version(answer.metadata.version)),
            // If it is ours, the cache does not show it yet: mostly a matter of milliseconds. But somebody may have taken off
            // it the label by which it is watched, and then no wait is long enough: so each try comes later than the last.
            Err(error) if is_taken(&error) => {
                drop(self.look(kind, owner, create.kind, &create.key).await?);
                let (kind, name) = (create.kind.kind, &create.key.name);
                let why = format!("{kind} {name} exists already, and its watch has yet to tell of it");
                return Err(Error::transient(ReconcileReason::Conflict, why));
            }
            Err(error) => return Err(error.into()),
        }
        self.queue.wrote_child(&owner.key, create.kind, &create.key);
        tracing::debug!(child = %create.key, kind = create.kind.kind, "created");
        Ok(())
    }

    /// One live look before the first apply of a child that the cache does not hold. Returns its uid if it exists.
    pub(super) async fn look(
        &self,
        kind: &Kind,
        owner: &Meta,
        child: Kind,
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
            Verdict::Ours => Ok(Some(live.uid)),
            Verdict::Leaving => Err(Error::blocked(
                ReconcileReason::WaitingForDeletion,
                format!("waiting until the earlier {child} {name} is gone"),
            )),
            Verdict::Stranger => Err(adoption::name_taken(child, name, kind)),
        }
    }

    /// One live look at the owner before a child that it has lost is made or adopted again. If the owner is going too,
    /// the garbage collector would take away what we make, and that as fast as both of us can, until the owner's own
    /// watch tells; and it would take away the orphans that somebody wanted to keep, once we had adopted them.
    pub(super) async fn look_at_owner(&self, kind: &Kind, owner: &Meta) -> Result<(), Error> {
        let live: Option<Meta> = self.metadata(kind, &owner.key).await?;
        // What goes on until it may go makes children knowingly.
        let leaving = |live: Meta| live.deleting && !owner.deleting || live.uid != owner.uid;
        if live.is_none_or(leaving) {
            return Err(Error::blocked(ReconcileReason::OwnerLeaving, format!("this {} is being deleted", kind.kind)));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
