//! What is done before a SampleDB goes: writers are shut out by stopping the server, the last snapshot is taken of the data
//! as they then are, and proved; then the volume goes. Pure.
//!
//! It holds whatever has gone before: a foreground deletion takes the server, its Services and ConfigMaps away at once, so
//! the last snapshot needs none of them.

use std::time::Duration;

use api::sample_db::{
    DeletionPolicy, DeletionStatus, DeletionStep, FINAL_SNAPSHOT, OnSnapshotFailure, Phase, SKIP_FINAL_SNAPSHOT,
    SampleDBStatus, span,
};
use api::sample_db_snapshot::SnapshotPhase;
use api::{ConditionStatus, Contract, sample_db::condition_type as domain};
use jiff::Timestamp;
use runtime::cache::View;
use runtime::plan::conditions::{Summary, condition};
use runtime::plan::{Create, Delete, Effect, Kind, Meta, Next, Plan, meta};
use runtime::views::{Claim, Job, Pod, StatefulSet};
use serde_json::json;

use super::objects::SecretOf;
use super::{DbAct, DbPlan, LATER, Observed, STEP, finalizers, names};
use crate::snapshot::plan::is_proved;
use crate::{SampleDB, Snapshot};

/// What comes next.
enum Step {
    /// Something is waited for.
    Wait(DeletionStep, String),
    /// A person is waited for: the reason and what to do.
    Blocked(&'static str, String),
    /// This is done.
    Take(DeletionStep, Effect<DbAct>, String),
    /// Nothing is left to do.
    Release,
}

/// Decides.
pub(super) fn plan(observed: &Observed, now: Timestamp) -> DbPlan {
    let db = &*observed.db;
    if !db.meta.is_held_by(FINAL_SNAPSHOT) {
        return Plan::nothing();
    }
    let (effects, status, next) = match next(observed, now) {
        Step::Release => return Plan { effects: vec![Effect::Apply(finalizers(db, &json!([])))], ..later(LATER) },
        Step::Take(step, effect, message) => (vec![effect], status(observed, Some(step), Ok(message), now), STEP),
        Step::Wait(step, message) => (Vec::new(), status(observed, Some(step), Ok(message), now), SOON),
        Step::Blocked(reason, message) => (Vec::new(), status(observed, None, Err((reason, message)), now), LATER),
    };
    Plan { effects, status: Some(status), ..later(next) }
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
    let skipped = db.annotations.get(SKIP_FINAL_SNAPSHOT).is_some_and(|name| **name == *db.meta.key.name);
    let wanted = db.spec.deletion.policy == DeletionPolicy::Snapshot && !skipped && has_data(observed);
    let saved = wanted.then(|| backups(observed).or_else(|| stop(observed)).or_else(|| save(observed, now))).flatten();
    saved.or_else(|| stop(observed)).or_else(|| clear(observed)).unwrap_or(Step::Release)
}

/// Whether there are data that somebody may miss.
fn has_data(observed: &Observed) -> bool {
    let claim = observed.db.status.storage.claim.as_deref().and_then(|claim| observed.claim(claim));
    observed.db.status.initialization.data_created_at.is_some() && claim.is_some_and(|claim| !claim.meta.deleting)
}

/// Jobs of its own that still write to the data.
fn end_jobs(observed: &Observed) -> Option<Step> {
    let job = observed.jobs.iter().find(|job| !job.meta.deleting)?;
    let message = format!("ending the Job {}", job.meta.key.name);
    Some(Step::Take(DeletionStep::WaitForBackup, gone(&job.meta, Job::KIND), message))
}

/// A snapshot that is being taken comes to its end.
fn backups(observed: &Observed) -> Option<Step> {
    let last = final_name(&observed.db);
    let runs = |snapshot: &&std::sync::Arc<Snapshot>| {
        let taking = snapshot.status.phase == Some(SnapshotPhase::Running) && snapshot.status.completed_at.is_none();
        taking && *snapshot.meta.key.name != *last
    };
    let running = observed.snapshots.iter().find(runs)?;
    let message = format!("waiting until the snapshot {} has been taken", running.meta.key.name);
    Some(Step::Wait(DeletionStep::WaitForBackup, message))
}

/// The server and its pods go.
fn stop(observed: &Observed) -> Option<Step> {
    if let Some(server) = observed.server.ours() {
        let message = "stopping the server, so that nobody writes any more".to_owned();
        return Some(Step::Take(DeletionStep::RemovePods, gone(&server.meta, StatefulSet::KIND), message));
    }
    let pod = observed.pods.iter().find(|pod| *pod.meta.key.name == *names::pod(&observed.db))?;
    let message = format!("waiting until the pod {} is gone", pod.meta.key.name);
    Some(match pod.meta.deleting {
        true => Step::Wait(DeletionStep::RemovePods, message),
        false => Step::Take(DeletionStep::RemovePods, gone(&pod.meta, Pod::KIND), message),
    })
}

/// The last snapshot.
fn save(observed: &Observed, now: Timestamp) -> Option<Step> {
    let db = &*observed.db;
    let name = final_name(db);
    let found = observed.snapshots.iter().find(|snapshot| *snapshot.meta.key.name == *name);
    let Some(snapshot) = found else {
        let message = format!("taking the final snapshot {name}");
        return Some(Step::Take(DeletionStep::Snapshot, Effect::Create(last_snapshot(db, &name, now)), message));
    };
    if is_proved(&snapshot.status) {
        return None;
    }
    let begun = snapshot.status.started_at;
    let timeout = i64::try_from(2 * db.spec.deletion.timeout_seconds().unsigned_abs()).unwrap_or(i64::MAX);
    let late = begun.is_some_and(|begun| now.duration_since(begun).as_secs() > timeout);
    if snapshot.status.phase == Some(SnapshotPhase::Failed) || late {
        if db.spec.deletion.on_snapshot_failure == OnSnapshotFailure::Proceed {
            return None;
        }
        let why = snapshot.status.error.clone().unwrap_or_else(|| "it has not been taken in time".to_owned());
        let message = format!(
            "the final snapshot {name} failed, so the data stay: {why}; mend that and delete the SampleDBSnapshot {name} to \
             have it tried again, or let the data go without one: annotate this SampleDB with {SKIP_FINAL_SNAPSHOT}={}",
            db.meta.key.name
        );
        return Some(Step::Blocked("FinalSnapshotFailed", message));
    }
    Some(match snapshot.status.completed_at {
        None => Step::Wait(DeletionStep::Snapshot, format!("taking the final snapshot {name}")),
        Some(_) => Step::Wait(DeletionStep::Verify, format!("verifying the final snapshot {name}")),
    })
}

/// The name of the last snapshot: its own for each object of that name.
fn final_name(db: &SampleDB) -> String {
    let uid: String = db.meta.uid.chars().filter(char::is_ascii_alphanumeric).take(4).collect();
    format!("{}-final-{uid}", db.meta.key.name)
}

fn last_snapshot(db: &SampleDB, name: &str, now: Timestamp) -> Create {
    let kept = span(db.spec.deletion.keep_final_snapshot_for()).and_then(|kept| now.checked_add(kept).ok());
    let until = kept.and_then(|until| until.round(jiff::Unit::Second).ok());
    let labels = meta::labels(&SampleDB::KIND, &db.meta);
    let snapshot = json!({
        "metadata": { "labels": labels },
        "spec": {
            "sampleDB": &*db.meta.key.name, "sampleDBUID": db.meta.uid, "reason": "Final", "retainUntil": until,
        },
    });
    Create::new(Snapshot::KIND, db.meta.key.sibling(name), &snapshot)
}

/// The volume and the Secrets go; the snapshots' volume stays.
fn clear(observed: &Observed) -> Option<Step> {
    let db = &*observed.db;
    let ours = |claim: &&std::sync::Arc<Claim>| {
        let made = claim.labels.get(super::objects::OWNER_UID).is_some_and(|uid| **uid == *db.meta.uid);
        made && *claim.meta.key.name != *names::snapshot_claim(db)
    };
    if let Some(claim) = observed.claims.iter().find(ours) {
        let message = format!("removing the volume {}", claim.meta.key.name);
        if claim.meta.deleting {
            return Some(Step::Wait(DeletionStep::RemoveVolumes, message));
        }
        let delete = Delete {
            kind: Claim::KIND,
            key: claim.meta.key.clone(),
            uid: claim.meta.uid.clone(),
            unless: Some((Pod::KIND, db.meta.key.sibling(&names::pod(db)))),
        };
        return Some(Step::Take(DeletionStep::RemoveVolumes, Effect::Delete(delete), message));
    }
    let secrets = [(SecretOf::App, &observed.app), (SecretOf::System, &observed.system)];
    let given = db.spec.credentials.secret_ref.is_some();
    secrets.into_iter().filter(|(of, _)| !(given && *of == SecretOf::App)).find_map(|(of, seen)| {
        let there = matches!(seen, super::SecretSeen::Usable | super::SecretSeen::Malformed(_));
        there.then(|| {
            Step::Take(DeletionStep::Release, Effect::Act(DbAct::DropSecret(of)), "removing the Secrets".to_owned())
        })
    })
}

fn gone(meta: &Meta, kind: Kind) -> Effect<DbAct> {
    Effect::Delete(Delete { kind, key: meta.key.clone(), uid: meta.uid.clone(), unless: None })
}

fn status(
    observed: &Observed,
    step: Option<DeletionStep>,
    told: Result<String, (&'static str, String)>,
    now: Timestamp,
) -> SampleDBStatus {
    let before = &observed.db.status;
    let (mut conditions, message) = match told {
        Ok(message) => (Summary::Reconciling.conditions("Deleting", message.clone(), now), message),
        Err((reason, message)) => {
            let mut all = Summary::Stalled.conditions(reason, message.clone(), now);
            all.push(condition(domain::DELETION_BLOCKED, ConditionStatus::True, reason, message.clone(), now));
            (all, message)
        }
    };
    let last = observed.snapshots.iter().find(|snapshot| *snapshot.meta.key.name == *final_name(&observed.db));
    if let Some(last) = last {
        let (holds, reason) = match (is_proved(&last.status), last.status.phase) {
            (true, _) => (ConditionStatus::True, "Verified"),
            (_, Some(SnapshotPhase::Failed)) => (ConditionStatus::False, "Failed"),
            _ => (ConditionStatus::Unknown, "Running"),
        };
        let why = format!("the final snapshot is {}", last.meta.key.name);
        conditions.push(condition(domain::FINAL_SNAPSHOT, holds, reason, why, now));
    }
    SampleDBStatus {
        phase: Some(Phase::Deleting),
        deletion: DeletionStatus {
            step: step.or(before.deletion.step),
            final_snapshot: last
                .map(|last| last.meta.key.name.to_string())
                .or_else(|| before.deletion.final_snapshot.clone()),
            message: Some(message),
        },
        contract: Contract { conditions, ..before.contract.clone() },
        ..before.clone()
    }
}
