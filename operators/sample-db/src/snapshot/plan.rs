//! Pure: what to do about a SampleDBSnapshot.

use std::time::Duration;

use agent_protocol::{FailureReason, PgDumpResult};
use api::sample_db_snapshot::{
    SNAPSHOT_FILES, SampleDBSnapshotReason, SampleDBSnapshotStatus, SnapshotPhase, SnapshotReason,
};
use jiff::Timestamp;
use runtime::cache::Projection;
use runtime::job::Progress;
use runtime::plan::{Apply, Effect, Plan, Requeue};
use runtime::projections::Job;

use super::effects::{LATER, STEP, SnapshotPlan, another_database, gone, heard, step, told, waits, why};
use super::observed::Observed;
use super::{events, finalizer, jobs, record, status, verification, volume};
use crate::operand::database_state::serves_while_deleting;
use crate::operand::kinds::Snapshot;
use crate::operand::retention::{self, Alone};
use crate::operand::snapshot_state::is_settled;

/// Decides.
#[must_use]
pub fn plan(observed: &Observed, now: Timestamp) -> SnapshotPlan {
    if let Some(plan) = record::plan(observed, now) {
        return plan;
    }
    let mut plan = decide(observed, now);
    if let Some(after) = &plan.status {
        plan.events.extend(events::of(&observed.snapshot, after));
    }
    plan
}

fn decide(observed: &Observed, now: Timestamp) -> SnapshotPlan {
    let snapshot = &*observed.snapshot;
    if snapshot.meta.deleting {
        return finalizer::plan(observed, now);
    }
    if !snapshot.meta.is_held_by(SNAPSHOT_FILES) {
        let hold = Effect::Apply(Apply::finalizers(Snapshot::KIND, &snapshot.meta, &[SNAPSHOT_FILES]));
        return Plan { effects: vec![hold], next: Requeue::After(STEP), ..Plan::nothing() };
    }
    // What is latched is recorded before anything relies on it; a write to the object itself keeps its status from being written.
    if let Some(keep) = record::keep(snapshot) {
        return Plan { effects: vec![keep], next: Requeue::After(STEP), ..Plan::nothing() };
    }
    let status = &snapshot.status;
    match status.phase {
        Some(SnapshotPhase::Expired) => finalizer::expired(observed),
        Some(SnapshotPhase::Ready | SnapshotPhase::Failed) if is_settled(status) => settled(observed, now),
        Some(SnapshotPhase::Ready | SnapshotPhase::Failed) => verification::prove(observed, now),
        Some(SnapshotPhase::Running) if status.completed_at.is_some() => verification::prove(observed, now),
        Some(SnapshotPhase::Running) => take(observed, now),
        Some(SnapshotPhase::Pending) | None => begin(observed, now),
    }
}

/// Writes down what is going to be done, once it can be.
fn begin(observed: &Observed, now: Timestamp) -> SnapshotPlan {
    let told = |status| Plan { status: Some(status), next: Requeue::After(LATER), ..Plan::nothing() };
    let wait = |reason, message: String| told(status::waits(observed, reason, message, now));
    let stuck = |reason, message: String| told(status::stuck(observed, reason, message, now));
    let spec = &observed.snapshot.spec;
    let name = &spec.sample_db;
    let Some(db) = observed.source() else {
        let message = match &observed.db {
            None => format!("the SampleDB {name} does not exist; the snapshot is taken once it exists"),
            Some(_) => format!(
                "the SampleDB {name} this snapshot refers to was deleted and recreated (different UID); delete this snapshot"
            ),
        };
        return stuck(SampleDBSnapshotReason::SampleDBMissing, message);
    };
    let last = spec.reason == SnapshotReason::Final;
    match () {
        () if last && !db.meta.deleting => stuck(
            SampleDBSnapshotReason::NotDeleting,
            format!(
                "a snapshot with the reason Final is what the operator takes of a SampleDB that is being deleted, and {name} is \
                 not: make one without spec.reason"
            ),
        ),
        () if last && db.status.initialization.data_created_at.is_some() && db.status.storage.claim.is_some() => {
            started(observed, now)
        }
        // What is protected serves on, and may do so for long.
        () if db.meta.deleting && !serves_while_deleting(db) => {
            stuck(SampleDBSnapshotReason::SampleDBDeleting, format!("the SampleDB {name} is being deleted"))
        }
        () if serves(db) => started(observed, now),
        () => wait(
            SampleDBSnapshotReason::DatabaseNotReady,
            format!("waiting until the SampleDB {name} serves{}", status::because(db)),
        ),
    }
}

fn started(observed: &Observed, now: Timestamp) -> SnapshotPlan {
    let status = observed.source().map(|db| status::begun(observed, db, now));
    Plan { status, next: Requeue::After(STEP), ..Plan::nothing() }
}

fn serves(db: &crate::operand::kinds::SampleDB) -> bool {
    db.status.ready.as_deref() == Some("1/1")
}

/// Takes it.
fn take(observed: &Observed, now: Timestamp) -> SnapshotPlan {
    let name = jobs::backup_name(&observed.snapshot);
    let ended = volume::ends_backup(observed);
    match (observed.progress(&name), observed.source()) {
        (Progress::Complete(job, result), _) => heard(observed, job, result, now, |words| {
            let found: PgDumpResult = words.result();
            match another_database(observed, found.system_identifier.as_deref(), found.reused) {
                Some(why) => status::failed(observed, format!("the backup failed: {why}"), now),
                None => status::taken_of(observed, &found, verification::mode(observed), now),
            }
        }),
        (Progress::Failed(_, message), _) => {
            let words = observed.words(&name);
            let full = words.as_ref().is_some_and(|words| words.reason() == Some(FailureReason::NoSpace));
            let why = why(observed, words, message);
            let hint = if full { room(&observed.snapshot) } else { String::new() };
            told(status::failed(observed, format!("the backup failed: {why}{hint}"), now))
        }
        (_, db) if is_lost(observed) => {
            let name = &observed.snapshot.spec.sample_db;
            let how = if db.is_some() { "is being deleted, and its server has gone" } else { "is gone" };
            told(status::failed(observed, format!("the backup was given up: the SampleDB {name} {how}"), now))
        }
        // A pod that is yet to start would wait until its deadline.
        _ if ended.is_some() => told(status::failed(observed, ended.unwrap_or_default(), now)),
        // A status that was lost names no volume, and the one that it would be by default may be of before an upgrade.
        (Progress::Absent, Some(db)) if !is_known(observed, db) => waits(observed, now),
        (Progress::Absent, Some(db)) => step(observed, Effect::Create(jobs::backup(observed, db)), now),
        (Progress::Absent | Progress::Active(_), _) => waits(observed, now),
    }
}

/// Whether the database still says which data are its.
fn is_known(observed: &Observed, db: &crate::operand::kinds::SampleDB) -> bool {
    let same = db.status.system_identifier == observed.snapshot.status.system_identifier;
    observed.snapshot.spec.reason != SnapshotReason::Final || db.status.storage.claim.is_some() && same
}

/// How to make room for the next one.
fn room(snapshot: &Snapshot) -> String {
    let claim = snapshot.status.location.claim.as_deref().unwrap_or_default();
    format!(
        "; make room on the volume {claim}: raise backup.storage.size, keep fewer by backup.retention, or delete snapshots"
    )
}

/// Whether what it is to be taken of has gone while it waits for that: its pods would try on until their deadline. A server
/// that is not ready for a moment has not gone.
fn is_lost(observed: &Observed) -> bool {
    let last = observed.snapshot.spec.reason == SnapshotReason::Final;
    let stays =
        |db: &crate::operand::kinds::SampleDB| serves(db) || db.status.replicas.is_some_and(|replicas| replicas > 0);
    observed.source().is_none_or(|db| !last && db.meta.deleting && !stays(db))
}

/// Its Jobs have done their work.
fn settled(observed: &Observed, now: Timestamp) -> SnapshotPlan {
    let snapshot = &*observed.snapshot;
    // What is yet to be found again may be all there is of a database: it does not expire before.
    if observed.jobs.is_empty()
        && let Some(plan) = volume::plan(observed, now)
    {
        return plan;
    }
    if snapshot.spec.reason != SnapshotReason::Scheduled && snapshot.spec.retain_until.is_some_and(|until| until < now)
    {
        // Its files would go while they are read, and may be all there is of what is being saved by that.
        if !observed.restoring.is_empty() {
            return told_later(observed, status::read(observed, now));
        }
        let held = held_alone(observed);
        // That one whose names do not fit may hold something, does not keep it: those of the schedule are there.
        if held.names.is_empty() {
            return told(status::expired(observed, now));
        }
        return told_later(observed, status::kept(observed, &held, now));
    }
    if let Some(job) = observed.jobs.iter().find(|job| !job.meta.deleting) {
        return step(observed, gone(&job.meta, Job::KIND), now);
    }
    if observed.jobs.is_empty() && verification::is_asked_for(snapshot) {
        return told(status::again(observed, now));
    }
    let left = snapshot.spec.retain_until.map_or(Duration::MAX, |until| until.duration_since(now).unsigned_abs());
    let next = Requeue::After(left.clamp(STEP, volume::next(observed)));
    Plan { next, status: Some(snapshot.status.clone()), ..Plan::nothing() }
}

fn told_later(observed: &Observed, status: SampleDBSnapshotStatus) -> SnapshotPlan {
    Plan { status: Some(status), next: Requeue::After(volume::next(observed)), ..Plan::nothing() }
}

/// The databases that it holds and none of those does that were taken since. Without a later one its time is over as it says.
fn held_alone(observed: &Observed) -> Alone<'_> {
    let of = |other: &&Snapshot| other.status.sample_db_uid == observed.snapshot.status.sample_db_uid;
    let all: Vec<&Snapshot> = observed.siblings.iter().map(|other| &**other).filter(of).collect();
    match retention::has_later(&observed.snapshot, &all) {
        true => retention::held_alone(&observed.snapshot, &all),
        false => Alone::default(),
    }
}
