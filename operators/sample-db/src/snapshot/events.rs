//! Pure: the Events of a snapshot, one for each transition.

use api::Reason;
use api::sample_db_snapshot::{
    SampleDBSnapshotEvent, SampleDBSnapshotReason, SampleDBSnapshotStatus, SnapshotPhase, TransferPhase,
    VerificationPhase,
};
use runtime::plan::EventDraft;
use runtime::status::conditions;

use super::status::{backup_message, verified_message};
use crate::operand::kinds::Snapshot;

/// The Events of a change of its status to `after`, except those that the conditions announce.
pub(super) fn of(snapshot: &Snapshot, after: &SampleDBSnapshotStatus) -> Vec<EventDraft> {
    let before = &snapshot.status;
    // The conditions announce how an import goes.
    if snapshot.spec.from_store.is_some() {
        return Vec::new();
    }
    let announced = conditions::transitions(&before.contract, &after.contract);
    let events = [
        backup_started(snapshot, after),
        backup_ended(before, after),
        verification_ended(before, after),
        upload_ended(before, after),
    ];
    events.into_iter().flatten().filter(|one| !announced.iter().any(|of| of.message == one.message)).collect()
}

fn backup_started(snapshot: &Snapshot, after: &SampleDBSnapshotStatus) -> Option<EventDraft> {
    let starts = after.started_at.is_some() && snapshot.status.started_at.is_none();
    starts.then(|| {
        let method = after.method.unwrap_or_default();
        let message = format!("taking a backup of the SampleDB {} ({method:?})", snapshot.spec.sample_db);
        event(false, SampleDBSnapshotEvent::BackupStarted, message)
    })
}

fn backup_ended(before: &SampleDBSnapshotStatus, after: &SampleDBSnapshotStatus) -> Option<EventDraft> {
    if after.completed_at.is_some() {
        let is_new = before.completed_at.is_none();
        return is_new.then(|| event(false, SampleDBSnapshotReason::BackupCompleted, backup_message(after)));
    }
    let failed = after.phase == Some(SnapshotPhase::Failed) && before.phase != after.phase;
    failed.then(|| event(true, SampleDBSnapshotReason::BackupFailed, after.error.clone().unwrap_or_default()))
}

fn verification_ended(before: &SampleDBSnapshotStatus, after: &SampleDBSnapshotStatus) -> Option<EventDraft> {
    let (was, is) = (&before.verification, &after.verification);
    if was.phase == is.phase {
        return None;
    }
    match is.phase? {
        VerificationPhase::Passed => {
            Some(event(false, SampleDBSnapshotReason::BackupVerified, verified_message(after)))
        }
        VerificationPhase::Failed => {
            let message = is.message.clone().unwrap_or_default();
            Some(event(true, SampleDBSnapshotReason::VerificationFailed, message))
        }
        _ => None,
    }
}

fn upload_ended(before: &SampleDBSnapshotStatus, after: &SampleDBSnapshotStatus) -> Option<EventDraft> {
    let (was, is) = (&before.store, &after.store);
    // Attempts that fail for the same reason are reported once.
    let why = is.message.clone().filter(|_| is.failures.is_some() && was.message != is.message);
    match is.phase? {
        TransferPhase::Stored if was.phase != is.phase => {
            let path = is.path.as_deref().unwrap_or_default();
            Some(event(false, SampleDBSnapshotEvent::Uploaded, format!("the snapshot was uploaded to s3://{path}")))
        }
        TransferPhase::Failed if is.s3.is_some() => {
            why.map(|why| event(true, SampleDBSnapshotEvent::UploadFailed, format!("the upload failed: {why}")))
        }
        _ => None,
    }
}

fn event(warning: bool, reason: impl Into<Reason>, message: String) -> EventDraft {
    EventDraft { warning, reason: reason.into(), message }
}
