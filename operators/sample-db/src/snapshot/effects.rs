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
use crate::operand::job_result::Words;

/// After a step: its own events are no news, so look again by ourselves.
pub(crate) const STEP: Duration = Duration::from_millis(50);
/// While something is waited for.
pub(crate) const LATER: Duration = Duration::from_secs(5);

/// A plan for a SampleDBSnapshot.
pub type SnapshotPlan = Plan<SampleDBSnapshotStatus>;

/// Why what a Job found is not this snapshot: it is of another database.
pub(crate) fn another_database(observed: &Observed, found: Option<&str>, reused: bool) -> Option<String> {
    let status = &observed.snapshot.status;
    let (ours, theirs) = (status.system_identifier.as_deref()?, found?);
    let path = status.location.path.as_deref().unwrap_or_default();
    // A major upgrade has two servers with the same data, and a deletion may interrupt it while the Service leads to either.
    let upgrades = observed.source().is_some_and(|db| db.status.upgrade.step.is_some());
    (ours != theirs && (reused || !upgrades)).then(|| {
        format!("the files in the directory {path} are of a database with the system identifier {theirs}, not {ours}")
    })
}

/// Why a Job failed: what its pod said last; of one whose pods are gone, what kept them from working.
pub(crate) fn why(observed: &Observed, words: Option<Words>, otherwise: &str) -> String {
    let said = words.as_ref().and_then(Words::failure);
    said.unwrap_or_else(|| match status::hindrance(&observed.snapshot.status) {
        Some(hindrance) => format!("{otherwise}; {hindrance}"),
        None => otherwise.to_owned(),
    })
}

pub(crate) fn step(observed: &Observed, effect: Effect, now: Timestamp) -> SnapshotPlan {
    Plan { effects: vec![effect], ..waits(observed, now) }
}

pub(crate) fn waits(observed: &Observed, now: Timestamp) -> SnapshotPlan {
    Plan { status: Some(status::goes_on(observed, now)), next: Requeue::After(LATER), ..Plan::nothing() }
}

pub(crate) fn told(status: SampleDBSnapshotStatus) -> SnapshotPlan {
    Plan { status: Some(status), next: Requeue::After(STEP), ..Plan::nothing() }
}

/// Goes on from what a Job that has done its work has said last; has it say so again if nobody has heard it.
pub(crate) fn heard(
    observed: &Observed,
    job: &Job,
    result: JobResult<'_>,
    now: Timestamp,
    taken: impl FnOnce(&Words) -> SampleDBSnapshotStatus,
) -> SnapshotPlan {
    match result {
        JobResult::Available(ended) => told(taken(&Words::of(ended))),
        JobResult::Lost if !job.meta.deleting => step(observed, gone(&job.meta, Job::KIND), now),
        _ => Plan { next: Requeue::After(Duration::from_millis(200)), ..Plan::nothing() },
    }
}

pub(crate) fn gone(meta: &runtime::plan::Meta, kind: runtime::plan::Kind) -> Effect {
    Effect::Delete(Delete::of(kind, meta))
}
