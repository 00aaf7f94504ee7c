//! Pure: whether backups are healthy.

use api::sample_db::{SampleDBReason, VerifyMode, condition_type as domain};
use api::sample_db_snapshot::{SnapshotPhase, VerificationPhase};
use api::{Condition, ConditionStatus, condition_type};
use jiff::{SignedDuration, Timestamp};
use runtime::status::conditions::condition;

use super::Backups;
use super::due::{is_ahead, is_suspended};
use super::retention::{RetentionDecision, retention_decisions};
use super::scheduled::{is_scheduled, is_unfinished, spread_key};
use crate::database::observed::Observed;
use crate::database::storage::snapshots;
use crate::operand::kinds::Snapshot;
use crate::operand::retention;
use crate::operand::snapshot_state::{has_failed, is_reverifying, is_stored, is_verified, upload_failures};
use runtime::schedule::Schedule;

/// Whether backups are healthy.
pub(in crate::database) fn conditions(observed: &Observed, backups: &Backups, now: Timestamp) -> Vec<Condition> {
    vec![healthy(observed, backups, now), verified(observed, now)]
}

fn healthy(observed: &Observed, backups: &Backups, now: Timestamp) -> Condition {
    use ConditionStatus::{False, True, Unknown};
    let report = |status, reason, why: String| condition(domain::BACKUP_HEALTHY, status, reason, why, now);
    if snapshots::is_claim_terminating(observed) {
        return report(False, SampleDBReason::SnapshotClaimTerminating, snapshots::claim_terminating_message(observed));
    }
    if let Some(Err(why)) = &backups.due {
        return report(False, SampleDBReason::ScheduleInvalid, why.clone());
    }
    let ended = |of: &&Snapshot| matches!(of.status.phase, Some(SnapshotPhase::Ready | SnapshotPhase::Failed));
    let last = observed.own_snapshots().filter(ended).max_by_key(|of| of.status.started_at);
    let late = overdue(observed, now).map(|since| overdue_message(observed, since));
    match (last, late) {
        (Some(last), _) if has_failed(&last.status) => {
            let why = last.status.error.clone().unwrap_or_default();
            report(False, SampleDBReason::LastFailed, format!("the snapshot {}: {why}", last.meta.key.name))
        }
        (_, Some(why)) => report(False, SampleDBReason::Overdue, why),
        (Some(last), None) => match upload_failure(observed) {
            Some(why) => report(False, SampleDBReason::UploadFailed, why),
            None => {
                let (name, copy, lacks) = (&last.meta.key.name, copy(last), lacks(last));
                let message = format!("the last snapshot is {name}{copy}{lacks}{}", kept(observed, now));
                report(True, SampleDBReason::LastSucceeded, message)
            }
        },
        (None, None) => report(Unknown, SampleDBReason::NoneYet, "there is no snapshot yet".to_owned()),
    }
}

/// Why the newest snapshot that cannot be uploaded is not in the object store.
fn upload_failure(observed: &Observed) -> Option<String> {
    let failing = observed.own_snapshots().filter(|of| upload_failures(&of.status) > 0);
    let newest = failing.max_by_key(|of| of.status.started_at)?;
    let why = newest.status.store.message.as_deref().unwrap_or_default();
    Some(format!("the snapshot {} is only on its volume, since its upload failed: {why}", newest.meta.key.name))
}

/// Where the last snapshot has a copy.
fn copy(last: &Snapshot) -> String {
    let path = last.status.store.path.as_ref().filter(|_| is_stored(&last.status));
    path.map_or_else(String::new, |path| format!(", with a copy at s3://{path}"))
}

/// What the last snapshot does not contain, reported for as long as the database exists.
fn lacks(last: &Snapshot) -> String {
    let lacks = last.status.not_covered.join("; ");
    if lacks.is_empty() { lacks } else { format!("; it does not contain: {lacks}") }
}

/// The newest snapshot that is kept for a database that later ones lack, which was probably dropped.
fn kept(observed: &Observed, now: Timestamp) -> String {
    let kept = retention_decisions(observed, now).into_iter().find_map(|(snapshot, decision)| match decision {
        RetentionDecision::KeepForContent(alone) => Some(retention::keep_message(snapshot, &alone)),
        RetentionDecision::Keep | RetentionDecision::Delete => None,
    });
    kept.map_or_else(String::new, |why| format!("; {why}"))
}

/// Set while scheduled backups are overdue, or if the schedule has no time to come: when the newest snapshot that counts was
/// started, or the database was initialized. No snapshot that counts contains what was written since.
pub(crate) fn overdue_since(observed: &Observed, now: Timestamp) -> Option<Timestamp> {
    let db = &*observed.db;
    let backup = &db.spec.backup;
    if is_suspended(db) {
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

/// Since when a snapshot that is verified by now should have been started, if none was, whatever the cause. Each has until the
/// next one is due to be taken and verified.
fn overdue(observed: &Observed, now: Timestamp) -> Option<Timestamp> {
    let db = &*observed.db;
    let backup = &db.spec.backup;
    let initialised = db.status.initialization.completed_at?;
    let schedule = Schedule::parse(backup.schedule().filter(|_| !backup.suspend)?, backup.time_zone()).ok()?;
    let schedule = schedule.spread(spread_key(db));
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

/// Whether a snapshot is as good as the spec requires: verified, or taken where verification is off. One that is being verified
/// again counts until that ends.
fn counts(observed: &Observed, of: &Snapshot) -> bool {
    let again = of.status.phase == Some(SnapshotPhase::Ready) && is_reverifying(&of.status);
    let taken = of.status.completed_at.is_some() && !has_failed(&of.status);
    if verifies(observed) { is_verified(&of.status) || again } else { taken }
}

fn overdue_message(observed: &Observed, since: Timestamp) -> String {
    // A snapshot that has not started does not say yet which database it is of.
    let all = || observed.snapshots.iter().map(|of| &**of).filter(|of| is_scheduled(observed, of));
    let waiting = all().find(|of| of.status.sample_db_uid.is_none() && is_unfinished(&of.status));
    let under_way = observed.own_snapshots().find(|of| is_unfinished(&of.status));
    let cause = under_way.or(waiting).map_or_else(String::new, |of| {
        let why = of.status.contract.condition(condition_type::READY).map(|ready| format!(": {}", ready.message));
        let how = if of.status.sample_db_uid.is_some() { "is under way" } else { "has not started" };
        format!("; the snapshot {} {how}{}", of.meta.key.name, why.unwrap_or_default())
    });
    let done = if verifies(observed) { "verified" } else { "taken" };
    format!("no snapshot that was started since {since} has been {done}, as backup.schedule requires{cause}")
}

/// Reports the latest verdict, whichever snapshot it is about: files that went bad on a volume concern all of them.
fn verified(observed: &Observed, now: Timestamp) -> Condition {
    use ConditionStatus::{False, True, Unknown};
    let report = |status, reason, why: String| condition(domain::BACKUP_VERIFIED, status, reason, why, now);
    let has_verdict = |of: &&Snapshot| match of.status.verification.phase {
        // A snapshot whose files are being removed is no longer verified, and that is no failure.
        Some(VerificationPhase::Passed) => is_verified(&of.status),
        Some(VerificationPhase::Failed) => true,
        // Its volume was deleted.
        Some(VerificationPhase::Pending) => has_failed(&of.status),
        _ => false,
    };
    match observed
        .own_snapshots()
        .filter(has_verdict)
        .max_by_key(|of| (of.status.verification.at, of.status.started_at))
    {
        Some(last) if is_verified(&last.status) => {
            report(True, SampleDBReason::Verified, format!("the snapshot {} can be restored", last.meta.key.name))
        }
        Some(last) => {
            let why = last.status.verification.message.clone().unwrap_or_default();
            let name = &last.meta.key.name;
            let why = format!("the snapshot {name} is not usable: {why}");
            report(False, SampleDBReason::VerificationFailed, why)
        }
        None => report(Unknown, SampleDBReason::NoneYet, "no snapshot has been verified yet".to_owned()),
    }
}
