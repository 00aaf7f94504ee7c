//! Pure: how a snapshot goes: its files first, if they are to.

use std::time::Duration;

use api::sample_db_snapshot::{SNAPSHOT_FILES, SampleDBSnapshotEvent, SnapshotDeletionPolicy, SnapshotPhase};
use jiff::Timestamp;
use runtime::cache::Projection;
use runtime::job::{self, Progress};
use runtime::plan::{Apply, Effect, EventDraft, Plan, Requeue};
use runtime::projections::Job;

use super::effects::{LATER, STEP, SnapshotPlan, gone};
use super::observed::Observed;
use super::{jobs, status};
use crate::operand::job_result::Words;
use crate::operand::kinds::Snapshot;
use crate::operand::labels::OWNER_UID;
use crate::operand::pod::has_volume;

/// How often it is looked whether databases are still being filled from it, of which no watch tells.
const READ: Duration = Duration::from_secs(15);

/// Its time is over: the object goes, and its files with it.
pub(super) fn expired(observed: &Observed) -> SnapshotPlan {
    let effects = vec![gone(&observed.snapshot.meta, Snapshot::KIND)];
    Plan { effects, next: Requeue::After(LATER), ..Plan::nothing() }
}

/// Removes its files if they are to go, and lets it go.
pub(super) fn plan(observed: &Observed, now: Timestamp) -> SnapshotPlan {
    let snapshot = &*observed.snapshot;
    if !snapshot.meta.is_held_by(SNAPSHOT_FILES) {
        return Plan::nothing();
    }
    // Nothing can be made in a namespace that is going, whose volumes go or stay as their class has it.
    if observed.namespace_going {
        return let_go(snapshot, None);
    }
    let name = jobs::prune_name(snapshot);
    let others = |job: &Job| job.labels.get(OWNER_UID).is_some_and(|uid| **uid != *snapshot.meta.uid);
    if snapshot.status.started_at.is_none() || !observed.volume.stays() {
        // What was to remove them would wait for their volume, and outlive the object until its deadline; unless it has the volume already.
        let idle = |job: &&Job| *job.meta.key.name == *name && !others(job) && job.end.is_none() && !job.meta.deleting;
        let begun = observed.pods.iter().any(|pod| job::is_of(pod, &name) && has_volume(pod));
        return match observed.jobs.iter().map(|job| &**job).find(idle).filter(|_| !begun) {
            Some(job) => Plan { effects: vec![gone(&job.meta, Job::KIND)], ..waits(observed, now) },
            None => let_go(snapshot, None),
        };
    }
    // Without the object a restore would not go on either, even where its files stay.
    if !observed.restoring.is_empty() {
        return Plan { status: Some(status::in_use(observed, now)), next: Requeue::After(READ), ..Plan::nothing() };
    }
    if keeps(snapshot) {
        let kept = "its files stay, as its deletion policy says".to_owned();
        return let_go(snapshot, Some((false, SampleDBSnapshotEvent::FilesKept, kept)));
    }
    // What writes to the files ends first. What an earlier snapshot of the name has left removed that one's.
    if let Some(job) = observed.jobs.iter().find(|job| *job.meta.key.name != *name || others(job)) {
        let effects = if job.meta.deleting { Vec::new() } else { vec![gone(&job.meta, Job::KIND)] };
        return Plan { effects, ..waits(observed, now) };
    }
    match observed.progress(&name) {
        Progress::Absent => Plan { effects: vec![Effect::Create(jobs::prune(observed))], ..waits(observed, now) },
        Progress::Active(_) => waits(observed, now),
        Progress::Complete(..) => {
            let removed = "its files were removed".to_owned();
            let_go(snapshot, Some((false, SampleDBSnapshotEvent::FilesRemoved, removed)))
        }
        // A volume that cannot be written to keeps nobody from deleting the object for ever: the Job's deadline ends.
        Progress::Failed(_, message) => {
            let why = Words::why(observed.words(&name).as_ref(), message);
            let left = format!("its files could not be removed: {why}");
            let_go(snapshot, Some((true, SampleDBSnapshotEvent::FilesLeft, left)))
        }
    }
}

/// Whether its files are kept. Those of a last one are kept if somebody deletes the object, or its kind; not when its
/// time is over.
fn keeps(snapshot: &Snapshot) -> bool {
    let over = snapshot.status.phase == Some(SnapshotPhase::Expired) && snapshot.spec.deletion_policy.is_none();
    !over && snapshot.spec.deletion_policy() == SnapshotDeletionPolicy::Retain
}

/// Where its files are is said with what became of them, since the object that knows is going.
fn let_go(snapshot: &Snapshot, told: Option<(bool, SampleDBSnapshotEvent, String)>) -> SnapshotPlan {
    let location = &snapshot.status.location;
    let (claim, path) = (location.claim.as_deref().unwrap_or_default(), location.path.as_deref().unwrap_or_default());
    let done = told.into_iter().map(|(warning, reason, message)| EventDraft {
        warning,
        reason: reason.into(),
        message: format!("{message} (volume {claim}, folder {path})"),
    });
    Plan {
        effects: vec![Effect::Apply(Apply::finalizers(Snapshot::KIND, &snapshot.meta, &[]))],
        done: done.collect(),
        next: Requeue::After(LATER),
        ..Plan::nothing()
    }
}

fn waits(observed: &Observed, now: Timestamp) -> SnapshotPlan {
    let next = if observed.jobs.is_empty() { STEP } else { LATER };
    Plan { status: Some(status::goes(observed, now)), next: Requeue::After(next), ..Plan::nothing() }
}
