//! Pure: when the schedule's next snapshot is due.

use jiff::{SignedDuration, Timestamp};

use super::scheduled::spread_key;
use crate::database::observed::Observed;
use crate::operand::database_state::serves_while_deleting;
use crate::operand::kinds::SampleDB;
use runtime::schedule::{Due, MAX_START_DELAY, Schedule};

/// How much the clocks of two managers may differ if both are synchronized.
const MAX_CLOCK_SKEW: SignedDuration = SignedDuration::from_mins(10);

/// What the schedule says is due; `None` without a schedule.
pub(super) fn due(observed: &Observed, now: Timestamp) -> Option<Result<Due, String>> {
    let db = &*observed.db;
    let backup = &db.spec.backup;
    let schedule = Schedule::parse(backup.schedule()?, backup.time_zone());
    let schedule = schedule.map(|schedule| schedule.spread(spread_key(db)).observed_since(observed.observing_since));
    let deadline = SignedDuration::from_secs(backup.starting_deadline_seconds());
    let since = match db.status.backup.last_scheduled {
        // A manager whose clock was ahead wrote it: what is due by now was not taken.
        Some(last) if is_ahead(last, now) => now.checked_sub(deadline + MAX_START_DELAY).unwrap_or(now),
        last => last.or(db.status.initialization.completed_at).unwrap_or(now),
    };
    let due = schedule.and_then(|schedule| schedule.due(since, now, deadline));
    Some(due.map_err(|error| format!("backup.{error}")))
}

/// Whether a recorded time is in the future, so a clock was wrong.
pub(super) fn is_ahead(at: Timestamp, now: Timestamp) -> bool {
    at.duration_since(now) > MAX_CLOCK_SKEW
}

/// Whether the schedule is suspended. That of a database that is being deleted is, unless `deletion.protection` keeps its server.
pub(super) fn is_suspended(db: &SampleDB) -> bool {
    db.spec.paused || db.spec.backup.suspend || db.meta.deleting && !serves_while_deleting(db)
}

/// When the schedule's next snapshot is due. If that time passed and nothing was done, it is still that time. `None` without a
/// schedule, and while it is suspended.
pub(crate) fn next_due(db: &SampleDB, now: Timestamp) -> Option<Timestamp> {
    let (backup, status) = (&db.spec.backup, &db.status);
    if is_suspended(db) {
        return None;
    }
    let schedule = Schedule::parse(backup.schedule()?, backup.time_zone()).ok()?.spread(spread_key(db));
    let initialised = status.initialization.completed_at;
    match status.backup.last_scheduled.filter(|last| !is_ahead(*last, now)) {
        None if status.backup.last_scheduled.is_some() => schedule.last_started(now).map(|slot| schedule.start(slot)),
        None if backup.immediate() && initialised.is_some() => initialised,
        last => schedule.after(last.or(initialised).unwrap_or(now)).map(|slot| schedule.start(slot)),
    }
}
