//! Writes that an apply is not enough for, because of what others have added to a child.

use api::ReconcileReason;
use serde::Deserialize;
use serde_json::Value;

use super::request;
use super::writer::{Answer, Writer};
use crate::Error;
use crate::apply::drift::repair;
use crate::plan::meta::Meta;
use crate::plan::{Apply, Reported};
use crate::workqueue::At;

/// What a repair came to.
pub(super) enum Repaired {
    /// Nothing that others have added is to go any more.
    Nothing,
    /// The child is as rendered, but for what is ours and not sent any more.
    InPart,
    /// The child is as rendered.
    Whole,
}

impl Writer {
    /// Makes a child as rendered by one patch, from a live look.
    pub(super) async fn repair(&self, owner: &Meta, apply: &Apply) -> Result<Repaired, Error> {
        let (path, live) = self.live(apply).await?;
        let meta = Answer::deserialize(&live).map_err(unreadable)?.metadata;
        if apply.seen.as_ref() != Some(&meta.uid) {
            return Err(Error::transient(
                ReconcileReason::Conflict,
                format!("{} {} is another one by now", apply.kind.kind, apply.key),
            ));
        }
        let Some(repair) = repair::of(&apply.kind, &live, &apply.body).map_err(unreadable)? else {
            return Ok(Repaired::Nothing);
        };
        let version = self.patch(apply, &path, &repair.patch).await?;
        self.queue.repaired(&owner.key, apply.kind, &apply.key);
        self.wrote(&owner.key, apply.kind, &apply.key, At::Version(version));
        tracing::info!(child = %apply.key, kind = apply.kind.kind, "took away what others had added");
        Ok(if repair.leaves { Repaired::InPart } else { Repaired::Whole })
    }

    /// Puts back what others have changed or removed by a patch, which costs the API server less than an apply; false if it takes an
    /// apply.
    pub(super) async fn restore(&self, owner: &Meta, apply: &Apply) -> Result<bool, Error> {
        let Some(restore) = apply.restores() else { return Ok(false) };
        self.check_fence()?;
        let request = request::json_patch_as(&self.manager, &apply.kind.path_of(&apply.key), &restore.patch)?;
        let version = match self.client.request::<Answer>(request).await {
            Ok(answer) => answer.metadata.version,
            // What it tests has changed since (422), the child changes faster than the API server tries again (409), or what is there by now
            // is too large to be tested (413). An apply does without.
            Err(kube::Error::Api(status)) if matches!(status.code, 409 | 413 | 422) => return Ok(false),
            Err(error) => return Err(of_seen(apply, error)),
        };
        // What differs is written another way by the API server, or by a webhook, and the next patch would change nothing either. An
        // apply makes the field ours, and what comes of it is learned. (If something else has been written meanwhile, the next look
        // finds that out.)
        if restore.version == *version.to_string() {
            return Ok(false);
        }
        self.queue.repaired(&owner.key, apply.kind, &apply.key);
        self.wrote(&owner.key, apply.kind, &apply.key, At::Version(version));
        // The event of this write is no news to the queue, and only the child tells whether an apply has to follow.
        self.queue.add(&owner.key);
        tracing::debug!(child = %apply.key, kind = apply.kind.kind, "restored");
        Ok(true)
    }

    /// Makes ours by apply what is ours by a patch, where the apply that follows does not send all of that.
    pub(super) async fn gather(&self, owner: &Meta, apply: &Apply, told: Reported) -> Result<(), Error> {
        let (path, live) = self.live(apply).await?;
        if let Some(patch) = repair::gathering(&apply.kind, &live, &apply.body, told).map_err(unreadable)? {
            let version = self.patch(apply, &path, &patch).await?;
            self.wrote(&owner.key, apply.kind, &apply.key, At::Version(version));
        }
        Ok(())
    }

    /// The child as it is, whole, and its path.
    async fn live(&self, apply: &Apply) -> Result<(String, Value), Error> {
        let path = apply.kind.path_of(&apply.key);
        let live = self.client.request(request::get(&path)?).await.map_err(|error| of_seen(apply, error))?;
        Ok((path, live))
    }

    async fn patch(&self, apply: &Apply, path: &str, patch: &Value) -> Result<u64, Error> {
        self.check_fence()?;
        let request = request::merge_as(&self.manager, path, patch)?;
        let answer: Answer = self.client.request(request).await.map_err(|error| of_seen(apply, error))?;
        Ok(answer.metadata.version)
    }
}

/// The failure of a request for a child that the plan has seen. That it is gone by now is none: its watch tells, and it is made again.
fn of_seen(apply: &Apply, error: kube::Error) -> Error {
    match error {
        kube::Error::Api(status) if status.code == 404 => {
            Error::transient(ReconcileReason::Conflict, format!("{} {} is gone by now", apply.kind.kind, apply.key))
        }
        error => error.into(),
    }
}

fn unreadable(error: serde_json::Error) -> Error {
    Error::transient(ReconcileReason::APIServerError, error.to_string())
}
