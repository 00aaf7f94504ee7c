//! Pure: the plan for a SampleDBSnapshot.

use std::time::Duration;

use agent_protocol::{FailureReason, PgDumpResult};
use api::sample_db_snapshot::{
    SNAPSHOT_FILES, SampleDBSnapshotReason, SampleDBSnapshotStatus, SnapshotPhase, SnapshotReason,
};
use jiff::Timestamp;
use runtime::cache::Projection;
use runtime::job::JobProgress;
use runtime::plan::{Apply, Effect, Plan, Requeue};
use runtime::projections::Job;

use super::effects::{
    POLL_WHILE_WAITING, REQUEUE_AFTER_STEP, SnapshotPlan, another_database, continue_with_result, delete,
    failure_message, step, wait, write_status,
};
use super::observed::Observed;
use super::{events, finalizer, import, jobs, record, status, transfer_job, upload, verification, volume};
use crate::operand::database_state::serves_while_deleting;
use crate::operand::kinds::Snapshot;
use crate::operand::retention::{self, SoleContent};
use crate::operand::snapshot_state::is_settled;

/// Plans the next step of a snapshot.
#[must_use]
pub fn plan(observed: &Observed, now: Timestamp) -> SnapshotPlan {
    if let Some(plan) = record::plan(observed, now) {
        return plan;
    }
    let mut plan = decide(observed, now);
    if let Some(after) = &plan.status {
        plan.events_after_status.extend(events::of(&observed.snapshot, after));
    }
    plan
}

fn decide(observed: &Observed, now: Timestamp) -> SnapshotPlan {
    let snapshot = &*observed.snapshot;
    if snapshot.meta.deleting {
        return finalizer::plan(observed, now);
    }
    if !snapshot.meta.has_finalizer(SNAPSHOT_FILES) {
        let hold = Effect::Apply(Apply::finalizers(Snapshot::KIND, &snapshot.meta, &[SNAPSHOT_FILES]));
        return Plan { effects: vec![hold], next: Requeue::After(REQUEUE_AFTER_STEP), ..Plan::nothing() };
    }
    // Latched decisions are recorded before anything relies on them. A write to the object itself delays the write of its status.
    if let Some(keep) = record::keep(snapshot) {
        return Plan { effects: vec![keep], next: Requeue::After(REQUEUE_AFTER_STEP), ..Plan::nothing() };
    }
    if let Some(plan) = import::plan(observed, now) {
        return plan;
    }
    let status = &snapshot.status;
    match status.phase {
        Some(SnapshotPhase::Expired) => finalizer::expired(observed),
        Some(SnapshotPhase::Ready | SnapshotPhase::Failed) if is_settled(status) => settled(observed, now),
        Some(SnapshotPhase::Ready | SnapshotPhase::Failed) => verification::verify(observed, now),
        Some(SnapshotPhase::Running) if status.completed_at.is_some() => verification::verify(observed, now),
        Some(SnapshotPhase::Running) => take(observed, now),
        Some(SnapshotPhase::Pending) | None => begin(observed, now),
    }
}

/// Latches what the backup is taken of, once it can be taken.
fn begin(observed: &Observed, now: Timestamp) -> SnapshotPlan {
    let pending_plan =
        |status| Plan { status: Some(status), next: Requeue::After(POLL_WHILE_WAITING), ..Plan::nothing() };
    let wait = |reason, message: String| pending_plan(status::pending(observed, reason, message, now));
    let stalled = |reason, message: String| pending_plan(status::stalled(observed, reason, message, now));
    let spec = &observed.snapshot.spec;
    let name = &spec.sample_db;
    let Some(db) = observed.source() else {
        let message = match &observed.db {
            None => format!("the SampleDB {name} does not exist; the snapshot is taken once it exists"),
            Some(_) => format!(
                "the SampleDB {name} this snapshot refers to was deleted and recreated (different UID); delete this snapshot"
            ),
        };
        return stalled(SampleDBSnapshotReason::SampleDBMissing, message);
    };
    let last = spec.reason == SnapshotReason::Final;
    match () {
        () if last && !db.meta.deleting => stalled(
            SampleDBSnapshotReason::NotDeleting,
            format!(
                "the SampleDB {name} is not being deleted: only the operator takes snapshots with the reason Final; create one \
                 without spec.reason"
            ),
        ),
        () if last && db.status.initialization.data_created_at.is_some() && db.status.storage.claim.is_some() => {
            started(observed, now)
        }
        // A protected database keeps serving, possibly for long.
        () if db.meta.deleting && !serves_while_deleting(db) => {
            stalled(SampleDBSnapshotReason::SampleDBDeleting, format!("the SampleDB {name} is being deleted"))
        }
        () if serves(db) => started(observed, now),
        () => wait(
            SampleDBSnapshotReason::DatabaseNotReady,
            format!("waiting until the SampleDB {name} serves{}", status::not_ready_suffix(db)),
        ),
    }
}

fn started(observed: &Observed, now: Timestamp) -> SnapshotPlan {
    let status = observed.source().map(|db| status::started(observed, db, now));
    Plan { status, next: Requeue::After(REQUEUE_AFTER_STEP), ..Plan::nothing() }
}

fn serves(db: &crate::operand::kinds::SampleDB) -> bool {
    db.status.ready.as_deref() == Some("1/1")
}

/// Takes it.
fn take(observed: &Observed, now: Timestamp) -> SnapshotPlan {
    let name = jobs::backup_name(&observed.snapshot);
    let ended = volume::backup_failure(observed);
    match (observed.progress(&name), observed.source()) {
        (JobProgress::Complete(job, result), _) => continue_with_result(observed, job, result, now, |outcome| {
            let found: PgDumpResult = outcome.result();
            match another_database(observed, found.system_identifier.as_deref(), found.reused) {
                Some(why) => status::failed(observed, format!("the backup failed: {why}"), now),
                None => status::backup_completed(observed, &found, verification::mode(observed), now),
            }
        }),
        (JobProgress::Failed(_, message), _) => {
            let outcome = observed.outcome(&name);
            let full = outcome.as_ref().is_some_and(|outcome| outcome.reason() == Some(FailureReason::NoSpace));
            let why = failure_message(observed, outcome, message);
            let hint = if full { room(&observed.snapshot) } else { String::new() };
            write_status(status::failed(observed, format!("the backup failed: {why}{hint}"), now))
        }
        (_, db) if is_lost(observed) => {
            let name = &observed.snapshot.spec.sample_db;
            let how = if db.is_some() { "is being deleted, and has no server" } else { "does not exist any more" };
            write_status(status::failed(observed, format!("the backup was given up: the SampleDB {name} {how}"), now))
        }
        // A pod that has not started yet would wait until its deadline.
        _ if ended.is_some() => write_status(status::failed(observed, ended.unwrap_or_default(), now)),
        // After the loss of its status the database names no volume, and the default one may be that of before an upgrade.
        (JobProgress::Absent, Some(db)) if !is_known(observed, db) => wait(observed, now),
        (JobProgress::Absent, Some(db)) => step(observed, Effect::Create(jobs::backup(observed, db)), now),
        (JobProgress::Absent | JobProgress::Ending | JobProgress::Active(_), _) => wait(observed, now),
    }
}

/// Whether the database's status still says which data belongs to it.
fn is_known(observed: &Observed, db: &crate::operand::kinds::SampleDB) -> bool {
    let same = db.status.system_identifier == observed.snapshot.status.system_identifier;
    observed.snapshot.spec.reason != SnapshotReason::Final || db.status.storage.claim.is_some() && same
}

/// How to free space for the next snapshot.
fn room(snapshot: &Snapshot) -> String {
    let claim = snapshot.status.location.claim.as_deref().unwrap_or_default();
    format!(
        "; make room on the volume {claim}: raise backup.storage.size, keep fewer by backup.retention, or delete snapshots"
    )
}

/// Whether the database or its server was deleted while the backup waits for it: its pods would retry until their deadline. A
/// server that is not ready for a moment does not count as deleted.
fn is_lost(observed: &Observed) -> bool {
    let last = observed.snapshot.spec.reason == SnapshotReason::Final;
    let stays =
        |db: &crate::operand::kinds::SampleDB| serves(db) || db.status.replicas.is_some_and(|replicas| replicas > 0);
    observed.source().is_none_or(|db| !last && db.meta.deleting && !stays(db))
}

/// Plans for a snapshot whose Jobs have completed.
fn settled(observed: &Observed, now: Timestamp) -> SnapshotPlan {
    let snapshot = &*observed.snapshot;
    // A snapshot whose files have yet to be confirmed may be all that is left of a database: it does not expire before.
    if observed.jobs.is_empty()
        && let Some(plan) = volume::plan(observed, now)
    {
        return plan;
    }
    if snapshot.spec.reason != SnapshotReason::Scheduled && snapshot.spec.retain_until.is_some_and(|until| until < now)
    {
        // Its files would be removed while they are read, and a database may exist nowhere else.
        if !observed.restoring.is_empty() {
            return write_status_and_poll(observed, status::in_use_after_expiry(observed, now));
        }
        let held = sole_content(observed);
        // A snapshot with unrecorded names does not outlive its time for them: scheduled snapshots cover that case.
        if held.names.is_empty() {
            return write_status(status::expired(observed, now));
        }
        return write_status_and_poll(observed, status::kept_after_expiry(observed, &held, now));
    }
    let upload = transfer_job::upload_name(snapshot);
    let done = |job: &Job| !job.meta.deleting && *job.meta.key.name != *upload;
    if let Some(job) = observed.jobs.iter().find(|job| done(job)) {
        return step(observed, delete(&job.meta, Job::KIND), now);
    }
    let requested = verification::is_requested(snapshot);
    // A verification that is requested does not wait until the store can be reached.
    if let Some(plan) = upload::plan(observed, now).filter(|_| !requested || !observed.jobs.is_empty()) {
        return plan;
    }
    if let Some(job) = observed.jobs.iter().find(|job| !job.meta.deleting) {
        return step(observed, delete(&job.meta, Job::KIND), now);
    }
    if observed.jobs.is_empty() && requested {
        return write_status(status::start_verification(observed, now));
    }
    let left = snapshot.spec.retain_until.map_or(Duration::MAX, |until| until.duration_since(now).unsigned_abs());
    let next = Requeue::After(left.clamp(REQUEUE_AFTER_STEP, volume::poll_interval(observed)));
    Plan { next, status: Some(snapshot.status.clone()), ..Plan::nothing() }
}

fn write_status_and_poll(observed: &Observed, status: SampleDBSnapshotStatus) -> SnapshotPlan {
    Plan { status: Some(status), next: Requeue::After(volume::poll_interval(observed)), ..Plan::nothing() }
}

/// The databases that only this snapshot contains. Without a later snapshot it expires as its spec says.
fn sole_content(observed: &Observed) -> SoleContent<'_> {
    let of = |other: &&Snapshot| other.status.sample_db_uid == observed.snapshot.status.sample_db_uid;
    let all: Vec<&Snapshot> = observed.siblings.iter().map(|other| &**other).filter(of).collect();
    match retention::has_later(&observed.snapshot, &all) {
        true => retention::sole_content(&observed.snapshot, &all),
        false => SoleContent::default(),
    }
}
