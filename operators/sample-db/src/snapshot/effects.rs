//! Pure: what a plan for a SampleDBSnapshot consists of.

use std::time::Duration;

use api::sample_db_snapshot::SampleDBSnapshotStatus;
use jiff::Timestamp;
use runtime::cache::Projection;
use runtime::job::JobResult;
use runtime::plan::{Delete, Effect, Plan, Requeue};
use runtime::projections::Job;

use super::observed::Observed;
use super::status;
use runtime::job::outcome::AgentOutcome;

/// After an own write, whose event triggers no reconcile.
pub(crate) const REQUEUE_AFTER_STEP: Duration = Duration::from_millis(50);
/// While the snapshot waits for something.
pub(crate) const POLL_WHILE_WAITING: Duration = Duration::from_secs(5);

/// A plan for a SampleDBSnapshot.
pub type SnapshotPlan = Plan<SampleDBSnapshotStatus>;

/// Why the files that a Job found are not this snapshot's: they belong to another database.
pub(crate) fn another_database(observed: &Observed, found: Option<&str>, reused: bool) -> Option<String> {
    let status = &observed.snapshot.status;
    let (own, found) = (status.system_identifier.as_deref()?, found?);
    let path = status.location.path.as_deref().unwrap_or_default();
    // A major upgrade has two servers with the same data, and a deletion may interrupt it while the Service selects either.
    let upgrades = observed.source().is_some_and(|db| db.status.upgrade.step.is_some());
    (own != found && (reused || !upgrades)).then(|| {
        format!("the files in the directory {path} are of a database with the system identifier {found}, not {own}")
    })
}

/// Why a Job failed: the message of its pod; if its pods were deleted, what blocked them.
pub(crate) fn failure_message(observed: &Observed, outcome: Option<AgentOutcome>, otherwise: &str) -> String {
    let failure = outcome.as_ref().and_then(AgentOutcome::failure);
    failure.unwrap_or_else(|| match status::last_blocker(&observed.snapshot.status) {
        Some(blocker) => format!("{otherwise}; {blocker}"),
        None => otherwise.to_owned(),
    })
}

pub(crate) fn step(observed: &Observed, effect: Effect, now: Timestamp) -> SnapshotPlan {
    Plan { effects: vec![effect], ..wait(observed, now) }
}

pub(crate) fn wait(observed: &Observed, now: Timestamp) -> SnapshotPlan {
    Plan {
        status: Some(status::in_progress(observed, now)),
        next: Requeue::After(POLL_WHILE_WAITING),
        ..Plan::nothing()
    }
}

pub(crate) fn write_status(status: SampleDBSnapshotStatus) -> SnapshotPlan {
    Plan { status: Some(status), next: Requeue::After(REQUEUE_AFTER_STEP), ..Plan::nothing() }
}

/// Continues with the result of a Job that has completed. If its pods were deleted before the result was read, the Job is rerun.
pub(crate) fn continue_with_result(
    observed: &Observed,
    job: &Job,
    result: JobResult<'_>,
    now: Timestamp,
    taken: impl FnOnce(&AgentOutcome) -> SampleDBSnapshotStatus,
) -> SnapshotPlan {
    match result {
        JobResult::Available(ended) => write_status(taken(&AgentOutcome::of(ended))),
        JobResult::Lost if !job.meta.deleting => step(observed, delete(&job.meta, Job::KIND), now),
        _ => Plan { next: Requeue::After(Duration::from_millis(200)), ..Plan::nothing() },
    }
}

pub(crate) fn delete(meta: &runtime::plan::Meta, kind: runtime::plan::ResourceKind) -> Effect {
    Effect::Delete(Delete::of(kind, meta))
}
