//! Pure: which snapshots to take and to delete, and the status of backups.

use api::sample_db::{
    BackupFailure, BackupStatus, BackupStored, BackupSuccess, BackupVerified, SampleDBEvent, SampleDBReason,
    SampleDBStatus, condition_type as domain,
};
use api::sample_db_snapshot::{SampleDBSnapshotStatus, SnapshotPhase, SnapshotReason};
use api::{ConditionStatus, Reason};
use jiff::{SignedDuration, Timestamp, Unit};
use runtime::cache::Projection;
use runtime::plan::{Create, Delete, Effect, EventDraft};

use super::effects::DbAct;
use super::objects;
use super::observed::Observed;
use crate::operand::kinds::{SampleDB, Snapshot};
use crate::operand::snapshot_state::{has_failed, is_stored, is_verified};
use due::due;
use retention::{RetentionDecision, retention_decisions};
use runtime::schedule::Due;
use scheduled::{is_for_this, is_requested_for, is_scheduled, is_unfinished};

pub(super) mod due;
pub(crate) mod health;
pub(crate) mod retention;
pub(crate) mod scheduled;

pub(crate) use due::next_due;

/// What to do about snapshots now.
#[derive(Debug, Default)]
pub(crate) struct Backups {
    /// What to do, if anything.
    pub(super) effect: Option<Effect<DbAct>>,
    /// What the schedule says is due, or why it cannot be evaluated.
    pub(super) due: Option<Result<Due, String>>,
    /// The slot of the schedule for which a snapshot exists now.
    pub(super) taken: Option<Timestamp>,
}

/// Decides for a database that serves.
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
    let Some(slot) = slot else { return Backups { effect: expired(observed, now).map(delete), taken: None, due } };
    // The planned status is written even if creating the snapshot fails, so the snapshot must be observed first.
    let create = scheduled(db, slot);
    let is_it = |of: &Snapshot| {
        let serves_as_first = || is_scheduled(observed, of) && (is_for_this(observed, of) || is_taken(&of.status));
        of.meta.key == create.key && is_requested_for(observed, of) || first && serves_as_first()
    };
    let (taken, effect) = match observed.snapshots.iter().any(|of| is_it(of)) {
        true => (Some(slot), expired(observed, now).map(delete)),
        false if is_busy(observed, now) => (None, expired(observed, now).map(delete)),
        false => (None, Some(Effect::Create(create))),
    };
    Backups { effect, taken, due }
}

fn is_taken(status: &SampleDBSnapshotStatus) -> bool {
    status.completed_at.is_some() && !has_failed(status)
}

/// How many snapshots may be stuck, for example pending with no way to start. A stuck one does not stop others from being tried,
/// and stuck ones do not pile up.
const MAX_WAITING: usize = 2;

/// Whether a snapshot that is due has to wait for others. One that has run for longer than its Jobs may, for example because its
/// Job cannot be created, counts as waiting. Manual snapshots that cannot start do not block the schedule, nor do those that an
/// earlier object left pending.
fn is_busy(observed: &Observed, now: Timestamp) -> bool {
    let deadline = observed.db.spec.backup.deadline_seconds();
    // The backup, its verification, and some time to start them.
    let longest = SignedDuration::from_secs(deadline.saturating_mul(2).saturating_add(600));
    let overruns = |of: &&Snapshot| of.status.started_at.is_some_and(|at| now.duration_since(at) > longest);
    let all = || observed.snapshots.iter().map(|snapshot| &**snapshot);
    let running = || all().filter(|of| of.status.phase == Some(SnapshotPhase::Running));
    let pending = all().filter(|of| {
        let waits = matches!(of.status.phase, None | Some(SnapshotPhase::Pending));
        waits && is_scheduled(observed, of) && is_for_this(observed, of)
    });
    let mut in_time = running().filter(|of| !overruns(of));
    in_time.next().is_some() || pending.count() + running().count() >= MAX_WAITING
}

/// The snapshot of a slot of the schedule. Its name follows from the slot, so creating it twice creates one.
fn scheduled(db: &SampleDB, slot: Timestamp) -> Create {
    let name = format!("{}-{}", db.meta.key.name, slot.strftime("%y%m%d%H%M"));
    objects::snapshot(db, &name, SnapshotReason::Scheduled, None)
}

/// A scheduled snapshot that retention no longer keeps.
fn expired(observed: &Observed, now: Timestamp) -> Option<&Snapshot> {
    let is_expired = |(snapshot, decision)| matches!(decision, RetentionDecision::Delete).then_some(snapshot);
    retention_decisions(observed, now).into_iter().find_map(is_expired)
}

fn delete(snapshot: &Snapshot) -> Effect<DbAct> {
    Effect::Delete(Delete::of(Snapshot::KIND, &snapshot.meta))
}

/// The status of backups.
pub(super) fn status(observed: &Observed, backups: &Backups) -> BackupStatus {
    let before = &observed.db.status.backup;
    let mut all: Vec<&Snapshot> = observed.own_snapshots().collect();
    all.sort_by_key(|snapshot| snapshot.status.started_at);
    let newest = |holds: fn(&SampleDBSnapshotStatus) -> bool| all.iter().rev().find(|of| holds(&of.status));
    let taken = newest(is_taken);
    let newest_verified = newest(is_verified);
    let newest_stored = newest(is_stored);
    let failed = newest(has_failed);
    // A deleted snapshot stays in the status. One that still exists and no longer qualifies does not.
    let is_gone = |name: &Option<String>| !all.iter().any(|of| name.as_deref() == Some(&*of.meta.key.name));
    let due = backups.due.as_ref().and_then(|due| due.as_ref().ok());
    // A slot that is due waits while another snapshot is running. Slots that passed while the schedule was suspended are not
    // missed.
    let suspended = observed.db.spec.backup.suspend;
    let over = due.filter(|due| suspended || due.slot.is_none() || backups.taken.is_some());
    let passed = over.and_then(|due| due.latest);
    let missed = over.filter(|_| !suspended).map_or(0, |due| due.missed).saturating_add(before.missed.unwrap_or(0));
    let failures =
        all.iter().rev().filter(|of| !is_unfinished(&of.status)).take_while(|of| has_failed(&of.status)).count();
    let ready = all.iter().filter(|snapshot| snapshot.status.phase == Some(SnapshotPhase::Ready)).count();
    BackupStatus {
        next: due.and_then(|due| due.next).or(before.next.filter(|_| backups.due.is_none())),
        last_scheduled: backups.taken.or(passed).or(before.last_scheduled),
        missed: (missed > 0).then_some(missed),
        running: all.iter().find(|snapshot| is_unfinished(&snapshot.status)).map(|of| of.meta.key.name.to_string()),
        last_successful: taken.map_or_else(
            || Some(before.last_successful.clone()).filter(|last| is_gone(&last.name)).unwrap_or_default(),
            |of| success(of),
        ),
        last_verified: newest_verified.map_or_else(
            || Some(before.last_verified.clone()).filter(|last| is_gone(&last.name)).unwrap_or_default(),
            |of| verified(of),
        ),
        last_stored: newest_stored.map_or_else(
            || Some(before.last_stored.clone()).filter(|last| is_gone(&last.name)).unwrap_or_default(),
            |of| stored(of),
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

fn stored(snapshot: &Snapshot) -> BackupStored {
    BackupStored { name: Some(snapshot.meta.key.name.to_string()), time: snapshot.status.store.at }
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

/// The events about snapshots, once for each transition.
pub(super) fn events(before: &SampleDBStatus, after: &SampleDBStatus) -> Vec<EventDraft> {
    let mut events = Vec::new();
    let mut report = |warning, reason: Reason, message: String| {
        events.push(EventDraft { warning, reason, message });
    };
    let (was, is) = (&before.backup, &after.backup);
    if let Some(name) = is.running.as_deref().filter(|_| is.running != was.running) {
        report(false, SampleDBEvent::BackupStarted.into(), format!("taking the snapshot {name}"));
    }
    if let Some(name) =
        is.last_successful.name.as_deref().filter(|_| is.last_successful.time > was.last_successful.time)
    {
        report(false, SampleDBEvent::BackupCompleted.into(), format!("the snapshot {name} was taken"));
    }
    let turned = |type_: &str, to: ConditionStatus| {
        let of = |status: &SampleDBStatus| status.contract.condition(type_).map(|of| (of.status, of.message.clone()));
        of(after).filter(|now| now.0 == to && of(before).as_ref() != Some(now)).map(|(_, message)| message)
    };
    let failed = turned(domain::BACKUP_HEALTHY, ConditionStatus::False);
    let unverified = turned(domain::BACKUP_VERIFIED, ConditionStatus::False);
    if let Some(message) = failed.filter(|_| unverified.is_none()) {
        let losing = SampleDBReason::SnapshotClaimTerminating;
        let now = after.contract.condition(domain::BACKUP_HEALTHY);
        let is_losing = now.is_some_and(|now| now.reason == losing);
        report(true, if is_losing { losing.into() } else { SampleDBEvent::BackupFailed.into() }, message);
    }
    if let Some(message) = unverified {
        report(true, SampleDBReason::VerificationFailed.into(), message);
    }
    if let Some(message) = turned(domain::BACKUP_VERIFIED, ConditionStatus::True) {
        report(false, SampleDBEvent::BackupVerified.into(), message);
    }
    events
}

/// The events about the effect, once it was performed.
pub(super) fn done(backups: &Backups) -> Vec<EventDraft> {
    let Some(Effect::Delete(delete)) = &backups.effect else { return Vec::new() };
    let why = "backup.retention no longer keeps it";
    let message = format!("the snapshot {} was deleted: {why}", delete.key.name);
    vec![EventDraft { warning: false, reason: SampleDBEvent::SnapshotPruned.into(), message }]
}
