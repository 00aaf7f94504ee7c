//! Pure: what happens before a SampleDB is deleted. The operator blocks clients, takes the final snapshot of the data as it is
//! then, and verifies it; then it deletes the server and the volume.
//!
//! The final snapshot is taken of the running server: a user may delete the data PVC at any moment, and no new pod can use it
//! from then on. It works whatever was deleted before: a foreground deletion deletes the server, its Services and ConfigMaps at
//! once, and then the final snapshot needs none of them.

use std::time::Duration;

use api::condition_type::RECONCILING;
use api::sample_db::{DeletionPolicy, DeletionStep, FINAL_SNAPSHOT, SampleDBStatus, UNSAVED_DATA};
use jiff::Timestamp;
use runtime::cache::Projection;
use runtime::plan::{Apply, Delete, Effect, Plan};
use runtime::projections::{Pod, Pvc};

use super::effects::{DbAct, DbPlan, POLL_FALLBACK, REQUEUE_AFTER_STEP};
use super::objects::SecretRole;
use super::observed::{Observed, SecretState};
use super::status::with_data;
use super::{hold, recovered, restore};
use crate::operand::kinds::{SampleDB, Snapshot};
use crate::operand::snapshot_state::is_being_taken;
use crate::operand::{labels, names};
use final_snapshot::final_snapshot;
use server::stop;
use step::{DeletionAction, SLOW_AFTER, end_jobs, is_skipped, requeue_after, skip};

mod access;
mod final_snapshot;
mod protected;
mod retain;
pub(crate) mod server;
mod status;
pub(crate) mod step;
mod take_snapshot;
mod terminating;

pub use final_snapshot::final_name;
pub use take_snapshot::final_claim;

/// Decides.
pub(super) fn plan(observed: &Observed, now: Timestamp) -> DbPlan {
    let db = &*observed.db;
    if !db.meta.has_finalizer(FINAL_SNAPSHOT) {
        return Plan::nothing();
    }
    let found = with_data(observed, now).or_else(|| restore::completed(observed, now));
    if let Some(status) = found.filter(|_| !observed.namespace_terminating) {
        return Plan { status: Some(status), ..requeue_after(REQUEUE_AFTER_STEP) };
    }
    // Data that must be saved is held until it is saved.
    let saves = needs_final_snapshot(observed) && !take_snapshot::is_saved(observed);
    let mut marks = if saves { hold::keep(observed) } else { Vec::new() };
    let independent: Vec<Apply> = take_snapshot::grow_volume(observed).filter(|_| saves).into_iter().collect();
    let (effects, status, next) = match decide(observed, now) {
        DeletionAction::Protected => {
            let plan = protected::plan(observed, now);
            let independent = if plan.independent.is_empty() { independent } else { plan.independent };
            return Plan { effects: marks.into_iter().chain(plan.effects).collect(), independent, ..plan };
        }
        DeletionAction::Release => {
            // PVCs that stay for another reason were released before.
            let mut effects = if observed.namespace_terminating { hold::release_all(observed) } else { Vec::new() };
            effects.push(Effect::Apply(Apply::finalizers(SampleDB::KIND, &db.meta, &[])));
            return Plan {
                effects,
                events_after_effects: status::skipped(observed).into_iter().collect(),
                ..requeue_after(POLL_FALLBACK)
            };
        }
        DeletionAction::Take(step, effects, message) => {
            (effects, status::of(observed, Some(step), Ok(message), now), REQUEUE_AFTER_STEP)
        }
        DeletionAction::Wait(step, message) => {
            (Vec::new(), status::of(observed, Some(step), Ok(message), now), poll_interval(&db.status, now))
        }
        DeletionAction::Blocked(reason, message) => {
            (Vec::new(), status::of(observed, None, Err((reason, message)), now), POLL_FALLBACK)
        }
    };
    let events = status::events(&db.status, &status);
    marks.extend(effects);
    Plan { effects: marks, independent, events_after_status: events, status: Some(status), ..requeue_after(next) }
}

/// While a Job or a pod has to end, which watches report: at first, and once that takes long.
const POLL_DELETION: Duration = Duration::from_secs(2);
const POLL_SLOW_DELETION: Duration = Duration::from_secs(15);

/// When to requeue while something is pending. A condition says since when the object is being deleted.
fn poll_interval(status: &SampleDBStatus, now: Timestamp) -> Duration {
    let begun = status.contract.condition(RECONCILING).map(|condition| condition.last_transition_time);
    if begun.is_some_and(|begun| now.duration_since(begun) > SLOW_AFTER) { POLL_SLOW_DELETION } else { POLL_DELETION }
}

fn decide(observed: &Observed, now: Timestamp) -> DeletionAction {
    let db = &*observed.db;
    // Nothing can be created in a namespace that is terminating. What is in it is deleted with it or stays; the operator does not
    // interfere.
    if observed.namespace_terminating {
        return DeletionAction::Release;
    }
    if db.spec.deletion.protection {
        return DeletionAction::Protected;
    }
    if let Some(step) = end_jobs(observed) {
        return step;
    }
    if db.spec.deletion.policy == DeletionPolicy::Retain {
        return retain::retain(observed, now).unwrap_or(DeletionAction::Release);
    }
    if let Some((reason, why)) = recovered::lost(observed).filter(|_| !is_data_discarded(db)) {
        let message = format!(
            "{why}; or, to give the data up without a final snapshot, annotate this SampleDB with {}",
            skip(db)
        );
        return DeletionAction::Blocked(reason, message);
    }
    let wanted = needs_final_snapshot(observed);
    let saved = wanted
        .then(|| {
            final_snapshot::retake(observed)
                .or_else(|| await_backup(observed))
                .or_else(|| take_snapshot::take_final_snapshot(observed, now))
        })
        .flatten();
    saved.or_else(|| stop(observed)).or_else(|| cleanup(observed)).unwrap_or(DeletionAction::Release)
}

/// Whether the server is queried although the database is being deleted: until its final snapshot counts, and while it is
/// protected.
#[must_use]
pub fn should_query_server(observed: &Observed) -> bool {
    let configured = observed.db.status.initialization.completed_at.is_some();
    match observed.db.spec.deletion.protection {
        true => configured && protected::has_running_server(observed),
        false => {
            needs_final_snapshot(observed)
                && final_snapshot(observed).is_none_or(|last| final_snapshot::is_watched(observed, last))
        }
    }
}

/// Whether a final snapshot has to be taken before anything is deleted.
fn needs_final_snapshot(observed: &Observed) -> bool {
    !is_data_discarded(&observed.db)
        && observed.db.spec.deletion.policy == DeletionPolicy::Snapshot
        && has_data(observed)
}

/// Whether the user gave the data up.
fn is_data_discarded(db: &SampleDB) -> bool {
    db.spec.deletion.policy == DeletionPolicy::Delete || is_skipped(db)
}

/// Whether there is data that may be missed.
fn has_data(observed: &Observed) -> bool {
    let status = &observed.db.status;
    let claim = status.storage.claim.as_deref().and_then(|claim| observed.claim(claim));
    status.initialization.data_created_at.is_some() && !restore::is_partial(observed) && claim.is_some()
}

/// Waits for a snapshot that is being taken, if it can be: nothing recreates a Secret of a database that is being deleted, and
/// without one the Job cannot log in.
fn await_backup(observed: &Observed) -> Option<DeletionAction> {
    if matches!(observed.superuser_secret, SecretState::Absent) {
        return None;
    }
    let last = final_name(observed);
    let runs = |snapshot: &&std::sync::Arc<Snapshot>| {
        is_being_taken(&snapshot.status) && !snapshot.meta.deleting && *snapshot.meta.key.name != *last
    };
    let running = observed.snapshots.iter().find(runs)?;
    let name = &running.meta.key.name;
    let message = format!(
        "waiting until the snapshot {name} has been taken; delete that SampleDBSnapshot to continue without it"
    );
    Some(DeletionAction::Wait(DeletionStep::WaitForBackup, message))
}

/// Deletes the volumes of the data and the Secrets. Those of snapshots stay, including one that `backup.storage` no longer names.
fn cleanup(observed: &Observed) -> Option<DeletionAction> {
    let db = &*observed.db;
    let storage = &db.status.storage;
    let own = |claim: &&std::sync::Arc<Pvc>| {
        let data = names::data_major(db, &claim.meta.key.name).is_some();
        let labeled = claim.labels.get(labels::OWNER_UID).is_some_and(|uid| **uid == *db.meta.uid);
        // A PVC that was adopted from an earlier database bears the UID of that one.
        let used = db.status.initialization.data_created_at.is_some()
            && storage.claim.as_deref() == Some(&*claim.meta.key.name)
            && storage.claim_uid.as_deref() == Some(&*claim.meta.uid);
        let snapshots = [Some(names::snapshot_claim(db)), storage.snapshot_claim.clone()];
        data && (labeled || used) && !snapshots.iter().flatten().any(|name| **name == *claim.meta.key.name)
    };
    if let Some(claim) = observed.claims.iter().find(own) {
        let message = format!("deleting the volume {}", claim.meta.key.name);
        if claim.meta.deleting && claim.meta.has_finalizer(UNSAVED_DATA) {
            let release = hold::release(observed, claim);
            return Some(DeletionAction::Take(DeletionStep::RemoveVolumes, release, message));
        }
        if claim.meta.deleting {
            return Some(DeletionAction::Wait(DeletionStep::RemoveVolumes, message));
        }
        let user = (Pod::KIND, db.meta.key.sibling(&names::pod_of_data_claim(db, &claim.meta.key.name)));
        let delete = Delete { only_if_absent: Some(user), ..Delete::of(Pvc::KIND, &claim.meta) };
        return Some(DeletionAction::act(DeletionStep::RemoveVolumes, Effect::Delete(delete), message));
    }
    if recovered::of_other_database(observed).is_some() {
        // The Secrets belong to that volume, which stays.
        return None;
    }
    let secrets = [(SecretRole::App, &observed.app_secret), (SecretRole::System, &observed.superuser_secret)];
    let given = db.spec.credentials.secret_ref.is_some();
    secrets.into_iter().filter(|(of, _)| !(given && *of == SecretRole::App)).find_map(|(of, seen)| {
        let there = !matches!(seen, SecretState::Absent | SecretState::Foreign | SecretState::Unknown(_));
        there.then(|| {
            DeletionAction::act(
                DeletionStep::Release,
                Effect::Act(DbAct::DeleteSecret(of)),
                "deleting the Secrets".to_owned(),
            )
        })
    })
}
