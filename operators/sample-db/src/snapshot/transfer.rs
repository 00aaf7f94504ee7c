//! Pure: the Job that transfers a snapshot to an object store, or from one: whether it is to begin, runs or has ended, and when it is
//! tried again after a failure.

use std::time::Duration;

use api::sample_db_snapshot::{SnapshotCopy, TransferPhase};
use jiff::{SignedDuration, Timestamp};
use runtime::cache::Projection;
use runtime::job::attempts::Pauses;
use runtime::job::outcome::AgentOutcome;
use runtime::job::{self, JobProgress, JobResult};
use runtime::message;
use runtime::plan::Effect;
use runtime::projections::Job;

use super::effects::{REQUEUE_AFTER_STEP, delete, failure_message};
use super::observed::Observed;
use crate::operand::time::rounded;

/// The pauses after failures.
const PAUSES: Pauses = Pauses { first: SignedDuration::from_secs(30), longest: SignedDuration::from_mins(10) };

/// Why a Job that has completed counts as failed.
pub(super) const UNREADABLE: &str = "the result of the Job cannot be read";
/// How long the pod of a Job may take to start.
const LONGEST_START: SignedDuration = SignedDuration::from_mins(10);

/// How far the Job of a transfer has come.
pub(super) enum TransferProgress {
    /// It is to be created.
    Due,
    /// It waits for the end of the pause after a failure, in this time.
    Paused(Duration),
    /// It was deleted, and has yet to end.
    Ending,
    /// It runs; or why its pod does not.
    Running(Option<String>),
    /// It has ended, and this was its result; and what deletes it, if that cannot be read.
    Complete(Effect, AgentOutcome),
    /// It has ended without a result, or is to be repeated: what deletes it.
    Lost(Effect),
    /// It has failed: what deletes it, and why it did.
    Failed(Effect, String),
}

/// How far the Job of that name has come.
pub(super) fn progress(observed: &Observed, name: &str, now: Timestamp) -> TransferProgress {
    let clear = |job: &Job| delete(&job.meta, Job::KIND);
    match observed.progress(name) {
        JobProgress::Absent => match retry_at(&observed.snapshot.status.store).filter(|at| *at > now) {
            Some(at) => {
                let left = Duration::try_from(at.duration_since(now)).unwrap_or_default();
                TransferProgress::Paused(left.max(REQUEUE_AFTER_STEP))
            }
            None => TransferProgress::Due,
        },
        // It may have been deleted because the store is another one now.
        JobProgress::Active(job) | JobProgress::Failed(job, _) | JobProgress::Complete(job, _) if job.meta.deleting => {
            TransferProgress::Ending
        }
        JobProgress::Ending => TransferProgress::Ending,
        JobProgress::Complete(job, JobResult::Available(ended)) => {
            TransferProgress::Complete(clear(job), AgentOutcome::of(ended))
        }
        JobProgress::Complete(job, JobResult::Lost) => TransferProgress::Lost(clear(job)),
        JobProgress::Failed(job, message) => {
            TransferProgress::Failed(clear(job), failure_message(observed, observed.outcome(name), message))
        }
        JobProgress::Active(job) => {
            let blocker = job::diagnosis(&observed.pods, name).map(|diagnosis| diagnosis.message.clone());
            if is_stuck(observed, job, now) {
                let why = blocker
                    .unwrap_or_else(|| "the Job controller may have created none, because of a quota".to_owned());
                return TransferProgress::Failed(clear(job), format!("no pod of the Job has started: {why}"));
            }
            TransferProgress::Running(blocker)
        }
        JobProgress::Complete(_, JobResult::Pending) => TransferProgress::Running(None),
    }
}

/// Whether no pod of a Job has started for long. That counts as a failed attempt, so that it is reported, and other snapshots do not
/// wait for it.
fn is_stuck(observed: &Observed, job: &Job, now: Timestamp) -> bool {
    let since = job.created.filter(|_| job::started(&observed.pods, &job.meta.key.name).is_none());
    since.is_some_and(|created| now.duration_since(created) > LONGEST_START)
}

/// When the next attempt is due after one that failed.
pub(super) fn retry_at(copy: &SnapshotCopy) -> Option<Timestamp> {
    copy.phase.filter(|phase| *phase == TransferPhase::Failed)?;
    PAUSES.next(copy.at?, copy.failures.unwrap_or(1))
}

/// A Job transfers the files, or is about to; `blocker` is why its pod does not.
pub(super) fn running(before: &SnapshotCopy, blocker: Option<String>) -> SnapshotCopy {
    // While attempts fail, a user sees why until one succeeds.
    let last = before.message.clone().filter(|_| before.failures.is_some());
    let message = blocker.map(|why| message::shorten(format!("the pod of the Job waits: {why}"))).or(last);
    SnapshotCopy { phase: Some(TransferPhase::Running), message, ..before.clone() }
}

/// An attempt has failed.
pub(super) fn failed(before: &SnapshotCopy, why: String, now: Timestamp) -> SnapshotCopy {
    SnapshotCopy {
        phase: Some(TransferPhase::Failed),
        at: rounded(now),
        failures: Some(before.failures.unwrap_or(0).saturating_add(1)),
        message: Some(message::shorten(why)),
        ..before.clone()
    }
}

/// The transfer has ended.
pub(super) fn done(before: &SnapshotCopy, phase: TransferPhase, path: String, now: Timestamp) -> SnapshotCopy {
    SnapshotCopy {
        phase: Some(phase),
        path: Some(path),
        at: rounded(now),
        failures: None,
        message: None,
        ..before.clone()
    }
}
