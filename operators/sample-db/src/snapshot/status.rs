//! Pure: the next status of a snapshot.

use agent_protocol::{PgDumpResult, PgVerifyResult};
use api::Contract;
use api::sample_db::{Method, VerifyMode};
use api::sample_db_snapshot::{
    SampleDBSnapshotReason, SampleDBSnapshotStatus, SnapshotCopy, SnapshotLocation, SnapshotPhase, SnapshotReason,
    SnapshotVerification, VerificationPhase,
};
use jiff::{Timestamp, Unit};
use runtime::status::conditions::Summary;

use super::jobs::{self, request};
use super::location;
use super::observed::Observed;
use super::size::humanize;
use super::store;
use crate::operand::kinds::{SampleDB, Snapshot};
use crate::operand::retention::{self, SoleContent};
use crate::operand::time::rounded;
use crate::operand::{names, snapshot_state};
use runtime::message;

/// Starts another verification. The other findings stay until it ends.
pub(crate) fn start_verification(observed: &Observed, now: Timestamp) -> SampleDBSnapshotStatus {
    let snapshot = &*observed.snapshot;
    let verification = SnapshotVerification {
        phase: Some(VerificationPhase::Running),
        request: request(snapshot),
        claim_uid: observed.volume.uid().map(str::to_owned),
        started_at: now.round(Unit::Second).ok(),
        ..Default::default()
    };
    SampleDBSnapshotStatus { verification, job: Some(jobs::verify_name(snapshot)), ..snapshot.status.clone() }
}

type Status = SampleDBSnapshotStatus;

pub(super) fn with(
    status: Status,
    summary: &Summary,
    reason: SampleDBSnapshotReason,
    message: impl Into<String>,
    now: Timestamp,
) -> Status {
    let conditions = summary.conditions(reason, message::shorten(message.into()), now);
    Status { contract: Contract { conditions, ..status.contract }, ..status }
}

/// The snapshot waits, and continues by itself.
pub(super) fn pending(observed: &Observed, reason: SampleDBSnapshotReason, message: String, now: Timestamp) -> Status {
    let status = Status { phase: Some(SnapshotPhase::Pending), ..observed.snapshot.status.clone() };
    with(status, &Summary::Reconciling, reason, message, now)
}

/// The snapshot is stalled until an administrator acts.
pub(super) fn stalled(observed: &Observed, reason: SampleDBSnapshotReason, message: String, now: Timestamp) -> Status {
    let status = Status { phase: Some(SnapshotPhase::Pending), ..observed.snapshot.status.clone() };
    with(status, &Summary::Stalled, reason, message, now)
}

/// Why a database is not Ready, after a colon.
pub(super) fn not_ready_suffix(db: &SampleDB) -> String {
    let ready = db.status.contract.condition(api::condition_type::READY);
    ready.map_or_else(String::new, |ready| format!(": {}", ready.message))
}

/// The backup starts. Everything that its Jobs need is recorded, since the database may be deleted before they run.
pub(super) fn started(observed: &Observed, db: &SampleDB, now: Timestamp) -> Status {
    let snapshot = &*observed.snapshot;
    let claim = db.status.storage.snapshot_claim.clone().unwrap_or_else(|| names::snapshot_claim(db));
    let method = match snapshot.spec.reason {
        // It may be taken while no server runs.
        SnapshotReason::Final => Method::Logical,
        _ => snapshot.spec.method.unwrap_or(db.spec.backup.method),
    };
    let status = Status {
        phase: Some(SnapshotPhase::Running),
        sample_db_uid: Some(db.meta.uid.to_string()),
        system_identifier: db.status.system_identifier.clone(),
        method: Some(method),
        database: Some(names::database(db).to_owned()),
        image: db.status.engine.image.clone(),
        job: Some(jobs::backup_name(snapshot)),
        started_at: rounded(now),
        location: SnapshotLocation { claim: Some(claim), path: Some(directory_name(snapshot)), claim_uid: None },
        store: store::latched(db),
        ..snapshot.status.clone()
    };
    with(status, &Summary::Reconciling, TAKING.0, TAKING.1, now)
}

/// The snapshot's own directory: files that an earlier snapshot of the same name left are never used as its own.
pub(super) fn directory_name(snapshot: &Snapshot) -> String {
    let uid: String = snapshot.meta.uid.chars().filter(char::is_ascii_alphanumeric).take(8).collect();
    format!("{}-{uid}", snapshot.meta.key.name)
}

/// How many of the objects that a snapshot does not contain are listed.
const NOT_COVERED: usize = 5;

/// Reason and message while its Job makes progress.
const TAKING: (SampleDBSnapshotReason, &str) = (SampleDBSnapshotReason::BackupRunning, "the backup is being taken");
const VERIFYING: (SampleDBSnapshotReason, &str) =
    (SampleDBSnapshotReason::VerificationRunning, "the backup is being verified");
const REMOVING: (SampleDBSnapshotReason, &str) = (SampleDBSnapshotReason::RemovingFiles, "its files are being removed");
/// The reason while a pod of its Job fails.
const POD_FAILING: SampleDBSnapshotReason = SampleDBSnapshotReason::PodInTrouble;

/// The Job runs; the status reports why its pod makes no progress, if so.
pub(super) fn in_progress(observed: &Observed, now: Timestamp) -> Status {
    let status = observed.snapshot.status.clone();
    let blocker = observed.diagnosis().map(|diagnosis| diagnosis.message.clone());
    if status.phase != Some(SnapshotPhase::Running) {
        // A snapshot that is verified again keeps its status until that ends.
        let message = blocker.filter(|_| snapshot_state::is_verifying(&status)).or(status.verification.message);
        return Status { verification: SnapshotVerification { message, ..status.verification }, ..status };
    }
    let status = location::with_claim_uid(observed);
    let (reason, doing) = if status.completed_at.is_none() { TAKING } else { VERIFYING };
    match blocker {
        Some(why) => {
            with(status, &Summary::Reconciling, POD_FAILING, format!("{doing}, but its pod waits: {why}"), now)
        }
        None => with(status, &Summary::Reconciling, reason, doing, now),
    }
}

/// It is being deleted, and its files removed.
pub(super) fn removing_files(observed: &Observed, now: Timestamp) -> Status {
    let (status, (reason, doing)) = (observed.snapshot.status.clone(), REMOVING);
    match observed.diagnosis() {
        Some(why) => {
            let message = format!("{doing}, but the pod that does so waits: {}", why.message);
            with(status, &Summary::Reconciling, POD_FAILING, message, now)
        }
        None => with(status, &Summary::Reconciling, reason, doing, now),
    }
}

/// Why the pod of its last Job made no progress.
pub(super) fn last_blocker(status: &Status) -> Option<String> {
    let ready = status.contract.condition(api::condition_type::READY);
    let failing = ready.filter(|ready| ready.reason == POD_FAILING).map(|ready| ready.message.clone());
    failing.or_else(|| status.verification.message.clone().filter(|_| snapshot_state::is_verifying(status)))
}

/// The backup is complete. Unless it is disabled, the verification comes next.
pub(super) fn backup_completed(observed: &Observed, result: &PgDumpResult, mode: VerifyMode, now: Timestamp) -> Status {
    let skipped = mode == VerifyMode::None;
    let verification = SnapshotVerification {
        phase: Some(if skipped { VerificationPhase::Skipped } else { VerificationPhase::Running }),
        // A verification that was requested earlier is this one.
        request: jobs::request(&observed.snapshot).filter(|_| !skipped),
        claim_uid: observed.volume.uid().map(str::to_owned).filter(|_| !skipped),
        started_at: rounded(now).filter(|_| !skipped),
        ..Default::default()
    };
    let before = &location::with_claim_uid(observed);
    // Existing files have their own date: a snapshot that has lost its status does not become the newest.
    let earlier = result.completed_at.filter(|_| result.reused).and_then(|at| Timestamp::from_second(at).ok());
    let status = Status {
        started_at: before.started_at.map(|started| earlier.map_or(started, |earlier| started.min(earlier))),
        system_identifier: result.system_identifier.clone().or_else(|| before.system_identifier.clone()),
        bytes: result.bytes,
        size: result.bytes.map(humanize),
        sha256: result.sha256.clone(),
        database_names: result.database_names.clone(),
        not_covered: result.not_covered.iter().take(NOT_COVERED).map(|of| message::shorten(of.clone())).collect(),
        engine_version: result.engine_version.clone(),
        completed_at: earlier.or_else(|| rounded(now)),
        volume: location::measured(observed, &result.volume, now),
        job: (!skipped).then(|| jobs::verify_name(&observed.snapshot)),
        verification,
        ..before.clone()
    };
    if skipped {
        let message = format!("{}; its verification is disabled", backup_message(&status));
        let status = Status { phase: Some(SnapshotPhase::Ready), ..status };
        return with(status, &Summary::Ready, SampleDBSnapshotReason::BackupCompleted, message, now);
    }
    with(status, &Summary::Reconciling, VERIFYING.0, VERIFYING.1, now)
}

/// The message about a completed backup.
pub(super) fn backup_message(status: &Status) -> String {
    let seconds =
        status.started_at.zip(status.completed_at).map_or(0, |(started, end)| end.duration_since(started).as_secs());
    format!("the backup was taken in {seconds} s, and takes {} on the volume", status.size.as_deref().unwrap_or("room"))
}

/// It has expired, but no later snapshot contains those databases. A snapshot that is not Ready reports the reason for that
/// instead.
pub(super) fn kept_after_expiry(observed: &Observed, alone: &SoleContent<'_>, now: Timestamp) -> Status {
    let status = observed.snapshot.status.clone();
    let Some((reason, how)) = usable_message(&status) else { return status };
    let why = retention::keep_message(&observed.snapshot, alone);
    with(status, &Summary::Ready, reason, format!("{how}; expired, but {why}"), now)
}

/// It has expired, but new databases are being restored from it. A snapshot that is not Ready reports the reason for that
/// instead.
pub(super) fn in_use_after_expiry(observed: &Observed, now: Timestamp) -> Status {
    let status = observed.snapshot.status.clone();
    let Some((reason, how)) = usable_message(&status) else { return status };
    let message = format!("{how}; expired, but {}", restoring_message(observed));
    with(status, &Summary::Ready, reason, message, now)
}

/// Reason and message of a snapshot that can be restored.
fn usable_message(status: &Status) -> Option<(SampleDBSnapshotReason, String)> {
    match status.verification.phase? {
        VerificationPhase::Passed => Some((SampleDBSnapshotReason::BackupVerified, verified_message(status))),
        VerificationPhase::Skipped => Some((SampleDBSnapshotReason::BackupCompleted, backup_message(status))),
        VerificationPhase::Pending | VerificationPhase::Running | VerificationPhase::Failed => None,
    }
}

/// It is being deleted, but new databases are being restored from it.
pub(super) fn deletion_waits_for_restores(observed: &Observed, now: Timestamp) -> Status {
    let message = format!("waiting to remove its files: {}", restoring_message(observed));
    with(observed.snapshot.status.clone(), &Summary::Reconciling, SampleDBSnapshotReason::SnapshotInUse, message, now)
}

/// The databases that are being restored from it, and how long its files stay.
fn restoring_message(observed: &Observed) -> String {
    let names = observed.restoring.join(", ");
    format!(
        "it is being restored into SampleDB {names}: the files stay until the restore ends, or that SampleDB is deleted and not protected \
         (spec.deletion.protection: false)"
    )
}

/// The message about a verified backup.
pub(super) fn verified_message(status: &Status) -> String {
    let of = &status.verification;
    let contents = of.tables.zip(of.rows).map_or_else(String::new, |(tables, rows)| match (tables, rows) {
        (0, 0) => String::new(),
        _ => format!(": {rows} rows in {tables} tables"),
    });
    format!("the backup was taken, and can be restored{contents}")
}

/// It passed verification.
pub(super) fn verified(observed: &Observed, found: &PgVerifyResult, now: Timestamp) -> Status {
    let before = observed.snapshot.status.clone();
    let verification = SnapshotVerification {
        phase: Some(VerificationPhase::Passed),
        tables: found.tables,
        rows: found.rows,
        message: None,
        ..ended(&before, now)
    };
    let volume = location::measured(observed, &found.volume, now);
    let status = Status { phase: Some(SnapshotPhase::Ready), job: None, error: None, volume, verification, ..before };
    let status = location::with_confirmed_files(status);
    let message = verified_message(&status);
    with(status, &Summary::Ready, SampleDBSnapshotReason::BackupVerified, message, now)
}

fn ended(before: &Status, now: Timestamp) -> SnapshotVerification {
    let was = before.verification.clone();
    let seconds = was.started_at.or(before.completed_at).map(|started| now.duration_since(started).as_secs());
    SnapshotVerification { at: rounded(now), seconds, ..was }
}

/// It failed verification, or that could not be carried out.
pub(super) fn verification_failed(
    observed: &Observed,
    phase: SnapshotPhase,
    reason: SampleDBSnapshotReason,
    message: String,
    now: Timestamp,
) -> Status {
    let before = observed.snapshot.status.clone();
    let verification = SnapshotVerification {
        phase: Some(VerificationPhase::Failed),
        message: Some(message.clone()),
        ..ended(&before, now)
    };
    let status = Status { phase: Some(phase), job: None, error: Some(message.clone()), verification, ..before };
    with(status, &Summary::Stalled, reason, message, now)
}

/// The backup failed: there is nothing to upload.
pub(super) fn failed(observed: &Observed, message: String, now: Timestamp) -> Status {
    let (before, store) = (observed.snapshot.status.clone(), SnapshotCopy::default());
    let status =
        Status { phase: Some(SnapshotPhase::Failed), job: None, error: Some(message.clone()), store, ..before };
    with(status, &Summary::Stalled, SampleDBSnapshotReason::BackupFailed, message, now)
}

/// It has expired.
pub(super) fn expired(observed: &Observed, now: Timestamp) -> Status {
    let status = Status { phase: Some(SnapshotPhase::Expired), ..observed.snapshot.status.clone() };
    with(status, &Summary::Reconciling, SampleDBSnapshotReason::Expired, "expired; the operator removes it", now)
}
