//! Patches for what an apply cannot do: remove what others have added to a child, and restore what they have changed.

use api::ReconcileReason;
use serde::Deserialize;
use serde_json::Value;

use super::request;
use super::writer::{ObjectWriter, WriteResponse};
use crate::Error;
use crate::apply::drift::repair;
use crate::plan::meta::Meta;
use crate::plan::{Apply, Reported};
use crate::workqueue::ResourceVersion;

/// The result of a repair.
pub(super) enum Repaired {
    /// There is nothing to remove any more.
    Nothing,
    /// The child is as rendered, except for owned fields that are no longer sent.
    InPart,
    /// The child is as rendered.
    Whole,
}

impl ObjectWriter {
    /// Reads a child, and makes it as rendered with one patch.
    pub(super) async fn repair(&self, owner: &Meta, apply: &Apply) -> Result<Repaired, Error> {
        let (path, live) = self.live(apply).await?;
        let meta = WriteResponse::deserialize(&live).map_err(unreadable)?.metadata;
        if apply.seen.as_ref() != Some(&meta.uid) {
            return Err(Error::transient(
                ReconcileReason::Conflict,
                format!("{} {} was recreated since it was observed", apply.kind.kind, apply.key),
            ));
        }
        let Some(repair) = repair::of(&apply.kind, &live, &apply.body).map_err(unreadable)? else {
            return Ok(Repaired::Nothing);
        };
        let version = self.patch(apply, &path, &repair.patch).await?;
        self.queue.repaired(&owner.key, apply.kind, &apply.key);
        self.wrote(&owner.key, apply.kind, &apply.key, ResourceVersion::Exact(version));
        tracing::info!(child = %apply.key, kind = apply.kind.kind, "removed what others had added");
        Ok(if repair.leaves { Repaired::InPart } else { Repaired::Whole })
    }

    /// Restores what others have changed or removed with a patch, which costs the API server less than an apply. Returns false if
    /// an apply is needed.
    pub(super) async fn restore(&self, owner: &Meta, apply: &Apply) -> Result<bool, Error> {
        let Some(restore) = apply.restore_patch() else { return Ok(false) };
        self.check_fence()?;
        let request = request::json_patch_as(&self.manager, &apply.kind.path_of(&apply.key), &restore.patch)?;
        let version = match self.client.request::<WriteResponse>(request).await {
            Ok(answer) => answer.metadata.resource_version,
            // What the patch tests has changed since (422), the child changes faster than the API server retries (409), or its
            // value has become too large for the test (413). An apply needs no test.
            Err(kube::Error::Api(status)) if matches!(status.code, 409 | 413 | 422) => return Ok(false),
            Err(error) => return Err(request_error(apply, error)),
        };
        // The API server or a webhook normalizes what differs, so the next patch would change nothing either. An apply takes the
        // ownership of the field, and its result is learned. (If there was another write in between, the next reconcile observes
        // it.)
        if restore.version == *version.to_string() {
            return Ok(false);
        }
        self.queue.repaired(&owner.key, apply.kind, &apply.key);
        self.wrote(&owner.key, apply.kind, &apply.key, ResourceVersion::Exact(version));
        // The event of an own write queues nothing, and only the child shows whether an apply has to follow.
        self.queue.add(&owner.key);
        tracing::debug!(child = %apply.key, kind = apply.kind.kind, "restored");
        Ok(true)
    }

    /// Migrates the ownership of fields from patches to applies, if the apply that follows does not send all of them.
    pub(super) async fn migrate_ownership(&self, owner: &Meta, apply: &Apply, reported: Reported) -> Result<(), Error> {
        let (path, live) = self.live(apply).await?;
        if let Some(patch) =
            repair::ownership_migration(&apply.kind, &live, &apply.body, reported).map_err(unreadable)?
        {
            let version = self.patch(apply, &path, &patch).await?;
            self.wrote(&owner.key, apply.kind, &apply.key, ResourceVersion::Exact(version));
        }
        Ok(())
    }

    /// Reads the complete child. Returns its path, too.
    async fn live(&self, apply: &Apply) -> Result<(String, Value), Error> {
        let path = apply.kind.path_of(&apply.key);
        let live = self.client.request(request::get(&path)?).await.map_err(|error| request_error(apply, error))?;
        Ok((path, live))
    }

    async fn patch(&self, apply: &Apply, path: &str, patch: &Value) -> Result<u64, Error> {
        self.check_fence()?;
        let request = request::merge_as(&self.manager, path, patch)?;
        let answer: WriteResponse = self.client.request(request).await.map_err(|error| request_error(apply, error))?;
        Ok(answer.metadata.resource_version)
    }
}

/// The failure of a request for a child that the plan observed. A deletion in between needs no attention: the watch reports it,
/// and the child is recreated.
fn request_error(apply: &Apply, error: kube::Error) -> Error {
    match error {
        kube::Error::Api(status) if status.code == 404 => Error::transient(
            ReconcileReason::Conflict,
            format!("{} {} was deleted since it was observed", apply.kind.kind, apply.key),
        ),
        error => error.into(),
    }
}

fn unreadable(error: serde_json::Error) -> Error {
    Error::transient(ReconcileReason::APIServerError, error.to_string())
}
