//! Pure: the next step of a deletion, and what all of these steps ask.

use std::time::Duration;

use api::sample_db::{DeletionStep, SKIP_FINAL_SNAPSHOT, SampleDBReason};
use jiff::{SignedDuration, Timestamp};
use runtime::cache::Projection;
use runtime::plan::{Delete, Effect, Kind, Meta, Plan, Requeue};
use runtime::projections::Job;

use crate::database::effects::{DbAct, DbPlan};
use crate::database::observed::Observed;
use crate::operand::kinds::SampleDB;

/// The finalizer by which the API server notes a deletion in the foreground: the server goes at once.
const FOREGROUND: &str = "foregroundDeletion";

/// What comes next.
pub(super) enum DeletionAction {
    /// Something is waited for.
    Wait(DeletionStep, String),
    /// A person is waited for: the reason and what to do.
    Blocked(SampleDBReason, String),
    /// This is done.
    Take(DeletionStep, Vec<Effect<DbAct>>, String),
    /// `deletion.protection` holds it.
    Protected,
    /// Nothing is left to do.
    Release,
}

impl DeletionAction {
    pub(crate) fn take(step: DeletionStep, effect: Effect<DbAct>, message: String) -> Self {
        Self::Take(step, vec![effect], message)
    }
}

/// From when on it takes long: each look is two requests.
pub(super) const LONG: SignedDuration = SignedDuration::from_mins(2);

/// How long nothing irrevocable is done after the object has been deleted: one command that deletes it and its claims deletes
/// the object first, and once the server is stopped, nothing can read a claim that is being deleted.
pub(super) const GRACE: SignedDuration = SignedDuration::from_secs(10);

/// Whether the deletion is so young that claims may be about to be deleted as well.
pub(super) fn is_early(observed: &Observed, now: Timestamp) -> bool {
    let since = observed.db.status.deletion.started_at;
    since.is_none_or(|since| now.duration_since(since) < GRACE)
}

/// Whether the server goes at once, whatever is done here.
pub(super) fn is_in_foreground(observed: &Observed) -> bool {
    observed.db.meta.is_held_by(FOREGROUND)
}

pub(super) fn later(delay: Duration) -> DbPlan {
    Plan { next: Requeue::After(delay), ..Plan::nothing() }
}

/// The annotation that lets it go without a last snapshot.
pub(super) fn skip(db: &SampleDB) -> String {
    format!("{SKIP_FINAL_SNAPSHOT}={}", db.meta.key.name)
}

/// Whether somebody lets it go without a last snapshot.
pub(super) fn is_skipped(db: &SampleDB) -> bool {
    db.annotations.get(SKIP_FINAL_SNAPSHOT).is_some_and(|name| **name == *db.meta.key.name)
}

/// Jobs of its own that still write to the data.
pub(super) fn end_jobs(observed: &Observed) -> Option<DeletionAction> {
    let job = observed.jobs.iter().find(|job| !job.meta.deleting)?;
    let message = format!("ending the Job {}", job.meta.key.name);
    Some(DeletionAction::take(DeletionStep::WaitForBackup, gone(&job.meta, Job::KIND), message))
}

pub(super) fn gone(meta: &Meta, kind: Kind) -> Effect<DbAct> {
    Effect::Delete(Delete::of(kind, meta))
}
