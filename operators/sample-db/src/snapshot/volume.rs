//! Pure: the volume with a snapshot's files: somebody may delete its claim, and bring it back from elsewhere.

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

use super::effects::{SnapshotPlan, gone, step, told};
use super::location::found;
use super::observed::{Observed, Volume};
use super::status;
use crate::operand::{snapshot_state, time};

/// How often the claim is looked at while nothing happens. No watch tells a snapshot of it.
const LOOK: Duration = Duration::from_secs(60);
/// The same for a claim that is not ours: that takes a request.
const ASK: Duration = Duration::from_secs(300);

/// When to look at its volume again.
pub(super) fn next(observed: &Observed) -> Duration {
    match observed.volume {
        Volume::Claim { watched: false, .. } => ASK,
        _ => LOOK,
    }
}

/// What follows from the state of its volume, once its files have been written: the snapshot is verified again if the claim
/// is another one, and is of no use while there is none. Only a verification tells that files are gone: a backup tool
/// restores a claim with its contents, and under another uid.
pub(super) fn plan(observed: &Observed, now: Timestamp) -> Option<SnapshotPlan> {
    let snapshot = &*observed.snapshot;
    let (known, verification) = (&snapshot.status.location.claim_uid, &snapshot.status.verification);
    snapshot.status.completed_at?;
    if let Some((reason, how)) = trouble(&observed.volume) {
        let status = without_volume(observed, reason, how, now);
        return Some(Plan { status: Some(status), next: Requeue::After(LOOK), ..Plan::nothing() });
    }
    let uid = observed.volume.uid()?;
    let waits = verification.phase == Some(VerificationPhase::Pending);
    // What failed may never have been seen on it.
    if known.is_none() && !waits && verification.phase != Some(VerificationPhase::Failed) {
        return Some(told(found(observed)));
    }
    let seen = [known, &verification.claim_uid].into_iter().flatten().any(|seen| **seen == *uid);
    if seen && !waits {
        return None;
    }
    // Each verification loads a whole database: those of one volume come one after the other.
    match is_busy(observed) {
        true => {
            let status = to_verify(observed);
            Some(Plan { status: Some(status), next: Requeue::After(LOOK), ..Plan::nothing() })
        }
        false => Some(told(status::again(observed, now))),
    }
}

/// Why no pod can use the volume, as a reason and in words.
fn trouble(volume: &Volume) -> Option<(SampleDBSnapshotReason, &'static str)> {
    match volume {
        Volume::Absent => Some((SampleDBSnapshotReason::VolumeMissing, "is gone")),
        Volume::Claim { leaving: true, .. } => Some((SampleDBSnapshotReason::ClaimTerminating, "is being deleted")),
        Volume::Claim { lost: true, .. } => Some((SampleDBSnapshotReason::VolumeLost, "has lost its volume")),
        Volume::Unknown | Volume::Claim { .. } => None,
    }
}

/// Why no backup can be written any more: what is written to a volume that is going is of no use. A database that stays makes a
/// claim that is gone again; one that is being deleted waits for the backup first. A final one is taken anew by the database.
pub(super) fn ends_backup(observed: &Observed) -> Option<String> {
    let leaving = matches!(observed.volume, Volume::Claim { leaving: true, .. });
    let deleting = observed.source().is_some_and(|db| db.meta.deleting);
    let last = observed.snapshot.spec.reason == SnapshotReason::Final;
    let (_, how) = trouble(&observed.volume).filter(|_| !last && (leaving || deleting))?;
    let claim = observed.snapshot.status.location.claim.as_deref().unwrap_or_default();
    Some(format!("the backup was given up: the PVC {claim} of the snapshots {how}"))
}

/// Gives a verification up whose pod the claim lets nowhere: a Job that waits for its end would wait for its deadline, and pods
/// that have ended keep a claim from going.
pub(super) fn give_up(observed: &Observed, now: Timestamp) -> Option<SnapshotPlan> {
    let (reason, how) = trouble(&observed.volume)?;
    Some(match observed.jobs.iter().find(|job| !job.meta.deleting) {
        Some(job) => step(observed, gone(&job.meta, Job::KIND), now),
        None => told(without_volume(observed, reason, how, now)),
    })
}

/// Whether another snapshot on the same volume is being verified.
fn is_busy(observed: &Observed) -> bool {
    let snapshot = &*observed.snapshot;
    let others = observed.siblings.iter().filter(|other| other.meta.uid != snapshot.meta.uid && !other.meta.deleting);
    others
        .filter(|other| other.status.location.claim == snapshot.status.location.claim)
        .any(|other| snapshot_state::is_under_way(&other.status))
}

/// Its files are not on the volume.
pub(super) fn without_files(observed: &Observed, now: Timestamp) -> SampleDBSnapshotStatus {
    let snapshot = &*observed.snapshot;
    let (location, key) = (&snapshot.status.location, &snapshot.meta.key);
    let (claim, path) = (location.claim.as_deref().unwrap_or_default(), location.path.as_deref().unwrap_or_default());
    let message = format!(
        "the directory {path} is not on the volume of the PVC {claim}: delete this SampleDBSnapshot; or restore the contents of \
         the volume and run kubectl annotate sampledbsnapshot {} --namespace {} --overwrite {VERIFY}=\"$(date -u +%FT%TZ)\"",
        key.name, key.namespace
    );
    status::unproved(observed, SnapshotPhase::Failed, SampleDBSnapshotReason::FilesMissing, message, now)
}

/// What to say of files that are yet to be seen on the volume that there is now.
pub(super) fn unseen(observed: &Observed, why: &str) -> String {
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

/// No pod can read its files: it is of no use until there is a claim again.
pub(super) fn without_volume(
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
        at: since.or_else(|| time::second(now)),
        message: Some(message.clone()),
        request: before.verification.request.clone(),
        ..Default::default()
    };
    let phase = Some(SnapshotPhase::Failed);
    let status = SampleDBSnapshotStatus { phase, job: None, error: Some(message.clone()), verification, ..before };
    status::with(status, &Summary::Stalled, reason, message, now)
}

/// It is verified again once others on its volume have been; what is known stays until then.
pub(super) fn to_verify(observed: &Observed) -> SampleDBSnapshotStatus {
    let before = observed.snapshot.status.clone();
    let verification = SnapshotVerification {
        phase: Some(VerificationPhase::Pending),
        message: Some("waiting until other snapshots on the PVC are verified".to_owned()),
        ..before.verification
    };
    SampleDBSnapshotStatus { verification, ..before }
}
