//! Pure: the copy of a snapshot in an object store, which a Job uploads once the snapshot can be restored.

use std::time::Duration;

use agent_protocol::PgUploadResult;
use api::s3::S3Location;
use api::sample_db_snapshot::{
    SampleDBSnapshotStatus, SnapshotCopy, SnapshotPhase, StoreReference, TransferPhase, VerificationPhase,
};
use jiff::Timestamp;
use runtime::cache::Projection;
use runtime::plan::{Effect, Plan, Requeue};
use runtime::projections::Job;

use super::effects::{POLL_WHILE_WAITING, SnapshotPlan, delete, write_status};
use super::observed::{Observed, Volume};
use super::transfer::{self, TransferProgress};
use super::{store, transfer_job, volume};
use crate::operand::kinds::Snapshot;
use crate::operand::snapshot_state::{awaits_location_check, has_failed};

/// How often a snapshot checks whether another one is still being uploaded.
const POLL_OTHERS: Duration = Duration::from_secs(15);

/// The store that the snapshot is to be uploaded to: the one that the SampleDB names now; once that is deleted, the one that it named.
fn target(observed: &Observed) -> Option<StoreReference> {
    match observed.adopter_or_source() {
        Some(db) => store::of_database(db),
        None => observed.snapshot.status.store.s3.clone(),
    }
}

/// Plans the upload of a settled snapshot; `None` if there is nothing to upload.
pub(super) fn plan(observed: &Observed, now: Timestamp) -> Option<SnapshotPlan> {
    let snapshot = &*observed.snapshot;
    let before = &snapshot.status.store;
    // A copy stays where it is, whatever the SampleDB names for later ones.
    if before.phase == Some(TransferPhase::Stored) || snapshot.spec.from_store.is_some() {
        return None;
    }
    let Some(target) = target(observed) else { return forgotten(observed) };
    if !can_be_uploaded(observed) {
        return None;
    }
    if before.s3.as_ref() != Some(&target) {
        return Some(moved(observed, target));
    }
    let name = transfer_job::upload_name(snapshot);
    Some(match transfer::progress(observed, &name, now) {
        TransferProgress::Due => match other_upload(observed) {
            Some(other) => {
                // After a failure, a user sees why.
                let failed = before.message.clone().filter(|_| before.failures.is_some());
                let message = failed.or_else(|| Some(format!("waiting until the snapshot {other} is uploaded")));
                let waiting = SnapshotCopy { message, ..before.clone() };
                Plan { next: Requeue::After(POLL_OTHERS), ..write(observed, waiting) }
            }
            None => {
                let create = Effect::Create(transfer_job::upload(observed, &S3Location::from(&target)));
                Plan { effects: vec![create], next: wait(), ..write(observed, transfer::running(before, None)) }
            }
        },
        // Its volume is checked meanwhile.
        TransferProgress::Paused(left) => {
            let next = left.min(volume::poll_interval(observed));
            Plan { next: Requeue::After(next), ..write(observed, before.clone()) }
        }
        TransferProgress::Ending => Plan { next: wait(), ..write(observed, before.clone()) },
        TransferProgress::Running(blocker) => {
            Plan { next: wait(), ..write(observed, transfer::running(before, blocker)) }
        }
        TransferProgress::Complete(clear, outcome) => {
            let found: PgUploadResult = outcome.result();
            if found.path.is_empty() {
                let failed = transfer::failed(before, transfer::UNREADABLE.to_owned(), now);
                return Some(Plan { effects: vec![clear], ..write(observed, failed) });
            }
            write(observed, transfer::done(before, TransferPhase::Stored, found.path, now))
        }
        TransferProgress::Lost(clear) => Plan { effects: vec![clear], ..write(observed, before.clone()) },
        TransferProgress::Failed(clear, why) => {
            Plan { effects: vec![clear], ..write(observed, transfer::failed(before, why, now)) }
        }
    })
}

/// Whether a snapshot is one that a database may be restored from, and its files can be read.
fn can_be_uploaded(observed: &Observed) -> bool {
    let status = &observed.snapshot.status;
    // Snapshots without a verification are uploaded, if the spec has none.
    let verified = matches!(status.verification.phase, Some(VerificationPhase::Passed | VerificationPhase::Skipped));
    is_usable(status) && verified && (observed.volume == Volume::Unknown || observed.volume.uid().is_some())
}

fn is_usable(status: &SampleDBSnapshotStatus) -> bool {
    status.phase == Some(SnapshotPhase::Ready) && !has_failed(status) && !awaits_location_check(status)
}

/// The SampleDB names no store any more: what was not uploaded is not going to be.
fn forgotten(observed: &Observed) -> Option<SnapshotPlan> {
    let is_known = observed.snapshot.status.store != SnapshotCopy::default();
    is_known.then(|| write(observed, SnapshotCopy::default()))
}

/// The SampleDB names another store: a Job that is under way is deleted with those that are done.
fn moved(observed: &Observed, target: StoreReference) -> SnapshotPlan {
    let copy = SnapshotCopy { phase: Some(TransferPhase::Pending), s3: Some(target), ..SnapshotCopy::default() };
    let job = observed.job(&transfer_job::upload_name(&observed.snapshot)).filter(|job| !job.meta.deleting);
    let clear = job.map(|job| delete(&job.meta, Job::KIND));
    Plan { effects: clear.into_iter().collect(), ..write(observed, copy) }
}

/// Another snapshot of the database that is being uploaded: uploads begin one after another. A snapshot whose own upload was running
/// when its Job was deleted does not wait, since two of them would wait for each other.
fn other_upload(observed: &Observed) -> Option<&str> {
    let snapshot = &*observed.snapshot;
    if snapshot.status.store.phase == Some(TransferPhase::Running) {
        return None;
    }
    let runs = |other: &&Snapshot| {
        let uploads = other.spec.from_store.is_none() && other.status.store.phase == Some(TransferPhase::Running);
        uploads && other.meta.uid != snapshot.meta.uid && !other.meta.deleting && is_usable(&other.status)
    };
    observed.siblings.iter().map(|other| &**other).find(runs).map(|other| &*other.meta.key.name)
}

fn wait() -> Requeue {
    Requeue::After(POLL_WHILE_WAITING)
}

fn write(observed: &Observed, store: SnapshotCopy) -> SnapshotPlan {
    write_status(SampleDBSnapshotStatus { store, ..observed.snapshot.status.clone() })
}
