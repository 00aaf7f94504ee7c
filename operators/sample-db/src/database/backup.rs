//! Pure: which snapshots to take and to let go, and how snapshots fare.

use api::sample_db::{
    BackupFailure, BackupStatus, BackupSuccess, BackupVerified, SampleDBEvent, SampleDBReason, SampleDBStatus,
    condition_type as domain,
};
use api::sample_db_snapshot::{SampleDBSnapshotStatus, SnapshotPhase, SnapshotReason};
use api::{ConditionStatus, Reason};
use jiff::{SignedDuration, Timestamp, Unit};
use runtime::cache::Projection;
use runtime::plan::{Create, Delete, Effect, EventDraft};

use super::effects::DbAct;
use super::objects;
use super::observed::Observed;
use super::schedule::Due;
use crate::operand::kinds::{SampleDB, Snapshot};
use crate::operand::snapshot_state::{is_bad, is_proved};
use due::due;
use fates::{Fate, fates};
use scheduled::{is_asked_of, is_of_this, is_scheduled, is_under_way};

pub(super) mod due;
pub(crate) mod fates;
pub(crate) mod health;
pub(crate) mod scheduled;

pub(crate) use due::next_due;

/// What is to be done about snapshots now.
#[derive(Debug, Default)]
pub(crate) struct Backups {
    /// What to do.
    pub(super) effect: Option<Effect<DbAct>>,
    /// What the schedule says; why it says nothing, otherwise.
    pub(super) due: Option<Result<Due, String>>,
    /// The time of which there is a snapshot by now.
    pub(super) taken: Option<Timestamp>,
}

/// Decides; for a database that serves.
pub(super) fn decide(observed: &Observed, now: Timestamp) -> Backups {
    let db = &*observed.db;
    let due = due(observed, now);
    let first = db.spec.backup.immediate() && db.status.backup.last_scheduled.is_none();
    let slot = match &due {
        _ if db.spec.backup.suspend => None,
        _ if first && db.spec.backup.schedule().is_some() => now.round(Unit::Second).ok(),
        Some(Ok(due)) => due.slot,
        _ => None,
    };
    let Some(slot) = slot else { return Backups { effect: surplus(observed, now).map(gone), taken: None, due } };
    // The status that is planned is written even if the snapshot could not be made: so it has to be seen first.
    let create = scheduled(db, slot);
    let is_it = |of: &Snapshot| {
        let serves_as_first = || is_scheduled(observed, of) && (is_of_this(observed, of) || is_taken(&of.status));
        of.meta.key == create.key && is_asked_of(observed, of) || first && serves_as_first()
    };
    let (taken, effect) = match observed.snapshots.iter().any(|of| is_it(of)) {
        true => (Some(slot), surplus(observed, now).map(gone)),
        false if is_busy(observed, now) => (None, surplus(observed, now).map(gone)),
        false => (None, Some(Effect::Create(create))),
    };
    Backups { effect, taken, due }
}

fn is_taken(status: &SampleDBSnapshotStatus) -> bool {
    status.completed_at.is_some() && !is_bad(status)
}

/// How many snapshots may be stuck. One that is, such as one that nothing lets begin, keeps no others from being tried, and
/// they do not pile up either.
const WAITING: usize = 2;

/// Whether a snapshot that comes due has to wait for others. One that has taken longer than its Jobs may, such as one whose
/// Job cannot be made, counts with those that wait. What somebody asked for by hand, and cannot be begun, is no matter of
/// the schedule's, nor is what an earlier object has left to be taken.
fn is_busy(observed: &Observed, now: Timestamp) -> bool {
    let deadline = observed.db.spec.backup.deadline_seconds();
    // The backup, its proof, and some time to begin them.
    let longest = SignedDuration::from_secs(deadline.saturating_mul(2).saturating_add(600));
    let overruns = |of: &&Snapshot| of.status.started_at.is_some_and(|at| now.duration_since(at) > longest);
    let all = || observed.snapshots.iter().map(|snapshot| &**snapshot);
    let running = || all().filter(|of| of.status.phase == Some(SnapshotPhase::Running));
    let pending = all().filter(|of| {
        let waits = matches!(of.status.phase, None | Some(SnapshotPhase::Pending));
        waits && is_scheduled(observed, of) && is_of_this(observed, of)
    });
    let mut in_time = running().filter(|of| !overruns(of));
    in_time.next().is_some() || pending.count() + running().count() >= WAITING
}

/// The snapshot of a time of the schedule: its name follows from the time, so that to make it twice makes one.
fn scheduled(db: &SampleDB, slot: Timestamp) -> Create {
    let name = format!("{}-{}", db.meta.key.name, slot.strftime("%y%m%d%H%M"));
    objects::snapshot(db, &name, SnapshotReason::Scheduled, None)
}

/// A snapshot of the schedule's that is kept no longer.
fn surplus(observed: &Observed, now: Timestamp) -> Option<&Snapshot> {
    let goes = |(snapshot, fate)| matches!(fate, Fate::Goes).then_some(snapshot);
    fates(observed, now).into_iter().find_map(goes)
}

fn gone(snapshot: &Snapshot) -> Effect<DbAct> {
    Effect::Delete(Delete::of(Snapshot::KIND, &snapshot.meta))
}

/// How snapshots fare.
pub(super) fn status(observed: &Observed, backups: &Backups) -> BackupStatus {
    let before = &observed.db.status.backup;
    let mut all: Vec<&Snapshot> = observed.own_snapshots().collect();
    all.sort_by_key(|snapshot| snapshot.status.started_at);
    let newest = |holds: fn(&SampleDBSnapshotStatus) -> bool| all.iter().rev().find(|of| holds(&of.status));
    let taken = newest(is_taken);
    let proved = newest(is_proved);
    let failed = newest(is_bad);
    // What is gone is remembered; what is there, and is no more what it was, is not.
    let is_gone = |name: &Option<String>| !all.iter().any(|of| name.as_deref() == Some(&*of.meta.key.name));
    let due = backups.due.as_ref().and_then(|due| due.as_ref().ok());
    // What is due waits while another one is under way; what came while the schedule rested is nobody's.
    let rests = observed.db.spec.backup.suspend;
    let over = due.filter(|due| rests || due.slot.is_none() || backups.taken.is_some());
    let passed = over.and_then(|due| due.latest);
    let missed = over.filter(|_| !rests).map_or(0, |due| due.missed).saturating_add(before.missed.unwrap_or(0));
    let failures = all.iter().rev().filter(|of| !is_under_way(&of.status)).take_while(|of| is_bad(&of.status)).count();
    let ready = all.iter().filter(|snapshot| snapshot.status.phase == Some(SnapshotPhase::Ready)).count();
    BackupStatus {
        next: due.and_then(|due| due.next).or(before.next.filter(|_| backups.due.is_none())),
        last_scheduled: backups.taken.or(passed).or(before.last_scheduled),
        missed: (missed > 0).then_some(missed),
        running: all.iter().find(|snapshot| is_under_way(&snapshot.status)).map(|of| of.meta.key.name.to_string()),
        last_successful: taken.map_or_else(
            || Some(before.last_successful.clone()).filter(|last| is_gone(&last.name)).unwrap_or_default(),
            |of| success(of),
        ),
        last_verified: proved.map_or_else(
            || Some(before.last_verified.clone()).filter(|last| is_gone(&last.name)).unwrap_or_default(),
            |of| verified(of),
        ),
        last_failure: failed.map_or_else(|| before.last_failure.clone(), |of| failure(of)),
        consecutive_failures: i32::try_from(failures).ok().filter(|count| *count > 0),
        count: i32::try_from(ready).ok(),
    }
}

fn success(snapshot: &Snapshot) -> BackupSuccess {
    BackupSuccess {
        name: Some(snapshot.meta.key.name.to_string()),
        time: snapshot.status.completed_at,
        bytes: snapshot.status.bytes,
        seconds: seconds(&snapshot.status),
    }
}

fn verified(snapshot: &Snapshot) -> BackupVerified {
    BackupVerified {
        name: Some(snapshot.meta.key.name.to_string()),
        time: snapshot.status.verification.at,
        seconds: snapshot.status.verification.seconds,
    }
}

fn failure(snapshot: &Snapshot) -> BackupFailure {
    BackupFailure {
        name: Some(snapshot.meta.key.name.to_string()),
        time: snapshot.status.verification.at.or(snapshot.status.started_at),
        message: snapshot.status.error.clone(),
    }
}

fn seconds(status: &SampleDBSnapshotStatus) -> Option<i64> {
    Some(status.completed_at?.duration_since(status.started_at?).as_secs())
}

/// What is told of snapshots on the database, once for each transition.
pub(super) fn events(before: &SampleDBStatus, after: &SampleDBStatus) -> Vec<EventDraft> {
    let mut events = Vec::new();
    let mut tell = |warning, reason: Reason, message: String| {
        events.push(EventDraft { warning, reason, message });
    };
    let (was, is) = (&before.backup, &after.backup);
    if let Some(name) = is.running.as_deref().filter(|_| is.running != was.running) {
        tell(false, SampleDBEvent::BackupStarted.into(), format!("the snapshot {name} is being taken"));
    }
    if let Some(name) =
        is.last_successful.name.as_deref().filter(|_| is.last_successful.time > was.last_successful.time)
    {
        tell(false, SampleDBEvent::BackupCompleted.into(), format!("the snapshot {name} was taken"));
    }
    let turned = |type_: &str, to: ConditionStatus| {
        let of = |status: &SampleDBStatus| status.contract.condition(type_).map(|of| (of.status, of.message.clone()));
        of(after).filter(|now| now.0 == to && of(before).as_ref() != Some(now)).map(|(_, message)| message)
    };
    let failed = turned(domain::BACKUP_HEALTHY, ConditionStatus::False);
    let unproved = turned(domain::BACKUP_VERIFIED, ConditionStatus::False);
    if let Some(message) = failed.filter(|_| unproved.is_none()) {
        let losing = SampleDBReason::SnapshotClaimTerminating;
        let now = after.contract.condition(domain::BACKUP_HEALTHY);
        let is_losing = now.is_some_and(|now| now.reason == losing);
        tell(true, if is_losing { losing.into() } else { SampleDBEvent::BackupFailed.into() }, message);
    }
    if let Some(message) = unproved {
        tell(true, SampleDBReason::VerificationFailed.into(), message);
    }
    if let Some(message) = turned(domain::BACKUP_VERIFIED, ConditionStatus::True) {
        tell(false, SampleDBEvent::BackupVerified.into(), message);
    }
    events
}

/// What is told of the effect once it has been done.
pub(super) fn done(backups: &Backups) -> Vec<EventDraft> {
    let Some(Effect::Delete(delete)) = &backups.effect else { return Vec::new() };
    let why = "there are enough newer ones, or it is old: backup.retention";
    let message = format!("the snapshot {} is removed: {why}", delete.key.name);
    vec![EventDraft { warning: false, reason: SampleDBEvent::SnapshotPruned.into(), message }]
}
