//! What is done before a SampleDB goes: writers are shut out by stopping the server, the last snapshot is taken of the data
//! as they then are, and proved; then the volume goes. Pure.
//!
//! It holds whatever has gone before: a foreground deletion takes the server, its Services and ConfigMaps away at once, so
//! the last snapshot needs none of them.

use std::time::Duration;

use api::sample_db::{DeletionPolicy, DeletionStep, FINAL_SNAPSHOT, OnSnapshotFailure, SKIP_FINAL_SNAPSHOT};
use api::sample_db_snapshot::{SampleDBSnapshotStatus, SnapshotReason};
use jiff::Timestamp;
use runtime::cache::View;
use runtime::plan::{Apply, Delete, Effect, Kind, Meta, Next, Plan};
use runtime::views::{Claim, Job, Pod, StatefulSet};

use super::objects::{self, SecretOf};
use super::{DbAct, DbPlan, LATER, Observed, STEP, SecretSeen, after, names};
use crate::snapshot::plan::{is_bad, is_being_taken, is_proved};
use crate::{SampleDB, Snapshot};

mod status;

/// What comes next.
enum Step {
    /// Something is waited for.
    Wait(DeletionStep, String),
    /// A person is waited for: the reason and what to do.
    Blocked(&'static str, String),
    /// This is done.
    Take(DeletionStep, Box<Effect<DbAct>>, String),
    /// Nothing is left to do.
    Release,
}

impl Step {
    fn take(step: DeletionStep, effect: Effect<DbAct>, message: String) -> Self {
        Self::Take(step, Box::new(effect), message)
    }
}

/// Decides.
pub(super) fn plan(observed: &Observed, now: Timestamp) -> DbPlan {
    let db = &*observed.db;
    if !db.meta.is_held_by(FINAL_SNAPSHOT) {
        return Plan::nothing();
    }
    let (effects, status, next) = match next(observed, now) {
        Step::Release => {
            let effects = vec![Effect::Apply(Apply::finalizers(SampleDB::KIND, &db.meta, &[]))];
            return Plan { effects, done: status::unsaved(observed).into_iter().collect(), ..later(LATER) };
        }
        Step::Take(step, effect, message) => (vec![*effect], status::of(observed, Some(step), Ok(message), now), STEP),
        Step::Wait(step, message) => (Vec::new(), status::of(observed, Some(step), Ok(message), now), SOON),
        Step::Blocked(reason, message) => (Vec::new(), status::of(observed, None, Err((reason, message)), now), LATER),
    };
    let events = status::events(&db.status, &status);
    Plan { effects, events, status: Some(status), ..later(next) }
}

/// While a Job or a pod comes to its end, of which watches tell.
const SOON: Duration = Duration::from_secs(2);

fn later(delay: Duration) -> DbPlan {
    Plan { next: Next::After(delay), ..Plan::nothing() }
}

fn next(observed: &Observed, now: Timestamp) -> Step {
    let db = &*observed.db;
    // Nothing can be made in a namespace that is going, and what is in it goes with it or stays: not by our hand.
    if observed.namespace_going {
        return Step::Release;
    }
    if db.spec.deletion.protection {
        let message = "spec.deletion.protection holds it: set that to false to have it deleted".to_owned();
        return Step::Blocked("Protected", message);
    }
    if let Some(step) = end_jobs(observed) {
        return step;
    }
    if db.spec.deletion.policy == DeletionPolicy::Retain {
        return stop(observed).unwrap_or(Step::Release);
    }
    let wanted = db.spec.deletion.policy == DeletionPolicy::Snapshot && !is_skipped(db) && has_data(observed);
    let saved = wanted.then(|| backups(observed).or_else(|| stop(observed)).or_else(|| save(observed, now))).flatten();
    saved.or_else(|| stop(observed)).or_else(|| clear(observed)).unwrap_or(Step::Release)
}

/// Whether somebody lets it go without a last snapshot.
fn is_skipped(db: &SampleDB) -> bool {
    db.annotations.get(SKIP_FINAL_SNAPSHOT).is_some_and(|name| **name == *db.meta.key.name)
}

/// Whether there are data that somebody may miss.
fn has_data(observed: &Observed) -> bool {
    let status = &observed.db.status;
    let claim = status.storage.claim.as_deref().and_then(|claim| observed.claim(claim));
    // What a restore has not come to the end of is whole where it comes from.
    let half = observed.db.spec.bootstrap.from_snapshot.is_some() && status.restore.completed_at.is_none();
    status.initialization.data_created_at.is_some() && !half && claim.is_some_and(|claim| !claim.meta.deleting)
}

/// Jobs of its own that still write to the data.
fn end_jobs(observed: &Observed) -> Option<Step> {
    let job = observed.jobs.iter().find(|job| !job.meta.deleting)?;
    let message = format!("ending the Job {}", job.meta.key.name);
    Some(Step::take(DeletionStep::WaitForBackup, gone(&job.meta, Job::KIND), message))
}

/// A snapshot that is being taken comes to its end, if it can: nothing makes a Secret again of a database that goes, and
/// without one it cannot log in.
fn backups(observed: &Observed) -> Option<Step> {
    if matches!(observed.system, SecretSeen::Absent) {
        return None;
    }
    let last = final_name(observed);
    let runs = |snapshot: &&std::sync::Arc<Snapshot>| {
        is_being_taken(&snapshot.status) && !snapshot.meta.deleting && *snapshot.meta.key.name != *last
    };
    let running = observed.snapshots.iter().find(runs)?;
    let name = &running.meta.key.name;
    let message =
        format!("waiting until the snapshot {name} has been taken; delete that SampleDBSnapshot to go on without");
    Some(Step::Wait(DeletionStep::WaitForBackup, message))
}

/// The server and its pods go.
fn stop(observed: &Observed) -> Option<Step> {
    if let Some(server) = observed.own_servers().next() {
        let message = "stopping the server, so that nobody writes any more".to_owned();
        return Some(Step::take(DeletionStep::RemovePods, gone(&server.meta, StatefulSet::KIND), message));
    }
    let pod = observed.pods.iter().find(|pod| names::is_server(&observed.db, &pod.meta.key.name))?;
    let message = format!("waiting until the pod {} is gone", pod.meta.key.name);
    Some(match pod.meta.deleting {
        true => Step::Wait(DeletionStep::RemovePods, message),
        false => Step::take(DeletionStep::RemovePods, gone(&pod.meta, Pod::KIND), message),
    })
}

/// The last snapshot.
fn save(observed: &Observed, now: Timestamp) -> Option<Step> {
    let db = &*observed.db;
    let name = final_name(observed);
    let Some(snapshot) = last(observed) else {
        let message = format!("taking the final snapshot {name}");
        let until = after(now, db.spec.deletion.keep_final_snapshot_for());
        let create = objects::snapshot(db, &name, SnapshotReason::Final, until);
        return Some(Step::take(DeletionStep::Snapshot, Effect::Create(create), message));
    };
    if snapshot.meta.deleting {
        let message = format!("waiting until the final snapshot {name} is gone, to take it anew");
        return Some(Step::Wait(DeletionStep::Snapshot, message));
    }
    if is_proved(&snapshot.status) {
        return None;
    }
    let begun = snapshot.status.started_at;
    let timeout = i64::try_from(2 * db.spec.deletion.timeout_seconds().unsigned_abs()).unwrap_or(i64::MAX);
    let late = begun.is_some_and(|begun| now.duration_since(begun).as_secs() > timeout);
    if is_bad(&snapshot.status) || late {
        if db.spec.deletion.on_snapshot_failure == OnSnapshotFailure::Proceed {
            return None;
        }
        let why = snapshot.status.error.clone().unwrap_or_else(|| "it has not been taken in time".to_owned());
        let message = format!(
            "there is no final snapshot, so the data stay: {why}; mend that and delete the SampleDBSnapshot {name} to have it \
             taken again, or let the data go without one: annotate this SampleDB with {SKIP_FINAL_SNAPSHOT}={}",
            db.meta.key.name
        );
        return Some(Step::Blocked("FinalSnapshotFailed", message));
    }
    let (step, doing) = match snapshot.status.completed_at {
        None => (DeletionStep::Snapshot, "taking"),
        Some(_) => (DeletionStep::Verify, "verifying"),
    };
    Some(Step::Wait(step, format!("{doing} the final snapshot {name}{}", hindered(&snapshot.status))))
}

/// What keeps a snapshot from going on, after a colon: what it says while all is well is said by the step.
fn hindered(status: &SampleDBSnapshotStatus) -> String {
    let ready = status.contract.condition(api::condition_type::READY);
    let told = ready.filter(|ready| !matches!(&*ready.reason, "BackupRunning" | "VerificationRunning"));
    told.map_or_else(String::new, |ready| format!(": {}", ready.message))
}

/// The last snapshot, if there is one yet.
fn last(observed: &Observed) -> Option<&Snapshot> {
    let name = final_name(observed);
    observed.snapshots.iter().map(|snapshot| &**snapshot).find(|snapshot| *snapshot.meta.key.name == *name)
}

/// The name of the last snapshot: its own for each object of that name, of whose uids no two may begin alike.
fn final_name(observed: &Observed) -> String {
    let db = &*observed.db;
    let uid: Vec<char> = db.meta.uid.chars().filter(char::is_ascii_alphanumeric).collect();
    let name = |part: &[char]| format!("{}-final-{}", db.meta.key.name, part.iter().collect::<String>());
    let others = |name: &String| {
        let of = observed.snapshots.iter().find(|snapshot| *snapshot.meta.key.name == **name);
        of.is_some_and(|of| of.spec.sample_db_uid.as_deref() != Some(&*db.meta.uid))
    };
    uid.chunks(4).map(name).find(|name| !others(name)).unwrap_or_else(|| name(&uid[..uid.len().min(4)]))
}

/// The volume and the Secrets go; the snapshots' volume stays.
fn clear(observed: &Observed) -> Option<Step> {
    let db = &*observed.db;
    let storage = &db.status.storage;
    let ours = |claim: &&std::sync::Arc<Claim>| {
        let made = claim.labels.get(objects::OWNER_UID).is_some_and(|uid| **uid == *db.meta.uid);
        // One that was taken over from an earlier database bears that one's uid.
        let used = db.status.initialization.data_created_at.is_some()
            && storage.claim.as_deref() == Some(&*claim.meta.key.name)
            && storage.claim_uid.as_deref() == Some(&*claim.meta.uid);
        let snapshots = [Some(names::snapshot_claim(db)), storage.snapshot_claim.clone()];
        (made || used) && !snapshots.iter().flatten().any(|name| **name == *claim.meta.key.name)
    };
    if let Some(claim) = observed.claims.iter().find(ours) {
        let message = format!("removing the volume {}", claim.meta.key.name);
        if claim.meta.deleting {
            return Some(Step::Wait(DeletionStep::RemoveVolumes, message));
        }
        let user = (Pod::KIND, db.meta.key.sibling(&names::pod_on(db, &claim.meta.key.name)));
        let delete = Delete { unless: Some(user), ..Delete::of(Claim::KIND, &claim.meta) };
        return Some(Step::take(DeletionStep::RemoveVolumes, Effect::Delete(delete), message));
    }
    let secrets = [(SecretOf::App, &observed.app), (SecretOf::System, &observed.system)];
    let given = db.spec.credentials.secret_ref.is_some();
    secrets.into_iter().filter(|(of, _)| !(given && *of == SecretOf::App)).find_map(|(of, seen)| {
        let there = !matches!(seen, SecretSeen::Absent | SecretSeen::Foreign | SecretSeen::Unknown(_));
        there.then(|| {
            Step::take(DeletionStep::Release, Effect::Act(DbAct::DropSecret(of)), "removing the Secrets".to_owned())
        })
    })
}

fn gone(meta: &Meta, kind: Kind) -> Effect<DbAct> {
    Effect::Delete(Delete::of(kind, meta))
}
