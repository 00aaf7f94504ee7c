//! Pure: the verification of a snapshot: by a Job, after it was taken and on request.

use agent_protocol::{FailureReason, PgVerifyResult};
use api::sample_db::VerifyMode;
use api::sample_db_snapshot::{
    SampleDBSnapshotReason, SampleDBSnapshotStatus, SnapshotPhase, SnapshotReason, VerificationPhase,
};
use jiff::Timestamp;
use runtime::job::JobProgress;
use runtime::plan::Effect;
use serde_json::json;

use super::effects::{SnapshotPlan, another_database, continue_with_result, failure_message, step, wait, write_status};
use super::jobs::{self, request};
use super::observed::Observed;
use super::{location, status, volume};
use crate::operand::kinds::{SampleDB, Snapshot};
use crate::operand::snapshot_state::{self, is_verifying};
use runtime::job::outcome::AgentOutcome;

/// The agent's reasons that mean damaged or incomplete files. Other reasons say nothing about the snapshot.
const CORRUPTION_REASONS: [FailureReason; 6] = [
    FailureReason::Corrupt,
    FailureReason::FileMissing,
    FailureReason::Truncated,
    FailureReason::ChecksumMismatch,
    FailureReason::CountMismatch,
    FailureReason::RestoreFailed,
];

/// The reason of a failed verification.
const FAILED: SampleDBSnapshotReason = SampleDBSnapshotReason::VerificationFailed;

/// Whether another verification is requested. Without files there is nothing to verify.
pub(super) fn is_requested(snapshot: &Snapshot) -> bool {
    let asked = request(snapshot);
    snapshot.status.completed_at.is_some() && asked.is_some() && asked != snapshot.status.verification.request
}

/// Verifies it.
pub(super) fn verify(observed: &Observed, now: Timestamp) -> SnapshotPlan {
    let name = jobs::verify_name(&observed.snapshot);
    let progress = observed.progress(&name);
    if let JobProgress::Absent | JobProgress::Ending | JobProgress::Active(_) = progress
        && let Some(plan) = volume::give_up_verification(observed, now)
    {
        return plan;
    }
    match progress {
        JobProgress::Absent => step(observed, Effect::Create(job(observed)), now),
        JobProgress::Ending | JobProgress::Active(_) => wait(observed, now),
        JobProgress::Complete(job, result) => continue_with_result(observed, job, result, now, |outcome| {
            let found: PgVerifyResult = outcome.result();
            match another_database(observed, found.system_identifier.as_deref(), false) {
                Some(why) => status::verification_failed(observed, SnapshotPhase::Failed, FAILED, why, now),
                None => status::verified(observed, &found, now),
            }
        }),
        JobProgress::Failed(_, message) => {
            let outcome = observed.outcome(&name);
            let reason = outcome.as_ref().and_then(AgentOutcome::reason);
            let why = failure_message(observed, outcome, message);
            write_status(match reason {
                Some(FailureReason::SnapshotMissing) => volume::files_missing(observed, now),
                Some(FailureReason::CheckFailed) => {
                    location::with_confirmed_files(failed_status(observed, reason, &why, now))
                }
                reason => failed_status(observed, reason, &why, now),
            })
        }
    }
}

/// The status after a failed verification. A verification that could not be carried out does not confirm files on a volume that
/// has replaced theirs.
fn failed_status(
    observed: &Observed,
    reason: Option<FailureReason>,
    why: &str,
    now: Timestamp,
) -> SampleDBSnapshotStatus {
    let (phase, message) = match classify(reason, why) {
        (SnapshotPhase::Ready, _)
            if snapshot_state::awaits_location_check(&observed.snapshot.status)
                && reason != Some(FailureReason::CheckFailed) =>
        {
            (SnapshotPhase::Failed, volume::unconfirmed_message(observed, why))
        }
        classified => classified,
    };
    status::verification_failed(observed, phase, FAILED, message, now)
}

fn job(observed: &Observed) -> runtime::plan::Create {
    let mode = match mode(observed) {
        VerifyMode::None if snapshot_state::awaits_location_check(&observed.snapshot.status) => VerifyMode::Checksum,
        // No image with the engine's programs is known, for example because the snapshot is imported for a database to come.
        _ if jobs::engine(observed).is_none() => VerifyMode::Checksum,
        // It was requested explicitly.
        VerifyMode::None => VerifyMode::Restore,
        mode => mode,
    };
    jobs::verify(observed, mode, checks(observed), deadline(observed))
}

/// How the snapshot is verified. A final one is always restored, whatever the spec says, since the data is deleted next.
pub(super) fn mode(observed: &Observed) -> VerifyMode {
    let asked = observed.adopter_or_source().map(|db| db.spec.backup.verify.mode).unwrap_or_default();
    match (observed.snapshot.spec.reason, asked) {
        (SnapshotReason::Final, _) => VerifyMode::Restore,
        (SnapshotReason::Scheduled, _) if !is_selected(observed) => VerifyMode::None,
        (_, asked) => asked,
    }
}

/// Whether a scheduled snapshot is verified: the first one, and every n-th after it.
fn is_selected(observed: &Observed) -> bool {
    let every = observed.adopter_or_source().map_or(1, |db| db.spec.backup.verify.every_nth());
    let snapshot = &*observed.snapshot;
    // A requested verification counts as well.
    if every <= 1 || is_verifying(&snapshot.status) {
        return true;
    }
    let of = |other: &&Snapshot| {
        let same = other.status.sample_db_uid == snapshot.status.sample_db_uid && other.meta.uid != snapshot.meta.uid;
        same && other.spec.reason == SnapshotReason::Scheduled && other.status.completed_at.is_some()
    };
    let was_verified = |other: &&Snapshot| {
        matches!(
            other.status.verification.phase,
            Some(VerificationPhase::Running | VerificationPhase::Passed | VerificationPhase::Failed)
        )
    };
    let others = || observed.siblings.iter().map(|other| &**other).filter(of);
    let Some(last) = others().filter(was_verified).map(|other| other.status.started_at).max() else { return true };
    let since = others().filter(|other| other.status.started_at > last).count();
    i32::try_from(since).unwrap_or(i32::MAX).saturating_add(1) >= every
}

/// The checks of the database's spec, as the agent reads them.
fn checks(observed: &Observed) -> Option<String> {
    let checks = &observed.adopter_or_source()?.spec.backup.verify.checks;
    let all: Vec<_> = checks.iter().map(|check| json!({ "sql": check.sql, "expect": check.expect })).collect();
    (!all.is_empty()).then(|| serde_json::Value::from(all).to_string())
}

fn deadline(observed: &Observed) -> i64 {
    let of = |db: &SampleDB| match observed.snapshot.spec.reason {
        SnapshotReason::Final => db.spec.deletion.timeout_seconds(),
        _ => db.spec.backup.deadline_seconds(),
    };
    observed.adopter_or_source().map_or(3600, of)
}

/// The phase and the message of a snapshot after a failed verification.
pub(super) fn classify(reason: Option<FailureReason>, message: &str) -> (SnapshotPhase, String) {
    match reason {
        Some(reason) if CORRUPTION_REASONS.contains(&reason) => {
            (SnapshotPhase::Failed, format!("verification failed: {message}"))
        }
        // It can be restored, but contains other data than the user expects.
        Some(FailureReason::CheckFailed) => (SnapshotPhase::Ready, format!("verification failed: {message}")),
        _ => (SnapshotPhase::Ready, format!("the snapshot was taken, but could not be verified: {message}")),
    }
}
