//! Pure: the volume with a snapshot's files. A user may delete its PVC, and restore it from elsewhere.

use std::time::Duration;

use api::sample_db_snapshot::{
    SampleDBSnapshotReason, SampleDBSnapshotStatus, SnapshotPhase, SnapshotReason, SnapshotVerification, VERIFY,
    VerificationPhase,
};
use jiff::Timestamp;
use runtime::cache::Projection;
use runtime::plan::{Plan, Requeue};
use runtime::projections::Job;
use runtime::status::conditions::Summary;

use super::effects::{SnapshotPlan, delete, step, write_status};
use super::location::with_claim_uid;
use super::observed::{Observed, Volume};
use super::status;
use crate::operand::{snapshot_state, time};

/// How often a PVC in the store is checked while nothing else happens. A snapshot gets no events of it.
const POLL_WATCHED_PVC: Duration = Duration::from_secs(60);
/// The same for a PVC that no store holds, which takes a request.
const POLL_UNWATCHED_PVC: Duration = Duration::from_secs(300);

/// When to check its volume again.
pub(super) fn poll_interval(observed: &Observed) -> Duration {
    match observed.volume {
        Volume::Claim { watched: false, .. } => POLL_UNWATCHED_PVC,
        _ => POLL_WATCHED_PVC,
    }
}

/// Plans what follows from the state of its volume, once its files have been written. The snapshot is verified again if the PVC
/// has another UID, and fails while there is no PVC. Only a verification shows that files are missing: a backup tool restores a
/// PVC with its contents, under another UID.
pub(super) fn plan(observed: &Observed, now: Timestamp) -> Option<SnapshotPlan> {
    let snapshot = &*observed.snapshot;
    let (known, verification) = (&snapshot.status.location.claim_uid, &snapshot.status.verification);
    snapshot.status.completed_at?;
    if let Some((reason, how)) = unusable_reason(&observed.volume) {
        let status = volume_unusable(observed, reason, how, now);
        return Some(Plan { status: Some(status), next: Requeue::After(POLL_WATCHED_PVC), ..Plan::nothing() });
    }
    let uid = observed.volume.uid()?;
    let is_pending = verification.phase == Some(VerificationPhase::Pending);
    // Files whose verification failed may never have been confirmed on it.
    if known.is_none() && !is_pending && verification.phase != Some(VerificationPhase::Failed) {
        return Some(write_status(with_claim_uid(observed)));
    }
    let seen = [known, &verification.claim_uid].into_iter().flatten().any(|seen| **seen == *uid);
    if seen && !is_pending {
        return None;
    }
    // Each verification restores a complete database: those on one volume run one after another.
    match is_busy(observed) {
        true => {
            let status = awaiting_verification(observed);
            Some(Plan { status: Some(status), next: Requeue::After(POLL_WATCHED_PVC), ..Plan::nothing() })
        }
        false => Some(write_status(status::start_verification(observed, now))),
    }
}

/// Why no pod can use the volume: reason and text.
fn unusable_reason(volume: &Volume) -> Option<(SampleDBSnapshotReason, &'static str)> {
    match volume {
        Volume::Absent => Some((SampleDBSnapshotReason::VolumeMissing, "does not exist")),
        Volume::Claim { terminating: true, .. } => Some((SampleDBSnapshotReason::ClaimTerminating, "is being deleted")),
        Volume::Claim { lost: true, .. } => Some((SampleDBSnapshotReason::VolumeLost, "has lost its volume")),
        Volume::Unknown | Volume::Claim { .. } => None,
    }
}

/// Why a backup cannot be written any more: files on a terminating PVC are lost. A database that stays recreates a deleted PVC;
/// one that is being deleted waits for the backup first. The database itself retakes a final snapshot.
pub(super) fn backup_failure(observed: &Observed) -> Option<String> {
    let terminating = matches!(observed.volume, Volume::Claim { terminating: true, .. });
    let deleting = observed.source().is_some_and(|db| db.meta.deleting);
    let last = observed.snapshot.spec.reason == SnapshotReason::Final;
    let (_, how) = unusable_reason(&observed.volume).filter(|_| !last && (terminating || deleting))?;
    let claim = observed.snapshot.status.location.claim.as_deref().unwrap_or_default();
    Some(format!("the backup was given up: the PVC {claim} of the snapshots {how}"))
}

/// Gives up a verification whose pod cannot use the PVC: its Job would wait until its deadline, and pods that have ended keep a
/// PVC from being deleted.
pub(super) fn give_up_verification(observed: &Observed, now: Timestamp) -> Option<SnapshotPlan> {
    let (reason, how) = unusable_reason(&observed.volume)?;
    Some(match observed.jobs.iter().find(|job| !job.meta.deleting) {
        Some(job) => step(observed, delete(&job.meta, Job::KIND), now),
        None => write_status(volume_unusable(observed, reason, how, now)),
    })
}

/// Whether another snapshot on the same volume is being verified.
fn is_busy(observed: &Observed) -> bool {
    let snapshot = &*observed.snapshot;
    let others = observed.siblings.iter().filter(|other| other.meta.uid != snapshot.meta.uid && !other.meta.deleting);
    others
        .filter(|other| other.status.location.claim == snapshot.status.location.claim)
        .any(|other| snapshot_state::is_verifying(&other.status))
}

/// Its files are not on the volume.
pub(super) fn files_missing(observed: &Observed, now: Timestamp) -> SampleDBSnapshotStatus {
    let snapshot = &*observed.snapshot;
    let (location, key) = (&snapshot.status.location, &snapshot.meta.key);
    let (claim, path) = (location.claim.as_deref().unwrap_or_default(), location.path.as_deref().unwrap_or_default());
    let message = format!(
        "the directory {path} is not on the volume of the PVC {claim}: delete this SampleDBSnapshot; or restore the contents of \
         the volume and run kubectl annotate sampledbsnapshot {} --namespace {} --overwrite {VERIFY}=\"$(date -u +%FT%TZ)\"",
        key.name, key.namespace
    );
    status::verification_failed(observed, SnapshotPhase::Failed, SampleDBSnapshotReason::FilesMissing, message, now)
}

/// The message about files that have yet to be confirmed on the present volume.
pub(super) fn unconfirmed_message(observed: &Observed, why: &str) -> String {
    let snapshot = &*observed.snapshot;
    let (location, key) = (&snapshot.status.location, &snapshot.meta.key);
    let (claim, path) = (location.claim.as_deref().unwrap_or_default(), location.path.as_deref().unwrap_or_default());
    format!(
        "whether the directory {path} is on the volume of the PVC {claim} is not known, since the verification could not be carried \
         out: {why}; correct that and run kubectl annotate sampledbsnapshot {} --namespace {} --overwrite \
         {VERIFY}=\"$(date -u +%FT%TZ)\"",
        key.name, key.namespace
    )
}

/// No pod can read its files: it cannot be used until there is a PVC again.
pub(super) fn volume_unusable(
    observed: &Observed,
    reason: SampleDBSnapshotReason,
    how: &str,
    now: Timestamp,
) -> SampleDBSnapshotStatus {
    let before = observed.snapshot.status.clone();
    let claim = before.location.claim.as_deref().unwrap_or_default();
    let message = format!(
        "the PVC {claim} with the files {how}: restore it with its contents, and the operator verifies this snapshot again; \
         or delete this SampleDBSnapshot"
    );
    let since = before.verification.at.filter(|_| before.verification.phase == Some(VerificationPhase::Pending));
    let verification = SnapshotVerification {
        phase: Some(VerificationPhase::Pending),
        at: since.or_else(|| time::rounded(now)),
        message: Some(message.clone()),
        request: before.verification.request.clone(),
        ..Default::default()
    };
    let phase = Some(SnapshotPhase::Failed);
    let status = SampleDBSnapshotStatus { phase, job: None, error: Some(message.clone()), verification, ..before };
    status::with(status, &Summary::Stalled, reason, message, now)
}

/// It is verified again after other snapshots on its volume. The other findings stay until then.
pub(super) fn awaiting_verification(observed: &Observed) -> SampleDBSnapshotStatus {
    let before = observed.snapshot.status.clone();
    let verification = SnapshotVerification {
        phase: Some(VerificationPhase::Pending),
        message: Some("waiting until other snapshots on the PVC are verified".to_owned()),
        ..before.verification
    };
    SampleDBSnapshotStatus { verification, ..before }
}
