//! Pure: the plan for an EtcdBackup. The status says which backup is being taken before its Job exists, and what came of it before
//! the Job is deleted.

use std::time::Duration;

use agent_protocol::EtcdBackupResult;
use api::etcd_backup::{EtcdBackupReason, EtcdBackupRun, EtcdBackupStatus};
use jiff::{Timestamp, Unit};
use runtime::cache::Projection as _;
use runtime::job::outcome::AgentOutcome;
use runtime::job::{JobProgress, JobResult};
use runtime::plan::{Delete, Effect, Plan, Requeue};
use runtime::projections::{Job, JobEnd};
use runtime::status::conditions::Summary;

use super::due::{self, NextBackup};
use super::observed::BackupObserved;
use super::target::NoTarget;
use super::{job, status, target};

/// A plan for an EtcdBackup.
pub type BackupPlan = Plan<EtcdBackupStatus>;

/// After an own write, whose event triggers no reconcile.
const REQUEUE_AFTER_STEP: Duration = Duration::from_millis(50);
/// While the watch of pods lags behind that of Jobs.
const POLL_FOR_RESULT: Duration = Duration::from_millis(200);
/// While a Job has no pod.
const POLL_FOR_POD: Duration = Duration::from_secs(30);
/// While the cluster cannot be backed up.
const POLL_FOR_CLUSTER: Duration = Duration::from_secs(10);
/// Why a Job that has completed counts as failed.
const UNREADABLE_RESULT: &str = "the Job has completed, but its result cannot be read; run again, it finds the backup";
/// The longest time to the next look at the schedule.
const LONGEST_WAIT: Duration = Duration::from_secs(3600);

/// Plans the next step of an EtcdBackup.
#[must_use]
pub fn plan(observed: &BackupObserved, now: Timestamp) -> BackupPlan {
    // Its Jobs are deleted with it, and the backups stay.
    if observed.backup.meta.deleting {
        return Plan::nothing();
    }
    match &observed.backup.status.running {
        Some(run) => follow(observed, run, now),
        None => begin(observed, now),
    }
}

/// Follows the Job of a backup.
fn follow(observed: &BackupObserved, run: &EtcdBackupRun, now: Timestamp) -> BackupPlan {
    let status = || observed.backup.status.clone();
    match observed.progress(&run.name) {
        JobProgress::Absent => match target::of(observed) {
            Ok(target) => {
                let effects = vec![Effect::Create(job::create(observed, run, target))];
                Plan { effects, status: Some(status::running(observed, status(), now)), ..Plan::nothing() }
            }
            Err(why) => wait_for_cluster(observed, &why, now),
        },
        JobProgress::Ending => Plan { status: Some(status::running(observed, status(), now)), ..Plan::nothing() },
        JobProgress::Active(_) => {
            let has_pod = runtime::job::has_pod(&observed.pods, &run.name);
            let next = if has_pod { Requeue::OnChange } else { Requeue::After(POLL_FOR_POD) };
            Plan { status: Some(status::running(observed, status(), now)), next, ..Plan::nothing() }
        }
        JobProgress::Complete(_, JobResult::Available(ended)) => {
            let result: EtcdBackupResult = AgentOutcome::of(ended).result();
            // A message that does not parse has no name: nothing says that there is a backup.
            match result.backup.name == run.name {
                true => settle(observed, status::succeeded(&status(), result), now),
                false => settle(observed, status::failed(observed, UNREADABLE_RESULT, now), now),
            }
        }
        JobProgress::Complete(_, JobResult::Pending) => {
            Plan { next: Requeue::After(POLL_FOR_RESULT), ..Plan::nothing() }
        }
        // Run again, the agent finds the backup complete.
        JobProgress::Complete(job, JobResult::Lost) => delete(job, Some(status())),
        JobProgress::Failed(_, message) => {
            let why = AgentOutcome::failure_or(observed.outcome(&run.name).as_ref(), message);
            settle(observed, status::failed(observed, &why, now), now)
        }
    }
}

/// Writes how a Job has ended. The Job is deleted in the next reconcile.
fn settle(observed: &BackupObserved, status: EtcdBackupStatus, now: Timestamp) -> BackupPlan {
    let suspended = observed.backup.spec.suspend;
    let status = status::idle(status, &NextBackup::Never, suspended, now);
    let event = status::completed_event(&observed.backup.status, &status);
    Plan {
        status: Some(status),
        events_after_status: event.into_iter().collect(),
        next: Requeue::After(REQUEUE_AFTER_STEP),
        ..Plan::nothing()
    }
}

/// Begins the backup that is due.
fn begin(observed: &BackupObserved, now: Timestamp) -> BackupPlan {
    let status = || observed.backup.status.clone();
    if let Some(job) = observed.jobs.iter().find(|job| !job.meta.deleting) {
        return match is_unrecorded(observed, job) {
            // The status was lost while its Job ran.
            true => start(observed, recovered(observed, job, now), now),
            false => delete(job, Some(status())),
        };
    }
    match due::next(observed, now) {
        Err(error) => {
            let status = status::with(
                status(),
                &Summary::Stalled,
                EtcdBackupReason::InvalidSchedule,
                format!("spec.{error}"),
                now,
            );
            Plan { status: Some(status), ..Plan::nothing() }
        }
        Ok(NextBackup::Now(run)) => match target::of(observed) {
            // A Job of that name would be of an earlier run.
            Ok(_) if observed.jobs.is_empty() => start(observed, run, now),
            Ok(_) => Plan { status: Some(status()), next: Requeue::After(POLL_FOR_RESULT), ..Plan::nothing() },
            Err(why) => wait_for_cluster(observed, &why, now),
        },
        Ok(next) => {
            let wait = match next {
                NextBackup::At(at) => {
                    let left = at.duration_since(now);
                    Requeue::After(Duration::try_from(left).unwrap_or_default().clamp(REQUEUE_AFTER_STEP, LONGEST_WAIT))
                }
                _ => Requeue::OnChange,
            };
            let status = status::idle(status(), &next, observed.backup.spec.suspend, now);
            Plan { status: Some(status), next: wait, ..Plan::nothing() }
        }
    }
}

/// Records which backup is taken.
fn start(observed: &BackupObserved, run: EtcdBackupRun, now: Timestamp) -> BackupPlan {
    let status = EtcdBackupStatus { running: Some(run), ..observed.backup.status.clone() };
    let status = status::running(observed, status, now);
    Plan { status: Some(status), next: Requeue::After(REQUEUE_AFTER_STEP), ..Plan::nothing() }
}

/// Whether the status knows nothing of a Job that has not failed.
fn is_unrecorded(observed: &BackupObserved, job: &Job) -> bool {
    let status = &observed.backup.status;
    let mut known = status.backups.iter().map(|of| of.name.as_str()).chain(status.last_completed.as_deref());
    let is_known = known.any(|name| *name == *job.meta.key.name);
    !is_known && !matches!(job.end, Some(JobEnd::Failed { .. }))
}

/// The run that a Job belongs to: what is due is, if it has the Job's name.
fn recovered(observed: &BackupObserved, job: &Job, now: Timestamp) -> EtcdBackupRun {
    let name = job.meta.key.name.to_string();
    match due::next(observed, now) {
        Ok(NextBackup::Now(run)) if run.name == name => run,
        _ => EtcdBackupRun { name, started_at: now.round(Unit::Second).ok(), ..EtcdBackupRun::default() },
    }
}

fn wait_for_cluster(observed: &BackupObserved, why: &NoTarget, now: Timestamp) -> BackupPlan {
    let summary = if why.stalled { Summary::Stalled } else { Summary::Reconciling };
    let status = status::with(observed.backup.status.clone(), &summary, why.reason, why.message.clone(), now);
    Plan { status: Some(status), next: Requeue::After(POLL_FOR_CLUSTER), ..Plan::nothing() }
}

fn delete(job: &Job, status: Option<EtcdBackupStatus>) -> BackupPlan {
    let effects = vec![Effect::Delete(Delete::of(Job::KIND, &job.meta))];
    Plan { effects, status, next: Requeue::After(POLL_FOR_RESULT), ..Plan::nothing() }
}
