//! What to do about a SampleDBSnapshot. Pure.

use std::time::Duration;

use api::sample_db::VerifyMode;
use api::sample_db_snapshot::{
    SNAPSHOT_FILES, SampleDBSnapshotStatus, SnapshotDeletionPolicy, SnapshotPhase, SnapshotReason, VerificationPhase,
};
use jiff::Timestamp;
use runtime::cache::View;
use runtime::plan::{Apply, Delete, Effect, Next, Plan};
use runtime::views::{Job, JobEnd};
use serde_json::json;

use super::observed::Observed;
use super::{jobs, status};
use crate::plan::Words;
use crate::{SampleDB, Snapshot};

/// After a step: its own events are no news, so look again by ourselves.
const STEP: Duration = Duration::from_millis(50);
/// While something is waited for.
const LATER: Duration = Duration::from_secs(5);

/// A plan for a SampleDBSnapshot.
pub type SnapshotPlan = Plan<SampleDBSnapshotStatus>;

/// Decides.
#[must_use]
pub fn plan(observed: &Observed, now: Timestamp) -> SnapshotPlan {
    let snapshot = &*observed.snapshot;
    if snapshot.meta.deleting {
        return release(observed);
    }
    if !snapshot.meta.is_held_by(SNAPSHOT_FILES) {
        let hold = Effect::Apply(finalizers(snapshot, &json!([SNAPSHOT_FILES])));
        return Plan { effects: vec![hold], next: Next::After(STEP), ..Plan::nothing() };
    }
    match snapshot.status.phase {
        Some(SnapshotPhase::Ready | SnapshotPhase::Failed | SnapshotPhase::Expired) => settled(observed, now),
        Some(SnapshotPhase::Running) => running(observed, now),
        Some(SnapshotPhase::Pending) | None => begin(observed, now),
    }
}

/// Writes down what is going to be done, once it can be.
fn begin(observed: &Observed, now: Timestamp) -> SnapshotPlan {
    let wait = |reason, message: String| {
        let status = Some(status::waits(observed, reason, message, now));
        Plan { status, next: Next::After(LATER), ..Plan::nothing() }
    };
    let spec = &observed.snapshot.spec;
    let Some(db) = &observed.db else {
        return wait("SampleDBMissing", format!("there is no SampleDB {}", spec.sample_db));
    };
    if spec.sample_db_uid.as_deref().is_some_and(|uid| *uid != *db.meta.uid) {
        return wait("SampleDBMissing", format!("the SampleDB {} is another one than the one meant", spec.sample_db));
    }
    let serves = db.status.ready.as_deref() == Some("1/1");
    match spec.reason {
        SnapshotReason::Final if db.status.initialization.data_created_at.is_some() => {}
        _ if serves && !db.meta.deleting => {}
        _ if db.meta.deleting => return wait("Deleting", format!("the SampleDB {} is being deleted", spec.sample_db)),
        _ => return wait("DatabaseNotReady", format!("waiting until the SampleDB {} serves", spec.sample_db)),
    }
    Plan { status: Some(status::begun(observed, db, now)), next: Next::After(STEP), ..Plan::nothing() }
}

/// Takes it, then proves it.
fn running(observed: &Observed, now: Timestamp) -> SnapshotPlan {
    let snapshot = &*observed.snapshot;
    if snapshot.status.completed_at.is_none() {
        let name = jobs::backup_name(snapshot);
        return match (observed.job(&name).map(|job| &job.end), &observed.db) {
            (None, Some(db)) => step(observed, Effect::Create(jobs::backup(observed, db)), now),
            (None, None) => fail(observed, "SampleDBMissing", "the SampleDB is gone".to_owned(), now),
            (Some(None), _) => Plan { next: Next::After(LATER), ..Plan::nothing() },
            (Some(Some(JobEnd::Complete)), _) => {
                let words = observed.words(&name);
                // The pod's last words come by another watch than the Job's end.
                words.map_or_else(soon, |words| told(status::taken(observed, &words, mode(observed), now)))
            }
            (Some(Some(JobEnd::Failed { message, .. })), _) => {
                let why = why(observed.words(&name), message);
                fail(observed, "BackupFailed", format!("the backup failed: {why}"), now)
            }
        };
    }
    let name = jobs::verify_name(snapshot);
    match observed.job(&name).map(|job| &job.end) {
        None => step(observed, Effect::Create(jobs::verify(observed, mode(observed), deadline(observed))), now),
        Some(None) => Plan { next: Next::After(LATER), ..Plan::nothing() },
        Some(Some(JobEnd::Complete)) => {
            observed.words(&name).map_or_else(soon, |words| told(status::verified(observed, &words, now)))
        }
        Some(Some(JobEnd::Failed { message, .. })) => {
            let why = why(observed.words(&name), message);
            fail(observed, "VerificationFailed", format!("the snapshot did not stand the proof: {why}"), now)
        }
    }
}

/// Its Jobs have done their work.
fn settled(observed: &Observed, now: Timestamp) -> SnapshotPlan {
    let snapshot = &*observed.snapshot;
    let over = snapshot.spec.retain_until.filter(|until| *until < now);
    if over.is_some() && snapshot.spec.reason != SnapshotReason::Scheduled {
        return step(observed, gone(&snapshot.meta, Snapshot::KIND), now);
    }
    let left = observed.jobs.iter().find(|job| !job.meta.deleting);
    let effects: Vec<_> = left.map(|job| gone(&job.meta, Job::KIND)).into_iter().collect();
    let next = snapshot.spec.retain_until.map_or(Next::Change, |until| {
        let left = until.duration_since(now).unsigned_abs();
        Next::After(left.clamp(STEP, Duration::from_secs(3600)))
    });
    let next = if effects.is_empty() { next } else { Next::After(STEP) };
    Plan { effects, next, status: Some(snapshot.status.clone()), ..Plan::nothing() }
}

/// Removes its files if they are to go, and lets it go.
fn release(observed: &Observed) -> SnapshotPlan {
    let snapshot = &*observed.snapshot;
    if !snapshot.meta.is_held_by(SNAPSHOT_FILES) {
        return Plan::nothing();
    }
    let let_go = || {
        let effects = vec![Effect::Apply(finalizers(snapshot, &json!([])))];
        Plan { effects, next: Next::After(LATER), ..Plan::nothing() }
    };
    let has_files = snapshot.status.started_at.is_some() && observed.has_volume;
    let keep = snapshot.spec.deletion_policy() == SnapshotDeletionPolicy::Retain;
    if keep || !has_files || observed.namespace_going {
        return let_go();
    }
    // What writes to the files ends first.
    let name = jobs::prune_name(snapshot);
    if let Some(job) = observed.jobs.iter().find(|job| *job.meta.key.name != *name) {
        let effects = if job.meta.deleting { Vec::new() } else { vec![gone(&job.meta, Job::KIND)] };
        return Plan { effects, next: Next::After(LATER), ..Plan::nothing() };
    }
    match observed.job(&name).map(|job| &job.end) {
        None => {
            Plan { effects: vec![Effect::Create(jobs::prune(observed))], next: Next::After(LATER), ..Plan::nothing() }
        }
        Some(Some(JobEnd::Complete)) => let_go(),
        // A volume that cannot be written to keeps nobody from deleting the object for ever: the Job's deadline ends.
        Some(Some(JobEnd::Failed { .. })) => let_go(),
        Some(None) => Plan { next: Next::After(LATER), ..Plan::nothing() },
    }
}

/// How it is to be proved: a last one always, whatever the spec says.
fn mode(observed: &Observed) -> VerifyMode {
    let asked = observed.db.as_ref().map(|db| db.spec.backup.verify.mode).unwrap_or_default();
    match (observed.snapshot.spec.reason, asked) {
        (SnapshotReason::Final, VerifyMode::None) => VerifyMode::Checksum,
        (_, asked) => asked,
    }
}

fn deadline(observed: &Observed) -> i64 {
    let db = observed.db.as_deref();
    let of = |db: &SampleDB| match observed.snapshot.spec.reason {
        SnapshotReason::Final => db.spec.deletion.timeout_seconds(),
        _ => db.spec.backup.deadline_seconds(),
    };
    db.map_or(3600, of)
}

fn why(words: Option<Words>, otherwise: &str) -> String {
    words.as_ref().and_then(Words::failure).map_or_else(|| otherwise.to_owned(), |(_, why)| why)
}

fn step(observed: &Observed, effect: Effect, now: Timestamp) -> SnapshotPlan {
    let status = Some(status::goes_on(observed, now));
    Plan { effects: vec![effect], status, next: Next::After(LATER), ..Plan::nothing() }
}

fn told(status: SampleDBSnapshotStatus) -> SnapshotPlan {
    Plan { status: Some(status), next: Next::After(STEP), ..Plan::nothing() }
}

fn soon() -> SnapshotPlan {
    Plan { next: Next::After(Duration::from_millis(200)), ..Plan::nothing() }
}

fn fail(observed: &Observed, reason: &'static str, message: String, now: Timestamp) -> SnapshotPlan {
    told(status::failed(observed, reason, message, now))
}

fn gone(meta: &runtime::plan::Meta, kind: runtime::plan::Kind) -> Effect {
    Effect::Delete(Delete { kind, key: meta.key.clone(), uid: meta.uid.clone(), unless: None })
}

fn finalizers(snapshot: &Snapshot, finalizers: &serde_json::Value) -> Apply {
    let body = json!({ "metadata": { "finalizers": finalizers } });
    let mut apply = Apply::new(Snapshot::KIND, snapshot.meta.key.clone(), &body);
    apply.seen = Some(snapshot.meta.uid.clone());
    apply.hand_over = Some("finalizer");
    apply
}

/// Whether a snapshot can be relied upon.
#[must_use]
pub fn is_proved(status: &SampleDBSnapshotStatus) -> bool {
    status.phase == Some(SnapshotPhase::Ready) && status.verification.phase == Some(VerificationPhase::Passed)
}
