//! Pure: how a snapshot is proved to be of use: by a Job, after it was taken and whenever somebody asks.

use agent_protocol::{FailureReason, PgVerifyResult};
use api::sample_db::VerifyMode;
use api::sample_db_snapshot::{
    SampleDBSnapshotReason, SampleDBSnapshotStatus, SnapshotPhase, SnapshotReason, VerificationPhase,
};
use jiff::Timestamp;
use runtime::job::Progress;
use runtime::plan::Effect;
use serde_json::json;

use super::effects::{SnapshotPlan, another_database, heard, step, told, waits, why};
use super::jobs::{self, request};
use super::observed::Observed;
use super::{location, status, volume};
use crate::operand::job_result::Words;
use crate::operand::kinds::{SampleDB, Snapshot};
use crate::operand::snapshot_state::{self, is_under_way};

/// What the agent says of files that are not what was written, or that do not give what went in. Whatever else it fails
/// with says nothing against the snapshot.
const AGAINST: [FailureReason; 6] = [
    FailureReason::Corrupt,
    FailureReason::FileMissing,
    FailureReason::Truncated,
    FailureReason::ChecksumMismatch,
    FailureReason::CountMismatch,
    FailureReason::RestoreFailed,
];

/// The reason of one whose verification did not pass.
const FAILED: SampleDBSnapshotReason = SampleDBSnapshotReason::VerificationFailed;

/// Whether somebody wants another proof than there has been. Without files there is nothing to prove.
pub(super) fn is_asked_for(snapshot: &Snapshot) -> bool {
    let asked = request(snapshot);
    snapshot.status.completed_at.is_some() && asked.is_some() && asked != snapshot.status.verification.request
}

/// Proves it.
pub(super) fn prove(observed: &Observed, now: Timestamp) -> SnapshotPlan {
    let name = jobs::verify_name(&observed.snapshot);
    let progress = observed.progress(&name);
    if let Progress::Absent | Progress::Active(_) = progress
        && let Some(plan) = volume::give_up(observed, now)
    {
        return plan;
    }
    match progress {
        Progress::Absent => step(observed, Effect::Create(job(observed)), now),
        Progress::Active(_) => waits(observed, now),
        Progress::Complete(job, result) => heard(observed, job, result, now, |words| {
            let found: PgVerifyResult = words.result();
            match another_database(observed, found.system_identifier.as_deref(), false) {
                Some(why) => status::unproved(observed, SnapshotPhase::Failed, FAILED, why, now),
                None => status::verified(observed, &found, now),
            }
        }),
        Progress::Failed(_, message) => {
            let words = observed.words(&name);
            let reason = words.as_ref().and_then(Words::reason);
            let why = why(observed, words, message);
            told(match reason {
                Some(FailureReason::SnapshotMissing) => volume::without_files(observed, now),
                Some(FailureReason::CheckFailed) => location::with_files(of_verdict(observed, reason, &why, now)),
                reason => of_verdict(observed, reason, &why, now),
            })
        }
    }
}

/// What is told of one whose proof failed. What could not be carried out says nothing of files that were never seen on a volume
/// which has replaced theirs.
fn of_verdict(observed: &Observed, reason: Option<FailureReason>, why: &str, now: Timestamp) -> SampleDBSnapshotStatus {
    let (phase, message) = match verdict(reason, why) {
        (SnapshotPhase::Ready, _)
            if snapshot_state::is_looked_for(&observed.snapshot.status)
                && reason != Some(FailureReason::CheckFailed) =>
        {
            (SnapshotPhase::Failed, volume::unseen(observed, why))
        }
        told => told,
    };
    status::unproved(observed, phase, FAILED, message, now)
}

fn job(observed: &Observed) -> runtime::plan::Create {
    let mode = match mode(observed) {
        VerifyMode::None if snapshot_state::is_looked_for(&observed.snapshot.status) => VerifyMode::Checksum,
        // It runs, so somebody wants it.
        VerifyMode::None => VerifyMode::Restore,
        mode => mode,
    };
    jobs::verify(observed, mode, checks(observed), deadline(observed))
}

/// How it is to be proved: a final one by restoring it, whatever the spec says, since the data go next.
pub(super) fn mode(observed: &Observed) -> VerifyMode {
    let asked = observed.adopter_or_source().map(|db| db.spec.backup.verify.mode).unwrap_or_default();
    match (observed.snapshot.spec.reason, asked) {
        (SnapshotReason::Final, _) => VerifyMode::Restore,
        (SnapshotReason::Scheduled, _) if !is_its_turn(observed) => VerifyMode::None,
        (_, asked) => asked,
    }
}

/// Of the schedule's snapshots every n-th is proved, and the first.
fn is_its_turn(observed: &Observed) -> bool {
    let every = observed.adopter_or_source().map_or(1, |db| db.spec.backup.verify.every_nth());
    let snapshot = &*observed.snapshot;
    // What was asked for counts even if that is why it is proved.
    if every <= 1 || is_under_way(&snapshot.status) {
        return true;
    }
    let of = |other: &&Snapshot| {
        let same = other.status.sample_db_uid == snapshot.status.sample_db_uid && other.meta.uid != snapshot.meta.uid;
        same && other.spec.reason == SnapshotReason::Scheduled && other.status.completed_at.is_some()
    };
    let judged = |other: &&Snapshot| {
        matches!(
            other.status.verification.phase,
            Some(VerificationPhase::Running | VerificationPhase::Passed | VerificationPhase::Failed)
        )
    };
    let others = || observed.siblings.iter().map(|other| &**other).filter(of);
    let Some(last) = others().filter(judged).map(|other| other.status.started_at).max() else { return true };
    let since = others().filter(|other| other.status.started_at > last).count();
    i32::try_from(since).unwrap_or(i32::MAX).saturating_add(1) >= every
}

/// What the database's spec wants to be true of what is restored, as the agent reads it.
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

/// What becomes of a snapshot whose proof failed for that reason, and what is to be said of it.
pub(super) fn verdict(reason: Option<FailureReason>, words: &str) -> (SnapshotPhase, String) {
    match reason {
        Some(reason) if AGAINST.contains(&reason) => (SnapshotPhase::Failed, format!("verification failed: {words}")),
        // It can be restored, and gives other data than the user expects.
        Some(FailureReason::CheckFailed) => (SnapshotPhase::Ready, format!("verification failed: {words}")),
        _ => (SnapshotPhase::Ready, format!("the snapshot was taken, but could not be verified: {words}")),
    }
}
