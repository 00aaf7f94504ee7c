//! Pure: what follows from the status of a snapshot alone.

use api::sample_db_snapshot::{
    SampleDBSnapshotReason, SampleDBSnapshotStatus, SnapshotPhase, TransferPhase, VerificationPhase,
};

/// Whether a snapshot that was verified before is being verified again, or waits for it.
pub(crate) fn is_reverifying(status: &SampleDBSnapshotStatus) -> bool {
    matches!(status.verification.phase, Some(VerificationPhase::Running | VerificationPhase::Pending))
}

/// Why a snapshot makes no progress, after a colon, for the message of an object that waits for it; empty while its Jobs run.
#[must_use]
pub fn blocker_suffix(status: &SampleDBSnapshotStatus) -> String {
    let ready = status.contract.condition(api::condition_type::READY);
    let at_work = [SampleDBSnapshotReason::BackupRunning, SampleDBSnapshotReason::VerificationRunning];
    let blocking = ready.filter(|ready| !ready.reason.is_one_of(&at_work));
    blocking.map_or_else(String::new, |ready| format!(": {}", ready.message))
}

/// Whether its Jobs have completed, and none is to run now.
#[must_use]
pub fn is_settled(status: &SampleDBSnapshotStatus) -> bool {
    matches!(status.phase, Some(SnapshotPhase::Ready | SnapshotPhase::Failed)) && !is_verifying(status)
}

/// Whether a snapshot is being taken; its verification comes after that.
#[must_use]
pub fn is_being_taken(status: &SampleDBSnapshotStatus) -> bool {
    status.phase == Some(SnapshotPhase::Running) && status.completed_at.is_none()
}

/// Whether a snapshot passed verification.
#[must_use]
pub fn is_verified(status: &SampleDBSnapshotStatus) -> bool {
    status.phase == Some(SnapshotPhase::Ready) && status.verification.phase == Some(VerificationPhase::Passed)
}

/// Whether a snapshot could not be taken, or failed verification.
#[must_use]
pub fn has_failed(status: &SampleDBSnapshotStatus) -> bool {
    status.phase == Some(SnapshotPhase::Failed) || status.verification.phase == Some(VerificationPhase::Failed)
}

/// How many attempts to upload it have failed, as long as the object store has no copy.
pub(crate) fn upload_failures(status: &SampleDBSnapshotStatus) -> i32 {
    let copy = &status.store;
    let waits = matches!(copy.phase, Some(TransferPhase::Failed | TransferPhase::Running)) && copy.s3.is_some();
    let usable = status.phase == Some(SnapshotPhase::Ready) && !has_failed(status);
    copy.failures.filter(|_| waits && usable).unwrap_or(0)
}

/// Whether the object store has a copy of it that the operator uploaded.
pub(crate) fn is_stored(status: &SampleDBSnapshotStatus) -> bool {
    status.store.phase == Some(TransferPhase::Stored)
}

/// Whether a verification is running.
pub(crate) fn is_verifying(status: &SampleDBSnapshotStatus) -> bool {
    status.verification.phase == Some(VerificationPhase::Running)
}

/// Whether a verification has yet to show that its files are on the present volume.
#[must_use]
pub(crate) fn awaits_location_check(status: &SampleDBSnapshotStatus) -> bool {
    let verification = &status.verification;
    match verification.phase {
        Some(VerificationPhase::Pending) => true,
        Some(VerificationPhase::Running) => {
            verification.claim_uid.is_some() && verification.claim_uid != status.location.claim_uid
        }
        _ => false,
    }
}
