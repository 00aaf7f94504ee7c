//! Pure: whether backups are as they should be.

use api::sample_db::{SampleDBReason, VerifyMode, condition_type as domain};
use api::sample_db_snapshot::{SnapshotPhase, VerificationPhase};
use api::{Condition, ConditionStatus, condition_type};
use jiff::{SignedDuration, Timestamp};
use runtime::status::conditions::condition;

use super::Backups;
use super::due::{is_ahead, rests};
use super::fates::{Fate, fates};
use super::scheduled::{is_scheduled, is_under_way, place};
use crate::database::observed::Observed;
use crate::database::schedule::Schedule;
use crate::database::storage::snapshots;
use crate::operand::kinds::Snapshot;
use crate::operand::retention;
use crate::operand::snapshot_state::{is_bad, is_in_doubt, is_proved};

/// Whether backups are as they should be.
pub(in crate::database) fn conditions(observed: &Observed, backups: &Backups, now: Timestamp) -> Vec<Condition> {
    vec![healthy(observed, backups, now), proved(observed, now)]
}

fn healthy(observed: &Observed, backups: &Backups, now: Timestamp) -> Condition {
    use ConditionStatus::{False, True, Unknown};
    let tell = |status, reason, why: String| condition(domain::BACKUP_HEALTHY, status, reason, why, now);
    if snapshots::are_leaving(observed) {
        return tell(False, SampleDBReason::SnapshotClaimTerminating, snapshots::leaving(observed));
    }
    if let Some(Err(why)) = &backups.due {
        return tell(False, SampleDBReason::ScheduleInvalid, why.clone());
    }
    let ended = |of: &&Snapshot| matches!(of.status.phase, Some(SnapshotPhase::Ready | SnapshotPhase::Failed));
    let last = observed.own_snapshots().filter(ended).max_by_key(|of| of.status.started_at);
    let late = overdue(observed, now).map(|since| overdue_sentence(observed, since));
    match (last, late) {
        (Some(last), _) if is_bad(&last.status) => {
            let why = last.status.error.clone().unwrap_or_default();
            tell(False, SampleDBReason::LastFailed, format!("the snapshot {}: {why}", last.meta.key.name))
        }
        (_, Some(why)) => tell(False, SampleDBReason::Overdue, why),
        (Some(last), None) => {
            let (name, lacks) = (&last.meta.key.name, lacks(last));
            tell(
                True,
                SampleDBReason::LastSucceeded,
                format!("the last snapshot is {name}{lacks}{}", kept(observed, now)),
            )
        }
        (None, None) => tell(Unknown, SampleDBReason::NoneYet, "there is no snapshot yet".to_owned()),
    }
}

/// What the last one does not hold is told while the database is there.
fn lacks(last: &Snapshot) -> String {
    let lacks = last.status.not_covered.join("; ");
    if lacks.is_empty() { lacks } else { format!("; it does not hold: {lacks}") }
}

/// The newest that is kept for a database which later ones lack: which was dropped, probably.
fn kept(observed: &Observed, now: Timestamp) -> String {
    let kept = fates(observed, now).into_iter().find_map(|(snapshot, fate)| match fate {
        Fate::Kept(alone) => Some(retention::sentence(snapshot, &alone)),
        Fate::Stays | Fate::Goes => None,
    });
    kept.map_or_else(String::new, |why| format!("; {why}"))
}

/// While backups by the schedule are overdue, or there are none since the schedule says no time: when the newest snapshot was
/// begun that counts, or the database was initialized. None of what has been written since is in a snapshot that counts.
pub(crate) fn overdue_since(observed: &Observed, now: Timestamp) -> Option<Timestamp> {
    let db = &*observed.db;
    let backup = &db.spec.backup;
    if rests(db) {
        return None;
    }
    let initialised = db.status.initialization.completed_at?;
    let schedule = Schedule::parse(backup.schedule()?, backup.time_zone());
    if schedule.is_ok_and(|schedule| schedule.after(now).is_some()) && overdue(observed, now).is_none() {
        return None;
    }
    let counting = observed.own_snapshots().filter(|of| counts(observed, of));
    let begun = counting.filter_map(|of| of.status.started_at).filter(|at| !is_ahead(*at, now));
    Some(begun.max().unwrap_or(initialised))
}

/// Since when a snapshot should have been begun that is verified by now, if none was, whatever the cause. Each has until the
/// next one is due to be taken and verified.
fn overdue(observed: &Observed, now: Timestamp) -> Option<Timestamp> {
    let db = &*observed.db;
    let backup = &db.spec.backup;
    let initialised = db.status.initialization.completed_at?;
    let schedule = Schedule::parse(backup.schedule().filter(|_| !backup.suspend)?, backup.time_zone()).ok()?;
    let schedule = schedule.spread(place(db));
    let intervals = if verifies(observed) { backup.verify.every_nth() } else { 1 };
    let earlier = |since: Timestamp| schedule.last(since.checked_sub(SignedDuration::from_secs(1)).ok()?);
    let since = (0..intervals).try_fold(schedule.last_started(now)?, |since, _| earlier(since))?;
    let will_do = |of: &&Snapshot| {
        counts(observed, of) && of.status.started_at.is_some_and(|at| at >= since && !is_ahead(at, now))
    };
    (since >= initialised && !observed.own_snapshots().any(|of| will_do(&of))).then_some(since)
}

fn verifies(observed: &Observed) -> bool {
    observed.db.spec.backup.verify.mode != VerifyMode::None
}

/// Whether a snapshot is as good as the spec wants it: verified, or taken where none is to be verified. One that is being
/// verified again is what it was until that ends.
fn counts(observed: &Observed, of: &Snapshot) -> bool {
    let again = of.status.phase == Some(SnapshotPhase::Ready) && is_in_doubt(&of.status);
    let taken = of.status.completed_at.is_some() && !is_bad(&of.status);
    if verifies(observed) { is_proved(&of.status) || again } else { taken }
}

fn overdue_sentence(observed: &Observed, since: Timestamp) -> String {
    // One that has not begun does not say yet whose it is.
    let all = || observed.snapshots.iter().map(|of| &**of).filter(|of| is_scheduled(observed, of));
    let waiting = all().find(|of| of.status.sample_db_uid.is_none() && is_under_way(&of.status));
    let under_way = observed.own_snapshots().find(|of| is_under_way(&of.status));
    let cause = under_way.or(waiting).map_or_else(String::new, |of| {
        let why = of.status.contract.condition(condition_type::READY).map(|ready| format!(": {}", ready.message));
        let how = if of.status.sample_db_uid.is_some() { "is under way" } else { "has not begun" };
        format!("; the snapshot {} {how}{}", of.meta.key.name, why.unwrap_or_default())
    });
    let done = if verifies(observed) { "verified" } else { "taken" };
    format!("no snapshot that was begun since {since} has been {done}, though backup.schedule asks for one{cause}")
}

/// By the last verdict, whichever snapshot it was about: files that went bad on a volume are no matter of that one alone.
fn proved(observed: &Observed, now: Timestamp) -> Condition {
    use ConditionStatus::{False, True, Unknown};
    let tell = |status, reason, why: String| condition(domain::BACKUP_VERIFIED, status, reason, why, now);
    let judged = |of: &&Snapshot| match of.status.verification.phase {
        // What is known of one whose files are being removed holds no longer, and is no bad news.
        Some(VerificationPhase::Passed) => is_proved(&of.status),
        Some(VerificationPhase::Failed) => true,
        // Its volume is gone.
        Some(VerificationPhase::Pending) => is_bad(&of.status),
        _ => false,
    };
    match observed.own_snapshots().filter(judged).max_by_key(|of| (of.status.verification.at, of.status.started_at)) {
        Some(last) if is_proved(&last.status) => {
            tell(True, SampleDBReason::Verified, format!("the snapshot {} can be restored", last.meta.key.name))
        }
        Some(last) => {
            let why = last.status.verification.message.clone().unwrap_or_default();
            let name = &last.meta.key.name;
            let why = format!("the snapshot {name} cannot be relied upon: {why}");
            tell(False, SampleDBReason::VerificationFailed, why)
        }
        None => tell(Unknown, SampleDBReason::NoneYet, "no snapshot has been verified yet".to_owned()),
    }
}
