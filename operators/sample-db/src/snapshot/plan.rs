//! What to do about a SampleDBSnapshot. Pure.

use std::time::Duration;

use api::sample_db_snapshot::{
    SNAPSHOT_FILES, SampleDBSnapshotReason, SampleDBSnapshotStatus, SnapshotPhase, SnapshotReason, VerificationPhase,
};
use jiff::Timestamp;
use runtime::cache::View;
use runtime::plan::{Apply, Delete, Effect, Next, Plan};
use runtime::views::{Job, JobEnd};

use super::observed::Observed;
use super::{events, jobs, proof, record, release, status, volume};
use crate::Snapshot;
use crate::plan::retention::{self, Alone};
use crate::plan::{Heard, Words, serves_while_deleting};

/// After a step: its own events are no news, so look again by ourselves.
pub(super) const STEP: Duration = Duration::from_millis(50);
/// While something is waited for.
pub(super) const LATER: Duration = Duration::from_secs(5);

/// A plan for a SampleDBSnapshot.
pub type SnapshotPlan = Plan<SampleDBSnapshotStatus>;

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
        return release::plan(observed, now);
    }
    if !snapshot.meta.is_held_by(SNAPSHOT_FILES) {
        let hold = Effect::Apply(Apply::finalizers(Snapshot::KIND, &snapshot.meta, &[SNAPSHOT_FILES]));
        return Plan { effects: vec![hold], next: Next::After(STEP), ..Plan::nothing() };
    }
    // What is latched is recorded before anything relies on it; a write to the object itself keeps its status from being written.
    if let Some(keep) = record::keep(snapshot) {
        return Plan { effects: vec![keep], next: Next::After(STEP), ..Plan::nothing() };
    }
    let status = &snapshot.status;
    match status.phase {
        Some(SnapshotPhase::Expired) => release::expired(observed),
        Some(SnapshotPhase::Ready | SnapshotPhase::Failed) if is_settled(status) => settled(observed, now),
        Some(SnapshotPhase::Ready | SnapshotPhase::Failed) => proof::prove(observed, now),
        Some(SnapshotPhase::Running) if status.completed_at.is_some() => proof::prove(observed, now),
        Some(SnapshotPhase::Running) => take(observed, now),
        Some(SnapshotPhase::Pending) | None => begin(observed, now),
    }
}

/// Writes down what is going to be done, once it can be.
fn begin(observed: &Observed, now: Timestamp) -> SnapshotPlan {
    let told = |status| Plan { status: Some(status), next: Next::After(LATER), ..Plan::nothing() };
    let wait = |reason, message: String| told(status::waits(observed, reason, message, now));
    let stuck = |reason, message: String| told(status::stuck(observed, reason, message, now));
    let spec = &observed.snapshot.spec;
    let name = &spec.sample_db;
    let Some(db) = observed.source() else {
        let message = match &observed.db {
            None => format!("there is no SampleDB {name}: it is taken once there is one"),
            Some(_) => format!(
                "the SampleDB {name} that it was to be of is gone, and the one of today has another uid: delete this"
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
    Plan { status, next: Next::After(STEP), ..Plan::nothing() }
}

fn serves(db: &crate::SampleDB) -> bool {
    db.status.ready.as_deref() == Some("1/1")
}

/// Takes it.
fn take(observed: &Observed, now: Timestamp) -> SnapshotPlan {
    let name = jobs::backup_name(&observed.snapshot);
    let ended = volume::ends_backup(observed);
    match (observed.job(&name).map(|job| &job.end), observed.source()) {
        (Some(Some(JobEnd::Complete)), _) => {
            heard(observed, &name, now, |words| match another_database(observed, words) {
                Some(why) => status::failed(observed, format!("the backup failed: {why}"), now),
                None => status::taken_of(observed, words, proof::mode(observed), now),
            })
        }
        (Some(Some(JobEnd::Failed { message, .. })), _) => {
            let words = observed.words(&name);
            let full = words.as_ref().is_some_and(|words| words.said.reason.as_deref() == Some("NoSpace"));
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
        (None, Some(db)) if !is_known(observed, db) => waits(observed, now),
        (None, Some(db)) => step(observed, Effect::Create(jobs::backup(observed, db)), now),
        (None | Some(None), _) => waits(observed, now),
    }
}

/// Why what a Job found is not this snapshot: it is of another database.
pub(super) fn another_database(observed: &Observed, words: &Words) -> Option<String> {
    let status = &observed.snapshot.status;
    let (ours, theirs) = (status.system_identifier.as_deref()?, words.said.system_identifier.as_deref()?);
    let path = status.location.path.as_deref().unwrap_or_default();
    // A major upgrade has two servers with the same data, and a deletion may interrupt it while the Service leads to either.
    let upgrades = observed.source().is_some_and(|db| db.status.upgrade.step.is_some());
    (ours != theirs && (words.said.reused || !upgrades)).then(|| {
        format!("the files in the directory {path} are of a database with the system identifier {theirs}, not {ours}")
    })
}

/// Whether the database still says which data are its.
fn is_known(observed: &Observed, db: &crate::SampleDB) -> bool {
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
    let stays = |db: &crate::SampleDB| serves(db) || db.status.replicas.is_some_and(|replicas| replicas > 0);
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
    if observed.jobs.is_empty() && proof::is_asked_for(snapshot) {
        return told(proof::again(observed, now));
    }
    let left = snapshot.spec.retain_until.map_or(Duration::MAX, |until| until.duration_since(now).unsigned_abs());
    let next = Next::After(left.clamp(STEP, volume::next(observed)));
    Plan { next, status: Some(snapshot.status.clone()), ..Plan::nothing() }
}

fn told_later(observed: &Observed, status: SampleDBSnapshotStatus) -> SnapshotPlan {
    Plan { status: Some(status), next: Next::After(volume::next(observed)), ..Plan::nothing() }
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

/// Why a Job failed: what its pod said last; of one whose pods are gone, what kept them from working.
pub(super) fn why(observed: &Observed, words: Option<Words>, otherwise: &str) -> String {
    let said = words.as_ref().and_then(Words::failure).map(|(_, why)| why);
    said.unwrap_or_else(|| match status::hindrance(&observed.snapshot.status) {
        Some(hindrance) => format!("{otherwise}; {hindrance}"),
        None => otherwise.to_owned(),
    })
}

pub(super) fn step(observed: &Observed, effect: Effect, now: Timestamp) -> SnapshotPlan {
    Plan { effects: vec![effect], ..waits(observed, now) }
}

pub(super) fn waits(observed: &Observed, now: Timestamp) -> SnapshotPlan {
    Plan { status: Some(status::goes_on(observed, now)), next: Next::After(LATER), ..Plan::nothing() }
}

pub(super) fn told(status: SampleDBSnapshotStatus) -> SnapshotPlan {
    Plan { status: Some(status), next: Next::After(STEP), ..Plan::nothing() }
}

/// Goes on from what a Job that has done its work has said last; has it say so again if nobody has heard it.
pub(super) fn heard(
    observed: &Observed,
    name: &str,
    now: Timestamp,
    taken: impl FnOnce(&Words) -> SampleDBSnapshotStatus,
) -> SnapshotPlan {
    match (Words::of_done(&observed.pods, name), observed.job(name)) {
        (Heard::Said(words), _) => told(taken(&words)),
        (Heard::Lost, Some(job)) if !job.meta.deleting => step(observed, gone(&job.meta, Job::KIND), now),
        _ => Plan { next: Next::After(Duration::from_millis(200)), ..Plan::nothing() },
    }
}

pub(super) fn gone(meta: &runtime::plan::Meta, kind: runtime::plan::Kind) -> Effect {
    Effect::Delete(Delete::of(kind, meta))
}

/// What keeps a snapshot from going on, after a colon, for whoever waits for it: what it says while all is well, the other says.
#[must_use]
pub fn hindered(status: &SampleDBSnapshotStatus) -> String {
    let ready = status.contract.condition(api::condition_type::READY);
    let at_work = [SampleDBSnapshotReason::BackupRunning, SampleDBSnapshotReason::VerificationRunning];
    let told = ready.filter(|ready| !ready.reason.is_one_of(&at_work));
    told.map_or_else(String::new, |ready| format!(": {}", ready.message))
}

/// Whether its Jobs have done their work, and none of them is to run now.
#[must_use]
pub fn is_settled(status: &SampleDBSnapshotStatus) -> bool {
    matches!(status.phase, Some(SnapshotPhase::Ready | SnapshotPhase::Failed)) && !proof::is_under_way(status)
}

/// Whether a snapshot is being taken; its proof comes after that.
#[must_use]
pub fn is_being_taken(status: &SampleDBSnapshotStatus) -> bool {
    status.phase == Some(SnapshotPhase::Running) && status.completed_at.is_none()
}

/// Whether a snapshot can be relied upon.
#[must_use]
pub fn is_proved(status: &SampleDBSnapshotStatus) -> bool {
    status.phase == Some(SnapshotPhase::Ready) && status.verification.phase == Some(VerificationPhase::Passed)
}

/// Whether a snapshot could not be taken, or did not stand its proof.
#[must_use]
pub fn is_bad(status: &SampleDBSnapshotStatus) -> bool {
    status.phase == Some(SnapshotPhase::Failed) || status.verification.phase == Some(VerificationPhase::Failed)
}
