//! Pure: when the schedule's next snapshot is due.

use jiff::{SignedDuration, Timestamp};

use super::scheduled::place;
use crate::database::observed::Observed;
use crate::database::schedule::{Due, LATEST, Schedule};
use crate::operand::database_state::serves_while_deleting;
use crate::operand::kinds::SampleDB;

/// How far the clocks of two managers may differ that are set right.
const AHEAD: SignedDuration = SignedDuration::from_mins(10);

/// What the schedule says; nothing without one.
pub(super) fn due(observed: &Observed, now: Timestamp) -> Option<Result<Due, String>> {
    let db = &*observed.db;
    let backup = &db.spec.backup;
    let schedule = Schedule::parse(backup.schedule()?, backup.time_zone());
    let schedule = schedule.map(|schedule| schedule.spread(place(db)).looked_at_since(observed.began));
    let deadline = SignedDuration::from_secs(backup.starting_deadline_seconds());
    let since = match db.status.backup.last_scheduled {
        // A manager whose clock was ahead has written it: what is due by now has not been taken.
        Some(last) if is_ahead(last, now) => now.checked_sub(deadline + LATEST).unwrap_or(now),
        last => last.or(db.status.initialization.completed_at).unwrap_or(now),
    };
    Some(schedule.and_then(|schedule| schedule.due(since, now, deadline)))
}

/// Whether a time that was written down is yet to come, so that a clock was wrong.
pub(super) fn is_ahead(at: Timestamp, now: Timestamp) -> bool {
    at.duration_since(now) > AHEAD
}

/// Whether the schedule rests. That of a database that is being deleted does, unless `deletion.protection` keeps its server.
pub(super) fn rests(db: &SampleDB) -> bool {
    db.spec.paused || db.spec.backup.suspend || db.meta.deleting && !serves_while_deleting(db)
}

/// When the schedule's next snapshot is due: if that has come and nothing was done about it, then still that time. None
/// without a schedule, and while it rests.
pub(crate) fn next_due(db: &SampleDB, now: Timestamp) -> Option<Timestamp> {
    let (backup, status) = (&db.spec.backup, &db.status);
    if rests(db) {
        return None;
    }
    let schedule = Schedule::parse(backup.schedule()?, backup.time_zone()).ok()?.spread(place(db));
    let initialised = status.initialization.completed_at;
    match status.backup.last_scheduled.filter(|last| !is_ahead(*last, now)) {
        None if status.backup.last_scheduled.is_some() => schedule.last_started(now).map(|slot| schedule.start(slot)),
        None if backup.immediate() && initialised.is_some() => initialised,
        last => schedule.after(last.or(initialised).unwrap_or(now)).map(|slot| schedule.start(slot)),
    }
}
