//! Pure: what the status of a snapshot alone says about it.

use api::sample_db_snapshot::{SampleDBSnapshotReason, SampleDBSnapshotStatus, SnapshotPhase, VerificationPhase};

/// Whether one that was judged before is being judged again, or is to be.
pub(crate) fn is_in_doubt(status: &SampleDBSnapshotStatus) -> bool {
    matches!(status.verification.phase, Some(VerificationPhase::Running | VerificationPhase::Pending))
}

/// What keeps a snapshot from going on, after a colon, for whoever waits for it: what it says while all is well, the other says.
#[must_use]
pub fn hindered(status: &SampleDBSnapshotStatus) -> String {
    let ready = status.contract.condition(api::condition_type::READY);
    let at_work = [SampleDBSnapshotReason::BackupRunning, SampleDBSnapshotReason::VerificationRunning];
    let told = ready.filter(|ready| !ready.reason.is_one_of(&at_work));
    told.map_or_else(String::new, |ready| format!(": {}", ready.message))
}

/// Whether its Jobs have done their work, and none of them is to run now.
#[must_use]
pub fn is_settled(status: &SampleDBSnapshotStatus) -> bool {
    matches!(status.phase, Some(SnapshotPhase::Ready | SnapshotPhase::Failed)) && !is_under_way(status)
}

/// Whether a snapshot is being taken; its proof comes after that.
#[must_use]
pub fn is_being_taken(status: &SampleDBSnapshotStatus) -> bool {
    status.phase == Some(SnapshotPhase::Running) && status.completed_at.is_none()
}

/// Whether a snapshot can be relied upon.
#[must_use]
pub fn is_proved(status: &SampleDBSnapshotStatus) -> bool {
    status.phase == Some(SnapshotPhase::Ready) && status.verification.phase == Some(VerificationPhase::Passed)
}

/// Whether a snapshot could not be taken, or did not stand its proof.
#[must_use]
pub fn is_bad(status: &SampleDBSnapshotStatus) -> bool {
    status.phase == Some(SnapshotPhase::Failed) || status.verification.phase == Some(VerificationPhase::Failed)
}

/// Whether one that has been proved before, or has failed, is being proved again.
pub(crate) fn is_under_way(status: &SampleDBSnapshotStatus) -> bool {
    status.verification.phase == Some(VerificationPhase::Running)
}

/// Whether it is yet to be seen that its files are on the volume that there is now.
#[must_use]
pub(crate) fn is_looked_for(status: &SampleDBSnapshotStatus) -> bool {
    let verification = &status.verification;
    match verification.phase {
        Some(VerificationPhase::Pending) => true,
        Some(VerificationPhase::Running) => {
            verification.claim_uid.is_some() && verification.claim_uid != status.location.claim_uid
        }
        _ => false,
    }
}
