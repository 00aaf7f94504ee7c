//! Pure: the plan for an EtcdRestore.

use std::time::Duration;

use agent_protocol::EtcdVerifyResult;
use api::etcd_cluster::{EtcdRestoreProgress, EtcdRestoreSource, RestoreOutcome};
use api::etcd_restore::{EtcdRestorePhase, EtcdRestoreReason, EtcdRestoreStatus, VerifiedSnapshot};
use jiff::{SignedDuration, Timestamp, Unit};
use runtime::cache::Projection as _;
use runtime::job::attempts::Pauses;
use runtime::job::outcome::AgentOutcome;
use runtime::job::{JobProgress, JobResult};
use runtime::plan::{Delete, Effect, Plan, Requeue};
use runtime::projections::Job;

use super::observed::RestoreObserved;
use super::{job, resolve, status};
use crate::referenced::Referenced;
use crate::{EtcdCluster, EtcdRestore};

/// A plan for an EtcdRestore.
pub type RestorePlan = Plan<EtcdRestoreStatus>;

/// After an own write, whose event triggers no reconcile.
const AFTER_STEP: Duration = Duration::from_millis(50);
/// While the watch of pods lags behind that of Jobs.
const POLL_FOR_RESULT: Duration = Duration::from_millis(200);
/// While the cluster works: its events do not reconcile an EtcdRestore.
const POLL_CLUSTER: Duration = Duration::from_secs(2);
/// While a user has to act, and while a Job has no pod.
const POLL: Duration = Duration::from_secs(10);
/// The pauses after failures.
const PAUSES: Pauses = Pauses { first: SignedDuration::from_secs(30), longest: SignedDuration::from_mins(10) };
/// Why a Job that has completed counts as failed.
const UNREADABLE_RESULT: &str = "the Job has completed, but its result cannot be read";

/// Plans the next step of an EtcdRestore.
#[must_use]
pub fn plan(observed: &RestoreObserved, now: Timestamp) -> RestorePlan {
    let restore = &*observed.restore;
    // Its Job is deleted with it.
    if restore.meta.deleting {
        return Plan::nothing();
    }
    if restore.status.has_ended() {
        // What is left of a Job is of no use.
        return delete_jobs(observed, restore.status.clone());
    }
    let cluster = match &observed.cluster {
        Referenced::Found(cluster) => &**cluster,
        Referenced::Missing | Referenced::Nothing => {
            return pending(observed, EtcdRestoreReason::ClusterMissing, &status::cluster_missing(restore), now);
        }
        Referenced::Unreadable(error) => {
            let message = format!("the EtcdCluster {} cannot be read: {error}", restore.spec.etcd_cluster.name);
            return pending(observed, EtcdRestoreReason::ClusterUnreadable, &message, now);
        }
    };
    let progress = cluster.status.restore.as_ref().filter(|of| *of.uid == *restore.meta.uid);
    if let Some(progress) = progress {
        return follow(observed, cluster, progress, now);
    }
    if let Some((reason, message)) = obstacle(restore, cluster) {
        return pending(observed, reason, &message, now);
    }
    match restore.status.is_verified(restore.meta.generation) {
        true => handed_over(observed, cluster, now),
        false => verify(observed, cluster, now),
    }
}

/// Why a restore of that cluster may not begin.
fn obstacle(restore: &EtcdRestore, cluster: &EtcdCluster) -> Option<(EtcdRestoreReason, String)> {
    if cluster.meta.deleting {
        let message = format!("the EtcdCluster {} is being deleted", cluster.meta.key.name);
        return Some((EtcdRestoreReason::ClusterMissing, message));
    }
    if cluster.status.storage.as_ref().is_some_and(|storage| !storage.durable) {
        return Some((EtcdRestoreReason::DataInPods, status::data_in_pods(restore)));
    }
    let id = cluster.status.cluster_id.as_ref().filter(|id| restore.spec.replace_cluster_id.as_ref() != Some(id))?;
    Some((EtcdRestoreReason::ConsentRequired, status::consent_required(restore, cluster, id)))
}

/// The cluster carries it out.
fn follow(
    observed: &RestoreObserved,
    cluster: &EtcdCluster,
    progress: &EtcdRestoreProgress,
    now: Timestamp,
) -> RestorePlan {
    let before = &observed.restore.status;
    let ids =
        EtcdRestoreStatus { previous_cluster_id: progress.previous_cluster_id.clone(), reason: None, ..before.clone() };
    match progress.outcome {
        Some(RestoreOutcome::Restored) => {
            let id = cluster.status.cluster_id.clone();
            let ended =
                EtcdRestoreStatus { succeeded: true, phase: Some(EtcdRestorePhase::Succeeded), cluster_id: id, ..ids };
            write(status::restored(ended, &observed.restore, now), AFTER_STEP)
        }
        _ if !observed.restore.status.is_verified(observed.restore.meta.generation) => verify(observed, cluster, now),
        _ => {
            let working = EtcdRestoreStatus { phase: Some(EtcdRestorePhase::Restoring), ..ids };
            write(status::restoring(working, cluster, now), POLL_CLUSTER)
        }
    }
}

/// The snapshot is verified, and the cluster has yet to begin.
fn handed_over(observed: &RestoreObserved, cluster: &EtcdCluster, now: Timestamp) -> RestorePlan {
    let before = EtcdRestoreStatus { phase: Some(EtcdRestorePhase::Restoring), ..observed.restore.status.clone() };
    let mut plan = write(status::handed_over(before, cluster, now), POLL_CLUSTER);
    plan.effects = deletions(observed);
    plan
}

/// Verifies the snapshot, once it is known which one that is.
fn verify(observed: &RestoreObserved, cluster: &EtcdCluster, now: Timestamp) -> RestorePlan {
    let restore = &*observed.restore;
    if let Some(source) = restore.spec.source(&restore.status, restore.meta.generation) {
        return verify_snapshot(observed, cluster, &source, now);
    }
    if !observed.jobs.is_empty() {
        // The status was lost, or the spec edited: what a Job finds may be of another backup.
        let before = EtcdRestoreStatus { phase: Some(EtcdRestorePhase::Verifying), ..restore.status.clone() };
        let mut plan = write(status::verifying(observed, before, &job::name(restore), now), POLL_FOR_RESULT);
        plan.effects = deletions(observed);
        return plan;
    }
    let of = restore.spec.etcd_backup.clone().unwrap_or_default();
    match resolve::backup(observed, &of) {
        // A later backup does not matter any more.
        Ok(backup) => {
            let before = EtcdRestoreStatus { phase: Some(EtcdRestorePhase::Verifying), ..restore.status.clone() };
            let status = EtcdRestoreStatus { backup: Some(backup), ..before };
            write(status::verifying(observed, status, &job::name(restore), now), AFTER_STEP)
        }
        Err((reason, message)) => pending(observed, reason, &message, now),
    }
}

fn verify_snapshot(
    observed: &RestoreObserved,
    cluster: &EtcdCluster,
    source: &EtcdRestoreSource,
    now: Timestamp,
) -> RestorePlan {
    let restore = &*observed.restore;
    let name = job::name(restore);
    let at_work = || {
        let before = EtcdRestoreStatus { phase: Some(EtcdRestorePhase::Verifying), ..restore.status.clone() };
        status::verifying(observed, before, &name, now)
    };
    match JobProgress::of(&observed.jobs, &observed.pods, &name) {
        JobProgress::Absent => match retry_at(restore).filter(|at| *at > now) {
            Some(at) => {
                let wait = Duration::try_from(at.duration_since(now)).unwrap_or_default().max(AFTER_STEP);
                write(status::failed(observed, restore.status.clone(), at, now), wait)
            }
            None => {
                let effects = vec![Effect::Create(job::create(observed, cluster, source))];
                Plan { effects, status: Some(at_work()), next: Requeue::After(POLL), ..Plan::nothing() }
            }
        },
        JobProgress::Ending => write(at_work(), POLL_FOR_RESULT),
        // An edit of the spec: what the Job finds is of another snapshot.
        JobProgress::Active(job) | JobProgress::Complete(job, _) | JobProgress::Failed(job, _)
            if job.meta.deleting || !is_of_generation(restore, job) =>
        {
            let failed = retry_at(restore).map(|at| status::failed(observed, restore.status.clone(), at, now));
            delete(job, failed.unwrap_or_else(at_work))
        }
        JobProgress::Active(_) => write(at_work(), POLL),
        JobProgress::Complete(_, JobResult::Pending) => write(at_work(), POLL_FOR_RESULT),
        JobProgress::Complete(job, JobResult::Lost) => delete(job, at_work()),
        JobProgress::Complete(job, JobResult::Available(ended)) => {
            let found: EtcdVerifyResult = AgentOutcome::of(ended).result();
            if found.sha256.is_empty() {
                return delete(job, failure(observed, UNREADABLE_RESULT, now));
            }
            let verified = VerifiedSnapshot {
                generation: restore.meta.generation,
                revision: found.revision,
                bytes: found.bytes,
                sha256: found.sha256,
                at: now.round(Unit::Second).ok(),
            };
            let known = EtcdRestoreStatus {
                verified: Some(verified),
                reason: None,
                failures: 0,
                last_failure: None,
                failed_generation: None,
                ..at_work()
            };
            write(known, AFTER_STEP)
        }
        JobProgress::Failed(job, message) => {
            let outcome = runtime::job::last_end(&observed.pods, &name).map(AgentOutcome::of);
            delete(job, failure(observed, &AgentOutcome::failure_or(outcome.as_ref(), message), now))
        }
    }
}

/// Whether a Job verifies the snapshot that the spec names now.
fn is_of_generation(restore: &EtcdRestore, job: &Job) -> bool {
    job.labels.get(job::GENERATION).is_none_or(|of| **of == *restore.meta.generation.to_string())
}

/// When the next attempt is due after one that failed, unless the spec was edited since.
fn retry_at(restore: &EtcdRestore) -> Option<Timestamp> {
    let status = &restore.status;
    let last = status.last_failure.filter(|_| status.failed_generation == Some(restore.meta.generation))?;
    PAUSES.next(last, status.failures)
}

fn failure(observed: &RestoreObserved, why: &str, now: Timestamp) -> EtcdRestoreStatus {
    let restore = &*observed.restore;
    let before = restore.status.clone();
    let failed = EtcdRestoreStatus {
        phase: Some(EtcdRestorePhase::Verifying),
        reason: Some(runtime::message::shorten(why.to_owned())),
        failures: before.failures.saturating_add(1),
        last_failure: now.round(Unit::Second).ok(),
        failed_generation: Some(restore.meta.generation),
        ..before
    };
    status::failed(observed, failed, now, now)
}

/// It waits for a user.
fn pending(observed: &RestoreObserved, reason: EtcdRestoreReason, message: &str, now: Timestamp) -> RestorePlan {
    let before = EtcdRestoreStatus { phase: Some(EtcdRestorePhase::Pending), ..observed.restore.status.clone() };
    let mut plan = write(status::waiting(before, reason, message, now), POLL);
    plan.effects = deletions(observed);
    plan
}

fn write(status: EtcdRestoreStatus, next: Duration) -> RestorePlan {
    Plan { status: Some(status), next: Requeue::After(next), ..Plan::nothing() }
}

fn delete(job: &Job, status: EtcdRestoreStatus) -> RestorePlan {
    let effects = deletion(job).into_iter().collect();
    Plan { effects, ..write(status, POLL_FOR_RESULT) }
}

fn delete_jobs(observed: &RestoreObserved, status: EtcdRestoreStatus) -> RestorePlan {
    Plan { effects: deletions(observed), status: Some(status), next: Requeue::OnChange, ..Plan::nothing() }
}

fn deletions(observed: &RestoreObserved) -> Vec<Effect<std::convert::Infallible>> {
    observed.jobs.iter().filter_map(|job| deletion(job)).collect()
}

fn deletion(job: &Job) -> Option<Effect<std::convert::Infallible>> {
    (!job.meta.deleting).then(|| Effect::Delete(Delete::of(Job::KIND, &job.meta)))
}
