//! Pure: status of a snapshot.

use agent_protocol::{PgDumpResult, PgVerifyResult};
use api::Contract;
use api::sample_db::{Method, VerifyMode};
use api::sample_db_snapshot::{
    SampleDBSnapshotReason, SampleDBSnapshotStatus, SnapshotLocation, SnapshotPhase, SnapshotReason,
    SnapshotVerification, VerificationPhase,
};
use jiff::{Timestamp, Unit};
use runtime::status::conditions::Summary;

use super::jobs::{self, request};
use super::location;
use super::observed::Observed;
use super::size::for_people;
use crate::operand::kinds::{SampleDB, Snapshot};
use crate::operand::retention::{self, Alone};
use crate::operand::time::second;
use crate::operand::{message, names, snapshot_state};

/// It begins again; what is known stays until it ends.
pub(crate) fn again(observed: &Observed, now: Timestamp) -> SampleDBSnapshotStatus {
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
    let conditions = summary.conditions(reason, message::message(message.into()), now);
    Status { contract: Contract { conditions, ..status.contract }, ..status }
}

/// It waits.
pub(super) fn waits(observed: &Observed, reason: SampleDBSnapshotReason, message: String, now: Timestamp) -> Status {
    let status = Status { phase: Some(SnapshotPhase::Pending), ..observed.snapshot.status.clone() };
    with(status, &Summary::Reconciling, reason, message, now)
}

/// It waits for a person.
pub(super) fn stuck(observed: &Observed, reason: SampleDBSnapshotReason, message: String, now: Timestamp) -> Status {
    let status = Status { phase: Some(SnapshotPhase::Pending), ..observed.snapshot.status.clone() };
    with(status, &Summary::Stalled, reason, message, now)
}

/// Why a database is not Ready, after a colon.
pub(super) fn because(db: &SampleDB) -> String {
    let ready = db.status.contract.condition(api::condition_type::READY);
    ready.map_or_else(String::new, |ready| format!(": {}", ready.message))
}

/// What is going to be done: all that its Jobs need is written down, since the database may be gone before them.
pub(super) fn begun(observed: &Observed, db: &SampleDB, now: Timestamp) -> Status {
    let snapshot = &*observed.snapshot;
    let claim = db.status.storage.snapshot_claim.clone().unwrap_or_else(|| names::snapshot_claim(db));
    let method = match snapshot.spec.reason {
        // It may have to be taken while no server runs.
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
        started_at: second(now),
        location: SnapshotLocation { claim: Some(claim), path: Some(folder(snapshot)), claim_uid: None },
        ..snapshot.status.clone()
    };
    with(status, &Summary::Reconciling, TAKING.0, TAKING.1, now)
}

/// Its own folder: files that an earlier snapshot of the name left are never taken for its own.
pub(super) fn folder(snapshot: &Snapshot) -> String {
    let uid: String = snapshot.meta.uid.chars().filter(char::is_ascii_alphanumeric).take(8).collect();
    format!("{}-{uid}", snapshot.meta.key.name)
}

/// How much of what a snapshot does not hold is told.
const NOT_COVERED: usize = 5;

/// Reason and words while nothing hinders.
const TAKING: (SampleDBSnapshotReason, &str) = (SampleDBSnapshotReason::BackupRunning, "the backup is being taken");
const PROVING: (SampleDBSnapshotReason, &str) =
    (SampleDBSnapshotReason::VerificationRunning, "the backup is being verified");
const REMOVING: (SampleDBSnapshotReason, &str) = (SampleDBSnapshotReason::RemovingFiles, "its files are being removed");
/// The reason while something does.
const HINDERED: SampleDBSnapshotReason = SampleDBSnapshotReason::PodInTrouble;

/// As it is, with what keeps its Job from working.
pub(super) fn goes_on(observed: &Observed, now: Timestamp) -> Status {
    let status = observed.snapshot.status.clone();
    let hindrance = observed.trouble().map(|trouble| trouble.message.clone());
    if status.phase != Some(SnapshotPhase::Running) {
        // One that is proved again is what it was until that ends.
        let message = hindrance.filter(|_| snapshot_state::is_under_way(&status)).or(status.verification.message);
        return Status { verification: SnapshotVerification { message, ..status.verification }, ..status };
    }
    let status = location::found(observed);
    let (reason, doing) = if status.completed_at.is_none() { TAKING } else { PROVING };
    match hindrance {
        Some(why) => with(status, &Summary::Reconciling, HINDERED, format!("{doing}, but its pod waits: {why}"), now),
        None => with(status, &Summary::Reconciling, reason, doing, now),
    }
}

/// It is being deleted.
pub(super) fn goes(observed: &Observed, now: Timestamp) -> Status {
    let (status, (reason, doing)) = (observed.snapshot.status.clone(), REMOVING);
    match observed.trouble() {
        Some(why) => {
            let message = format!("{doing}, but the pod that does so waits: {}", why.message);
            with(status, &Summary::Reconciling, HINDERED, message, now)
        }
        None => with(status, &Summary::Reconciling, reason, doing, now),
    }
}

/// What kept its last Job from working.
pub(super) fn hindrance(status: &Status) -> Option<String> {
    let ready = status.contract.condition(api::condition_type::READY);
    let told = ready.filter(|ready| ready.reason == HINDERED).map(|ready| ready.message.clone());
    told.or_else(|| status.verification.message.clone().filter(|_| snapshot_state::is_under_way(status)))
}

/// It has been taken; unless nobody asked for a proof, that comes next.
pub(super) fn taken_of(observed: &Observed, said: &PgDumpResult, mode: VerifyMode, now: Timestamp) -> Status {
    let skipped = mode == VerifyMode::None;
    let verification = SnapshotVerification {
        phase: Some(if skipped { VerificationPhase::Skipped } else { VerificationPhase::Running }),
        // A proof that was asked for before it could begin is this one.
        request: jobs::request(&observed.snapshot).filter(|_| !skipped),
        claim_uid: observed.volume.uid().map(str::to_owned).filter(|_| !skipped),
        started_at: second(now).filter(|_| !skipped),
        ..Default::default()
    };
    let before = &location::found(observed);
    // Files that were there already are as old as they say: a snapshot that has lost its status does not become the newest.
    let earlier = said.completed_at.filter(|_| said.reused).and_then(|at| Timestamp::from_second(at).ok());
    let status = Status {
        started_at: before.started_at.map(|begun| earlier.map_or(begun, |earlier| begun.min(earlier))),
        system_identifier: said.system_identifier.clone().or_else(|| before.system_identifier.clone()),
        bytes: said.bytes,
        size: said.bytes.map(for_people),
        sha256: said.sha256.clone(),
        database_names: said.database_names.clone(),
        not_covered: said.not_covered.iter().take(NOT_COVERED).map(|of| message::message(of.clone())).collect(),
        engine_version: said.engine_version.clone(),
        completed_at: earlier.or_else(|| second(now)),
        volume: location::measured(observed, &said.volume, now),
        job: (!skipped).then(|| jobs::verify_name(&observed.snapshot)),
        verification,
        ..before.clone()
    };
    if skipped {
        let message = format!("{}; its verification is disabled", taken(&status));
        let status = Status { phase: Some(SnapshotPhase::Ready), ..status };
        return with(status, &Summary::Ready, SampleDBSnapshotReason::BackupCompleted, message, now);
    }
    with(status, &Summary::Reconciling, PROVING.0, PROVING.1, now)
}

/// What there is to say of one that was taken.
pub(super) fn taken(status: &Status) -> String {
    let seconds =
        status.started_at.zip(status.completed_at).map_or(0, |(begun, end)| end.duration_since(begun).as_secs());
    format!("the backup was taken in {seconds} s, and takes {} on the volume", status.size.as_deref().unwrap_or("room"))
}

/// Its time is over, but no later one holds those databases. One that is not Ready says why instead.
pub(super) fn kept(observed: &Observed, alone: &Alone<'_>, now: Timestamp) -> Status {
    let status = observed.snapshot.status.clone();
    let Some((reason, how)) = good(&status) else { return status };
    let why = retention::sentence(&observed.snapshot, alone);
    with(status, &Summary::Ready, reason, format!("{how}; expired, but {why}"), now)
}

/// Its time is over, but new databases are being filled from it. One that is not Ready says why instead.
pub(super) fn read(observed: &Observed, now: Timestamp) -> Status {
    let status = observed.snapshot.status.clone();
    let Some((reason, how)) = good(&status) else { return status };
    let message = format!("{how}; expired, but {}", readers(observed));
    with(status, &Summary::Ready, reason, message, now)
}

/// What is told of one that can be restored.
fn good(status: &Status) -> Option<(SampleDBSnapshotReason, String)> {
    match status.verification.phase? {
        VerificationPhase::Passed => Some((SampleDBSnapshotReason::BackupVerified, proved(status))),
        VerificationPhase::Skipped => Some((SampleDBSnapshotReason::BackupCompleted, taken(status))),
        VerificationPhase::Pending | VerificationPhase::Running | VerificationPhase::Failed => None,
    }
}

/// It is being deleted, and new databases are being filled from it.
pub(super) fn in_use(observed: &Observed, now: Timestamp) -> Status {
    let message = format!("waiting to remove its files: {}", readers(observed));
    with(observed.snapshot.status.clone(), &Summary::Reconciling, SampleDBSnapshotReason::SnapshotInUse, message, now)
}

/// Who reads it, and until when.
fn readers(observed: &Observed) -> String {
    let names = observed.restoring.join(", ");
    format!(
        "it is being restored into SampleDB {names}: the files stay until the restore ends, or that SampleDB is deleted and not protected \
         (spec.deletion.protection: false)"
    )
}

/// What there is to say of one that stood the proof.
pub(super) fn proved(status: &Status) -> String {
    let of = &status.verification;
    let contents = of.tables.zip(of.rows).map_or_else(String::new, |(tables, rows)| match (tables, rows) {
        (0, 0) => String::new(),
        _ => format!(": {rows} rows in {tables} tables"),
    });
    format!("the backup was taken, and can be restored{contents}")
}

/// It stood the proof.
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
    let status = location::with_files(status);
    let message = proved(&status);
    with(status, &Summary::Ready, SampleDBSnapshotReason::BackupVerified, message, now)
}

fn ended(before: &Status, now: Timestamp) -> SnapshotVerification {
    let was = before.verification.clone();
    let seconds = was.started_at.or(before.completed_at).map(|begun| now.duration_since(begun).as_secs());
    SnapshotVerification { at: second(now), seconds, ..was }
}

/// It failed verification, or that could not be carried out.
pub(super) fn unproved(
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

/// It could not be taken.
pub(super) fn failed(observed: &Observed, message: String, now: Timestamp) -> Status {
    let before = observed.snapshot.status.clone();
    let status = Status { phase: Some(SnapshotPhase::Failed), job: None, error: Some(message.clone()), ..before };
    with(status, &Summary::Stalled, SampleDBSnapshotReason::BackupFailed, message, now)
}

/// Its time is over.
pub(super) fn expired(observed: &Observed, now: Timestamp) -> Status {
    let status = Status { phase: Some(SnapshotPhase::Expired), ..observed.snapshot.status.clone() };
    with(status, &Summary::Reconciling, SampleDBSnapshotReason::Expired, "expired; the operator removes it", now)
}
