//! Pure: the next step of a deletion, and what all steps share.

use std::time::Duration;

use api::sample_db::{DeletionStep, SKIP_FINAL_SNAPSHOT, SampleDBReason};
use jiff::{SignedDuration, Timestamp};
use runtime::cache::Projection;
use runtime::plan::{Delete, Effect, Meta, Plan, Requeue, ResourceKind};
use runtime::projections::Job;

use crate::database::effects::{DbAct, DbPlan};
use crate::database::observed::Observed;
use crate::operand::kinds::SampleDB;

/// The finalizer with which the API server marks a foreground deletion: the server is deleted at once.
const FOREGROUND: &str = "foregroundDeletion";

/// The next step.
pub(super) enum DeletionAction {
    /// Wait for something.
    Wait(DeletionStep, String),
    /// Wait for the user: the reason, and what to do.
    Blocked(SampleDBReason, String),
    /// Perform these effects.
    Take(DeletionStep, Vec<Effect<DbAct>>, String),
    /// `deletion.protection` holds the object.
    Protected,
    /// Nothing is left to do: remove the finalizer.
    Release,
}

impl DeletionAction {
    pub(crate) fn act(step: DeletionStep, effect: Effect<DbAct>, message: String) -> Self {
        Self::Take(step, vec![effect], message)
    }
}

/// From when on a deletion is polled less often: each reconcile costs two requests.
pub(super) const SLOW_AFTER: SignedDuration = SignedDuration::from_mins(2);

/// For how long after the deletion nothing irrevocable is done. A command that deletes the object and its PVCs deletes the object
/// first, and once the server is stopped, nothing can read a PVC that is terminating.
pub(super) const GRACE_PERIOD: SignedDuration = SignedDuration::from_secs(10);

/// Whether the deletion is so recent that PVCs may be about to be deleted as well.
pub(super) fn is_early(observed: &Observed, now: Timestamp) -> bool {
    let since = observed.db.status.deletion.started_at;
    since.is_none_or(|since| now.duration_since(since) < GRACE_PERIOD)
}

/// Whether the server is deleted at once, whatever the operator does.
pub(super) fn is_in_foreground(observed: &Observed) -> bool {
    observed.db.meta.has_finalizer(FOREGROUND)
}

pub(super) fn requeue_after(delay: Duration) -> DbPlan {
    Plan { next: Requeue::After(delay), ..Plan::nothing() }
}

/// The annotation that skips the final snapshot.
pub(super) fn skip(db: &SampleDB) -> String {
    format!("{SKIP_FINAL_SNAPSHOT}={}", db.meta.key.name)
}

/// Whether the user skips the final snapshot.
pub(super) fn is_skipped(db: &SampleDB) -> bool {
    db.annotations.get(SKIP_FINAL_SNAPSHOT).is_some_and(|name| **name == *db.meta.key.name)
}

/// Deletes Jobs that still write to the data.
pub(super) fn end_jobs(observed: &Observed) -> Option<DeletionAction> {
    let job = observed.jobs.iter().find(|job| !job.meta.deleting)?;
    let message = format!("deleting the Job {}", job.meta.key.name);
    Some(DeletionAction::act(DeletionStep::WaitForBackup, delete(&job.meta, Job::KIND), message))
}

pub(super) fn delete(meta: &Meta, kind: ResourceKind) -> Effect<DbAct> {
    Effect::Delete(Delete::of(kind, meta))
}
