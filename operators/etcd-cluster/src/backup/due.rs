//! Pure: which backup is due next, and when.

use api::etcd_backup::{BACKUP_NOW, EtcdBackupRun};
use api::time::DEFAULT_TIME_ZONE;
use jiff::{SignedDuration, Timestamp, Unit};
use runtime::job::attempts::Pauses;
use runtime::schedule::Schedule;

use super::observed::BackupObserved;
use crate::EtcdBackup;
use crate::plan::names::fingerprint;

/// How late a backup may begin: what was missed while no manager ran is taken once, however long that was.
const STARTING_DEADLINE: SignedDuration = SignedDuration::from_hours(24 * 365);
/// The pauses after failures.
const PAUSES: Pauses = Pauses { first: SignedDuration::from_secs(30), longest: SignedDuration::from_mins(30) };
/// The format of times in names.
const NAME_FORMAT: &str = "%Y%m%d-%H%M%S";

/// What is due.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum NextBackup {
    /// This backup, now.
    Now(EtcdBackupRun),
    /// Nothing before that time.
    At(Timestamp),
    /// Nothing any more.
    Never,
}

/// Which backup is due next.
///
/// # Errors
/// What is wrong with the schedule.
pub(super) fn next(observed: &BackupObserved, now: Timestamp) -> Result<NextBackup, String> {
    let backup = &*observed.backup;
    if backup.spec.suspend {
        return Ok(NextBackup::Never);
    }
    let due = match request(backup) {
        Some(request) => NextBackup::Now(requested(backup, request)),
        None => by_time(observed, now)?,
    };
    Ok(match (due, retry_at(backup)) {
        (NextBackup::Now(_), Some(at)) if at > now => NextBackup::At(at),
        (NextBackup::Now(run), _) => NextBackup::Now(EtcdBackupRun { started_at: now.round(Unit::Second).ok(), ..run }),
        (later, _) => later,
    })
}

/// The value of the annotation, if the backup that it requests is not complete.
fn request(backup: &EtcdBackup) -> Option<&str> {
    let asked = backup.annotations.get(BACKUP_NOW).map(|value| &**value).filter(|value| !value.is_empty());
    asked.filter(|asked| backup.status.last_request.as_deref() != Some(*asked))
}

fn requested(backup: &EtcdBackup, request: &str) -> EtcdBackupRun {
    let name = format!("{}-r{:08x}", backup.meta.key.name, fingerprint(request) & 0xffff_ffff);
    EtcdBackupRun { name, request: Some(request.to_owned()), ..EtcdBackupRun::default() }
}

fn by_time(observed: &BackupObserved, now: Timestamp) -> Result<NextBackup, String> {
    let backup = &*observed.backup;
    let (spec, status) = (&backup.spec, &backup.status);
    let created = backup.created.unwrap_or(now);
    if let Some(fields) = &spec.schedule {
        let schedule = Schedule::parse(fields, spec.time_zone.as_deref().unwrap_or(DEFAULT_TIME_ZONE))?;
        let schedule = schedule.spread(fingerprint(&backup.meta.uid)).observed_since(observed.observing_since);
        let due = schedule.due(status.last_scheduled.unwrap_or(created), now, STARTING_DEADLINE)?;
        return Ok(match (due.slot, due.next) {
            (Some(slot), _) => NextBackup::Now(scheduled(backup, slot)),
            (None, Some(next)) => NextBackup::At(next),
            (None, None) => NextBackup::Never,
        });
    }
    if let Some(interval) = spec.interval_seconds() {
        let Some(last) = status.last_scheduled else { return Ok(NextBackup::Now(scheduled(backup, created))) };
        return Ok(match slot_after(last, interval, now) {
            slot if slot <= now => NextBackup::Now(scheduled(backup, slot)),
            later => NextBackup::At(later),
        });
    }
    if status.last_success_date.is_some() {
        return Ok(NextBackup::Never);
    }
    let name = backup.meta.key.name.to_string();
    Ok(NextBackup::Now(EtcdBackupRun { name, ..EtcdBackupRun::default() }))
}

fn scheduled(backup: &EtcdBackup, slot: Timestamp) -> EtcdBackupRun {
    let name = format!("{}-{}", backup.meta.key.name, slot.strftime(NAME_FORMAT));
    EtcdBackupRun { name, scheduled: Some(slot), ..EtcdBackupRun::default() }
}

/// The latest time by an interval that has come, or the next one. Missed ones are not caught up.
fn slot_after(last: Timestamp, interval: i64, now: Timestamp) -> Timestamp {
    let elapsed = now.duration_since(last).as_secs();
    let intervals = elapsed.checked_div(interval).unwrap_or(0).max(1);
    last.checked_add(SignedDuration::from_secs(intervals.saturating_mul(interval))).unwrap_or(now)
}

/// When a backup may be tried again after a failure; at once if the spec has changed since.
fn retry_at(backup: &EtcdBackup) -> Option<Timestamp> {
    let status = &backup.status;
    if status.failures == 0 || status.failed_generation != Some(backup.meta.generation) {
        return None;
    }
    PAUSES.next(status.last_failure?, status.failures)
}
