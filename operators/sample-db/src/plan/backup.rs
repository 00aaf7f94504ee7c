//! Which snapshots to take and to let go, and how snapshots fare. Pure.

use std::sync::Arc;

use api::sample_db::{BackupFailure, BackupStatus, BackupSuccess, BackupVerified, condition_type as domain, span};
use api::sample_db_snapshot::{SampleDBSnapshotStatus, SnapshotPhase, SnapshotReason, VerificationPhase};
use api::{Condition, ConditionStatus};
use jiff::{SignedDuration, Timestamp, Unit};
use runtime::cache::View;
use runtime::plan::conditions::condition;
use runtime::plan::{Create, Delete, Effect, meta};
use serde_json::json;

use super::schedule::{Due, Schedule};
use super::{DbAct, Observed};
use crate::snapshot::plan::is_proved;
use crate::{SampleDB, Snapshot};

/// What is to be done about snapshots now.
#[derive(Debug, Default)]
pub(super) struct Backups {
    /// What to do.
    pub(super) effect: Option<Effect<DbAct>>,
    /// What the schedule says; why it says nothing, otherwise.
    pub(super) due: Option<Result<Due, String>>,
    /// The time that is being made a snapshot of.
    pub(super) taken: Option<Timestamp>,
}

/// Decides; for a database that serves.
pub(super) fn decide(observed: &Observed, now: Timestamp) -> Backups {
    let db = &*observed.db;
    let due = due(db, now);
    let busy = observed.snapshots.iter().any(|snapshot| is_under_way(&snapshot.status));
    let first = db.spec.backup.immediate() && db.status.backup.last_scheduled.is_none();
    let slot = match &due {
        _ if db.spec.backup.suspend || busy => None,
        _ if first && db.spec.backup.schedule().is_some() => now.round(Unit::Second).ok(),
        Some(Ok(due)) => due.slot,
        _ => None,
    };
    let effect = match slot {
        Some(slot) => Some(Effect::Create(scheduled(db, slot))),
        None => surplus(observed, now).map(|snapshot| gone(snapshot)),
    };
    Backups { effect, taken: slot, due }
}

fn is_under_way(status: &SampleDBSnapshotStatus) -> bool {
    matches!(status.phase, None | Some(SnapshotPhase::Pending | SnapshotPhase::Running))
}

fn due(db: &SampleDB, now: Timestamp) -> Option<Result<Due, String>> {
    let backup = &db.spec.backup;
    let schedule = Schedule::parse(backup.schedule()?, backup.time_zone());
    let since = db.status.backup.last_scheduled.or(db.status.initialization.completed_at).unwrap_or(now);
    let deadline = SignedDuration::from_secs(backup.starting_deadline_seconds());
    Some(schedule.and_then(|schedule| schedule.due(since, now, deadline)))
}

/// The snapshot of a time of the schedule: its name follows from the time, so that to make it twice makes one.
fn scheduled(db: &SampleDB, slot: Timestamp) -> Create {
    let name = format!("{}-{}", db.meta.key.name, slot.strftime("%y%m%d%H%M"));
    let snapshot = json!({
        "metadata": { "labels": meta::labels(&SampleDB::KIND, &db.meta) },
        "spec": { "sampleDB": &*db.meta.key.name, "sampleDBUID": db.meta.uid, "reason": "Scheduled" },
    });
    Create::new(Snapshot::KIND, db.meta.key.sibling(&name), &snapshot)
}

/// A snapshot of the schedule's that is kept no longer. Never the newest that is proved.
fn surplus(observed: &Observed, now: Timestamp) -> Option<&Snapshot> {
    let retention = &observed.db.spec.backup.retention;
    let keep = usize::try_from(retention.keep_last()).unwrap_or(usize::MAX);
    let oldest = span(retention.max_age()).and_then(|age| now.checked_sub(age).ok());
    let ours = |snapshot: &&Arc<Snapshot>| {
        let of = snapshot.status.sample_db_uid.as_deref() == Some(&*observed.db.meta.uid);
        let over = !is_under_way(&snapshot.status) && !snapshot.meta.deleting;
        of && over && snapshot.spec.reason == SnapshotReason::Scheduled
    };
    let mut all: Vec<&Arc<Snapshot>> = observed.snapshots.iter().filter(ours).collect();
    all.sort_by_key(|snapshot| std::cmp::Reverse(snapshot.status.started_at));
    let proved = all.iter().position(|snapshot| is_proved(&snapshot.status));
    let mut good = 0;
    all.iter().enumerate().find_map(|(place, snapshot)| {
        let until = snapshot.spec.retain_until.is_some_and(|until| until > now);
        let old = snapshot.status.started_at.zip(oldest).is_some_and(|(at, oldest)| at < oldest);
        let many = good >= keep;
        good += usize::from(snapshot.status.phase == Some(SnapshotPhase::Ready));
        ((old || many) && !until && Some(place) != proved).then_some(&***snapshot)
    })
}

fn gone(snapshot: &Snapshot) -> Effect<DbAct> {
    let (key, uid) = (snapshot.meta.key.clone(), snapshot.meta.uid.clone());
    Effect::Delete(Delete { kind: Snapshot::KIND, key, uid, unless: None })
}

/// How snapshots fare.
pub(super) fn status(observed: &Observed, backups: &Backups) -> BackupStatus {
    let before = &observed.db.status.backup;
    let of = |snapshot: &&Arc<Snapshot>| snapshot.status.sample_db_uid.as_deref() == Some(&*observed.db.meta.uid);
    let mut all: Vec<&Arc<Snapshot>> = observed.snapshots.iter().filter(of).collect();
    all.sort_by_key(|snapshot| snapshot.status.started_at);
    let taken = all.iter().rev().find(|snapshot| snapshot.status.completed_at.is_some());
    let proved = all.iter().rev().find(|snapshot| is_proved(&snapshot.status));
    let failed = |snapshot: &&&Arc<Snapshot>| snapshot.status.phase == Some(SnapshotPhase::Failed);
    let due = backups.due.as_ref().and_then(|due| due.as_ref().ok());
    // What is due waits while another one is under way; what came while the schedule rested is nobody's.
    let rests = observed.db.spec.backup.suspend;
    let over = due.filter(|due| rests || due.slot.is_none() || backups.taken.is_some());
    let passed = over.and_then(|due| due.latest);
    let missed = over.filter(|_| !rests).map_or(0, |due| due.missed).saturating_add(before.missed.unwrap_or(0));
    BackupStatus {
        next: due.and_then(|due| due.next).or(before.next.filter(|_| backups.due.is_none())),
        last_scheduled: backups.taken.or(passed).or(before.last_scheduled),
        missed: (missed > 0).then_some(missed),
        running: all.iter().find(|snapshot| is_under_way(&snapshot.status)).map(|of| of.meta.key.name.to_string()),
        last_successful: taken.map_or_else(
            || before.last_successful.clone(),
            |snapshot| BackupSuccess {
                name: Some(snapshot.meta.key.name.to_string()),
                time: snapshot.status.completed_at,
                bytes: snapshot.status.bytes,
                seconds: seconds(&snapshot.status),
            },
        ),
        last_verified: proved.map_or_else(
            || before.last_verified.clone(),
            |snapshot| BackupVerified {
                name: Some(snapshot.meta.key.name.to_string()),
                time: snapshot.status.verification.at,
                seconds: snapshot.status.verification.seconds,
            },
        ),
        last_failure: all.iter().rev().find(failed).map_or_else(
            || before.last_failure.clone(),
            |snapshot| BackupFailure {
                name: Some(snapshot.meta.key.name.to_string()),
                time: snapshot.status.verification.at.or(snapshot.status.started_at),
                message: snapshot.status.error.clone(),
            },
        ),
        consecutive_failures: i32::try_from(all.iter().rev().take_while(failed).count())
            .ok()
            .filter(|count| *count > 0),
        count: i32::try_from(all.iter().filter(|snapshot| snapshot.status.phase == Some(SnapshotPhase::Ready)).count())
            .ok(),
    }
}

fn seconds(status: &SampleDBSnapshotStatus) -> Option<i64> {
    Some(status.completed_at?.duration_since(status.started_at?).as_secs())
}

/// Whether backups are as they should be.
pub(super) fn conditions(observed: &Observed, backups: &Backups, now: Timestamp) -> Vec<Condition> {
    let last = |judged: fn(&SampleDBSnapshotStatus) -> bool| {
        let judged = observed.snapshots.iter().filter(|snapshot| judged(&snapshot.status));
        judged.max_by_key(|snapshot| snapshot.status.started_at)
    };
    let ended = last(|status| matches!(status.phase, Some(SnapshotPhase::Ready | SnapshotPhase::Failed)));
    let healthy = match (&backups.due, ended) {
        (Some(Err(why)), _) => {
            condition(domain::BACKUP_HEALTHY, ConditionStatus::False, "ScheduleInvalid", why.clone(), now)
        }
        (_, Some(last)) if last.status.phase == Some(SnapshotPhase::Failed) => {
            let why = last.status.error.clone().unwrap_or_default();
            let why = format!("the snapshot {} failed: {why}", last.meta.key.name);
            condition(domain::BACKUP_HEALTHY, ConditionStatus::False, "LastFailed", why, now)
        }
        (_, Some(last)) => {
            let why = format!("the last snapshot is {}", last.meta.key.name);
            condition(domain::BACKUP_HEALTHY, ConditionStatus::True, "LastSucceeded", why, now)
        }
        (_, None) => {
            condition(domain::BACKUP_HEALTHY, ConditionStatus::Unknown, "NoneYet", "there is no snapshot yet", now)
        }
    };
    let judged =
        last(|status| matches!(status.verification.phase, Some(VerificationPhase::Passed | VerificationPhase::Failed)));
    let verified = match judged {
        Some(last) if is_proved(&last.status) => {
            let why = format!("the snapshot {} can be restored", last.meta.key.name);
            condition(domain::BACKUP_VERIFIED, ConditionStatus::True, "Verified", why, now)
        }
        Some(last) => {
            let why = last.status.verification.message.clone().unwrap_or_default();
            let why = format!("the snapshot {} cannot be relied upon: {why}", last.meta.key.name);
            condition(domain::BACKUP_VERIFIED, ConditionStatus::False, "VerificationFailed", why, now)
        }
        None => condition(
            domain::BACKUP_VERIFIED,
            ConditionStatus::Unknown,
            "NoneYet",
            "no snapshot has been verified yet",
            now,
        ),
    };
    vec![healthy, verified]
}
