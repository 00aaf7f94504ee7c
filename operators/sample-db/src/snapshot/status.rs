//! Status of a snapshot. Pure.

use api::Contract;
use api::sample_db::VerifyMode;
use api::sample_db_snapshot::{
    SampleDBSnapshotStatus, SnapshotLocation, SnapshotPhase, SnapshotVerification, VerificationPhase,
};
use jiff::{Timestamp, Unit};
use runtime::plan::conditions::Summary;

use super::jobs;
use super::observed::Observed;
use crate::SampleDB;
use crate::plan::{Words, names};

type Status = SampleDBSnapshotStatus;

fn with(status: Status, summary: &Summary, reason: &'static str, message: impl Into<String>, now: Timestamp) -> Status {
    let conditions = summary.conditions(reason, message, now);
    Status { contract: Contract { conditions, ..status.contract }, ..status }
}

fn second(now: Timestamp) -> Option<Timestamp> {
    now.round(Unit::Second).ok()
}

/// It waits.
pub(super) fn waits(observed: &Observed, reason: &'static str, message: String, now: Timestamp) -> Status {
    let status = Status { phase: Some(SnapshotPhase::Pending), ..observed.snapshot.status.clone() };
    with(status, &Summary::Reconciling, reason, message, now)
}

/// What is going to be done: all that its Jobs need is written down, since the database may be gone before them.
pub(super) fn begun(observed: &Observed, db: &SampleDB, now: Timestamp) -> Status {
    let snapshot = &*observed.snapshot;
    let claim = db.status.storage.snapshot_claim.clone().unwrap_or_else(|| names::snapshot_claim(db));
    let status = Status {
        phase: Some(SnapshotPhase::Running),
        sample_db_uid: Some(db.meta.uid.to_string()),
        system_identifier: db.status.system_identifier.clone(),
        method: Some(snapshot.spec.method.unwrap_or(db.spec.backup.method)),
        database: Some(names::database(db).to_owned()),
        image: db.status.engine.image.clone(),
        job: Some(jobs::backup_name(snapshot)),
        started_at: second(now),
        location: SnapshotLocation { claim: Some(claim), path: Some(snapshot.meta.key.name.to_string()) },
        ..snapshot.status.clone()
    };
    with(status, &Summary::Reconciling, "BackupRunning", "the backup is being taken", now)
}

/// As it is.
pub(super) fn goes_on(observed: &Observed, now: Timestamp) -> Status {
    let status = observed.snapshot.status.clone();
    match status.completed_at {
        None => with(status, &Summary::Reconciling, "BackupRunning", "the backup is being taken", now),
        Some(_) if status.phase == Some(SnapshotPhase::Running) => {
            with(status, &Summary::Reconciling, "VerificationRunning", "the backup is being verified", now)
        }
        Some(_) => status,
    }
}

/// It has been taken; unless nobody asked for a proof, that comes next.
pub(super) fn taken(observed: &Observed, words: &Words, mode: VerifyMode, now: Timestamp) -> Status {
    let said = &words.said;
    let status = Status {
        bytes: said.bytes,
        size: said.bytes.map(for_people),
        sha256: said.sha256.clone(),
        engine_version: said.engine_version.clone(),
        completed_at: second(now),
        job: Some(jobs::verify_name(&observed.snapshot)),
        verification: SnapshotVerification { phase: Some(VerificationPhase::Running), ..Default::default() },
        ..observed.snapshot.status.clone()
    };
    if mode == VerifyMode::None {
        let verification = SnapshotVerification { phase: Some(VerificationPhase::Skipped), ..Default::default() };
        let status = Status { phase: Some(SnapshotPhase::Ready), job: None, verification, ..status };
        return with(status, &Summary::Ready, "Taken", "the backup was taken; nobody asked for a proof of it", now);
    }
    with(status, &Summary::Reconciling, "VerificationRunning", "the backup is being verified", now)
}

/// It stood the proof.
pub(super) fn verified(observed: &Observed, words: &Words, now: Timestamp) -> Status {
    let before = observed.snapshot.status.clone();
    let begun = before.completed_at;
    let verification = SnapshotVerification {
        phase: Some(VerificationPhase::Passed),
        at: second(now),
        seconds: begun.map(|begun| now.duration_since(begun).as_secs()),
        tables: words.said.tables,
        rows: words.said.rows,
        message: None,
    };
    let status = Status { phase: Some(SnapshotPhase::Ready), job: None, verification, ..before };
    with(status, &Summary::Ready, "Verified", "the backup was taken, and can be restored", now)
}

/// It failed.
pub(super) fn failed(observed: &Observed, reason: &'static str, message: String, now: Timestamp) -> Status {
    let before = observed.snapshot.status.clone();
    let mut verification = before.verification.clone();
    if before.completed_at.is_some() {
        verification.phase = Some(VerificationPhase::Failed);
        verification.at = second(now);
        verification.message = Some(message.clone());
    }
    let status =
        Status { phase: Some(SnapshotPhase::Failed), job: None, error: Some(message.clone()), verification, ..before };
    with(status, &Summary::Stalled, reason, message, now)
}

/// A number of bytes, for people.
fn for_people(bytes: i64) -> String {
    const UNITS: [&str; 4] = ["Ki", "Mi", "Gi", "Ti"];
    let mut rest = bytes.max(0);
    let mut shown = format!("{rest}");
    for unit in UNITS {
        if rest < 1024 {
            break;
        }
        shown = format!("{}.{}{unit}", rest / 1024, rest % 1024 * 10 / 1024);
        rest /= 1024;
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_for_people() {
        for (bytes, shown) in [(0, "0"), (1023, "1023"), (1024, "1.0Ki"), (12_897_485, "12.2Mi"), (3 << 30, "3.0Gi")] {
            assert_eq!(for_people(bytes), shown);
        }
    }
}
