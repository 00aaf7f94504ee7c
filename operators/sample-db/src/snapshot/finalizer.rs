//! Pure: the deletion of a snapshot. The finalizer is removed after its files, if they are to be removed.

use std::time::Duration;

use api::sample_db_snapshot::{SNAPSHOT_FILES, SampleDBSnapshotEvent, SnapshotDeletionPolicy, SnapshotPhase};
use jiff::Timestamp;
use runtime::cache::Projection;
use runtime::job::{self, JobProgress};
use runtime::plan::{Apply, Effect, EventDraft, Plan, Requeue};
use runtime::projections::Job;

use super::effects::{POLL_WHILE_WAITING, REQUEUE_AFTER_STEP, SnapshotPlan, delete};
use super::observed::Observed;
use super::{jobs, status, store};
use crate::operand::kinds::Snapshot;
use crate::operand::labels::OWNER_UID;
use crate::operand::pod::has_volume;
use runtime::job::outcome::AgentOutcome;

/// How often the operator checks whether databases are still being restored from it, which no watch reports.
const POLL_RESTORES: Duration = Duration::from_secs(15);

/// Deletes the expired snapshot, and with it its files.
pub(super) fn expired(observed: &Observed) -> SnapshotPlan {
    let effects = vec![delete(&observed.snapshot.meta, Snapshot::KIND)];
    Plan { effects, next: Requeue::After(POLL_WHILE_WAITING), ..Plan::nothing() }
}

/// Removes its files if its deletion policy says so, and then the finalizer.
pub(super) fn plan(observed: &Observed, now: Timestamp) -> SnapshotPlan {
    let snapshot = &*observed.snapshot;
    if !snapshot.meta.has_finalizer(SNAPSHOT_FILES) {
        return Plan::nothing();
    }
    // Nothing can be created in a terminating namespace. Its volumes are deleted, or retained as their StorageClass says.
    if observed.namespace_terminating {
        return remove_finalizer(observed, None);
    }
    let name = jobs::prune_name(snapshot);
    let others = |job: &Job| job.labels.get(OWNER_UID).is_some_and(|uid| **uid != *snapshot.meta.uid);
    let no_volume = snapshot.status.started_at.is_none() || !observed.volume.stays();
    if no_volume {
        // A Job that is to remove them would wait for its volume, and outlive the object until its deadline, unless its pod has
        // the volume already.
        let needs_volume = |job: &Job| !job.labels.contains_key(jobs::WITHOUT_VOLUME);
        let idle = |job: &&Job| *job.meta.key.name == *name && !others(job) && job.end.is_none() && !job.meta.deleting;
        let has_started = observed.pods.iter().any(|pod| job::is_of(pod, &name) && has_volume(pod));
        let mut waiting = observed.jobs.iter().map(|job| &**job).filter(|job| needs_volume(job)).filter(idle);
        if let Some(job) = waiting.next().filter(|_| !has_started) {
            return Plan { effects: vec![delete(&job.meta, Job::KIND)], ..wait(observed, now) };
        }
        if store::location(observed).is_none() {
            return remove_finalizer(observed, None);
        }
    }
    // A restore also needs the object, even if its files stay.
    if !observed.restoring.is_empty() {
        return Plan {
            status: Some(status::deletion_waits_for_restores(observed, now)),
            next: Requeue::After(POLL_RESTORES),
            ..Plan::nothing()
        };
    }
    if keeps_files(snapshot) {
        let message = "its files stay, as its deletion policy says".to_owned();
        return remove_finalizer(observed, Some((false, SampleDBSnapshotEvent::FilesKept, message)));
    }
    // Jobs that write to the files end first. A Job of an earlier snapshot of the same name has removed other files.
    if let Some(job) = observed.jobs.iter().find(|job| *job.meta.key.name != *name || others(job)) {
        let effects = if job.meta.deleting { Vec::new() } else { vec![delete(&job.meta, Job::KIND)] };
        return Plan { effects, ..wait(observed, now) };
    }
    match observed.progress(&name) {
        JobProgress::Absent => Plan { effects: vec![Effect::Create(jobs::prune(observed))], ..wait(observed, now) },
        JobProgress::Ending | JobProgress::Active(_) => wait(observed, now),
        JobProgress::Complete(..) => {
            let removed = "its files were removed".to_owned();
            remove_finalizer(observed, Some((false, SampleDBSnapshotEvent::FilesRemoved, removed)))
        }
        // The object is not kept forever because its volume cannot be written to: the Job has a deadline.
        JobProgress::Failed(_, message) => {
            let why = AgentOutcome::failure_or(observed.outcome(&name).as_ref(), message);
            let left = format!("its files could not be removed: {why}");
            remove_finalizer(observed, Some((true, SampleDBSnapshotEvent::FilesLeft, left)))
        }
    }
}

/// Whether its files are kept. Those of a final snapshot are kept if a user deletes the object or its CRD, but not once it has
/// expired.
fn keeps_files(snapshot: &Snapshot) -> bool {
    let over = snapshot.status.phase == Some(SnapshotPhase::Expired) && snapshot.spec.deletion_policy.is_none();
    !over && snapshot.spec.deletion_policy() == SnapshotDeletionPolicy::Retain
}

/// Removes the finalizer. The event records where the files were, since the object that knows is deleted.
fn remove_finalizer(observed: &Observed, outcome: Option<(bool, SampleDBSnapshotEvent, String)>) -> SnapshotPlan {
    let snapshot = &*observed.snapshot;
    let location = &snapshot.status.location;
    let (claim, path) = (location.claim.as_deref().unwrap_or_default(), location.path.as_deref().unwrap_or_default());
    let copy = store::location(observed).map_or_else(String::new, |s3| format!("; s3://{}/{path}", s3.path));
    let done = outcome.into_iter().map(|(warning, reason, message)| EventDraft {
        warning,
        reason: reason.into(),
        message: format!("{message} (PVC {claim}, directory {path}{copy})"),
    });
    Plan {
        effects: vec![Effect::Apply(Apply::finalizers(Snapshot::KIND, &snapshot.meta, &[]))],
        events_after_effects: done.collect(),
        next: Requeue::After(POLL_WHILE_WAITING),
        ..Plan::nothing()
    }
}

fn wait(observed: &Observed, now: Timestamp) -> SnapshotPlan {
    let next = if observed.jobs.is_empty() { REQUEUE_AFTER_STEP } else { POLL_WHILE_WAITING };
    Plan { status: Some(status::removing_files(observed, now)), next: Requeue::After(next), ..Plan::nothing() }
}
