//! What is done before a SampleDB goes: writers are shut out, the last snapshot is taken of the data as they then are, and
//! proved; then the server and the volume go. Pure.
//!
//! The last snapshot is taken of the running server: somebody may delete the data claim at any moment, and no new pod can
//! use it from then on. It holds whatever has gone before: a foreground deletion takes the server, its Services and
//! ConfigMaps away at once, and then the last snapshot needs none of them.

use std::time::Duration;

use api::condition_type::RECONCILING;
use api::sample_db::{
    DeletionPolicy, DeletionStep, FINAL_SNAPSHOT, SKIP_FINAL_SNAPSHOT, SampleDBReason, SampleDBStatus, UNSAVED_DATA,
};
use jiff::{SignedDuration, Timestamp};
use runtime::cache::View;
use runtime::plan::{Apply, Delete, Effect, Kind, Meta, Next, Plan};
use runtime::views::{Claim, Job, Pod, StatefulSet};

use super::objects::{self, SecretOf};
use super::status::with_data;
use super::{DbAct, DbPlan, LATER, Observed, STEP, SecretSeen, hold, names, recovered, restore};
use crate::snapshot::plan::is_being_taken;
use crate::{SampleDB, Snapshot};

mod last;
mod protected;
mod retain;
mod save;
mod status;
mod terminating;
mod way_in;

pub use last::final_name;
use last::last;
pub use save::final_claim;
pub(crate) use terminating::has_volume;

/// The finalizer by which the API server notes a deletion in the foreground: the server goes at once.
const FOREGROUND: &str = "foregroundDeletion";

/// What comes next.
enum Step {
    /// Something is waited for.
    Wait(DeletionStep, String),
    /// A person is waited for: the reason and what to do.
    Blocked(SampleDBReason, String),
    /// This is done.
    Take(DeletionStep, Vec<Effect<DbAct>>, String),
    /// `deletion.protection` holds it.
    Protected,
    /// Nothing is left to do.
    Release,
}

impl Step {
    fn take(step: DeletionStep, effect: Effect<DbAct>, message: String) -> Self {
        Self::Take(step, vec![effect], message)
    }
}

/// Decides.
pub(super) fn plan(observed: &Observed, now: Timestamp) -> DbPlan {
    let db = &*observed.db;
    if !db.meta.is_held_by(FINAL_SNAPSHOT) {
        return Plan::nothing();
    }
    let found = with_data(observed, now).or_else(|| restore::ended(observed, now));
    if let Some(status) = found.filter(|_| !observed.namespace_going) {
        return Plan { status: Some(status), ..later(STEP) };
    }
    // Data that are to be saved are held until they are.
    let saves = is_wanted(observed) && !save::is_saved(observed);
    let mut kept = if saves { hold::keep(observed) } else { Vec::new() };
    let aside: Vec<Apply> = save::grown(observed).filter(|_| saves).into_iter().collect();
    let (effects, status, next) = match next(observed, now) {
        Step::Protected => {
            let plan = protected::plan(observed, now);
            let aside = if plan.aside.is_empty() { aside } else { plan.aside };
            return Plan { effects: kept.into_iter().chain(plan.effects).collect(), aside, ..plan };
        }
        Step::Release => {
            // Claims that stay for another reason were let go before.
            let mut effects = if observed.namespace_going { hold::release_all(observed) } else { Vec::new() };
            effects.push(Effect::Apply(Apply::finalizers(SampleDB::KIND, &db.meta, &[])));
            return Plan { effects, done: status::unsaved(observed).into_iter().collect(), ..later(LATER) };
        }
        Step::Take(step, effects, message) => (effects, status::of(observed, Some(step), Ok(message), now), STEP),
        Step::Wait(step, message) => {
            (Vec::new(), status::of(observed, Some(step), Ok(message), now), wait(&db.status, now))
        }
        Step::Blocked(reason, message) => (Vec::new(), status::of(observed, None, Err((reason, message)), now), LATER),
    };
    let events = status::events(&db.status, &status);
    kept.extend(effects);
    Plan { effects: kept, aside, events, status: Some(status), ..later(next) }
}

/// While a Job or a pod comes to its end, of which watches tell: at first, and once that takes long.
const SOON: Duration = Duration::from_secs(2);
const SELDOM: Duration = Duration::from_secs(15);
/// From when on it takes long: each look is two requests.
const LONG: SignedDuration = SignedDuration::from_mins(2);

/// When to look again while something is waited for: since when it is being deleted, a condition tells.
fn wait(status: &SampleDBStatus, now: Timestamp) -> Duration {
    let begun = status.contract.condition(RECONCILING).map(|condition| condition.last_transition_time);
    if begun.is_some_and(|begun| now.duration_since(begun) > LONG) { SELDOM } else { SOON }
}

/// How long nothing irrevocable is done after the object has been deleted: one command that deletes it and its claims deletes
/// the object first, and once the server is stopped, nothing can read a claim that is being deleted.
const GRACE: SignedDuration = SignedDuration::from_secs(10);

/// Whether the deletion is so young that claims may be about to be deleted as well.
fn is_early(observed: &Observed, now: Timestamp) -> bool {
    let since = observed.db.status.deletion.started_at;
    since.is_none_or(|since| now.duration_since(since) < GRACE)
}

/// Whether the server goes at once, whatever is done here.
fn is_in_foreground(observed: &Observed) -> bool {
    observed.db.meta.is_held_by(FOREGROUND)
}

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
        return Step::Protected;
    }
    if let Some(step) = end_jobs(observed) {
        return step;
    }
    if db.spec.deletion.policy == DeletionPolicy::Retain {
        return retain::retain(observed, now).unwrap_or(Step::Release);
    }
    if let Some((reason, why)) = recovered::lost(observed).filter(|_| !is_given_up(db)) {
        let message = format!("{why}; or let the data go without a final snapshot: annotate it with {}", skip(db));
        return Step::Blocked(reason, message);
    }
    let wanted = is_wanted(observed);
    let saved = wanted
        .then(|| last::anew(observed).or_else(|| backups(observed)).or_else(|| save::save(observed, now)))
        .flatten();
    saved.or_else(|| stop(observed)).or_else(|| clear(observed)).unwrap_or(Step::Release)
}

/// Whether the server is asked although the database is being deleted: until its last snapshot counts, and while it is protected.
#[must_use]
pub fn is_to_be_asked(observed: &Observed) -> bool {
    let configured = observed.db.status.initialization.completed_at.is_some();
    match observed.db.spec.deletion.protection {
        true => configured && protected::has_running_server(observed),
        false => is_wanted(observed) && last(observed).is_none_or(|last| last::is_watched(observed, last)),
    }
}

/// Whether a last snapshot has to be taken before anything goes.
fn is_wanted(observed: &Observed) -> bool {
    !is_given_up(&observed.db) && observed.db.spec.deletion.policy == DeletionPolicy::Snapshot && has_data(observed)
}

/// Whether somebody has said that the data are of no use.
fn is_given_up(db: &SampleDB) -> bool {
    db.spec.deletion.policy == DeletionPolicy::Delete || is_skipped(db)
}

/// The annotation that lets it go without a last snapshot.
fn skip(db: &SampleDB) -> String {
    format!("{SKIP_FINAL_SNAPSHOT}={}", db.meta.key.name)
}

/// Whether somebody lets it go without a last snapshot.
fn is_skipped(db: &SampleDB) -> bool {
    db.annotations.get(SKIP_FINAL_SNAPSHOT).is_some_and(|name| **name == *db.meta.key.name)
}

/// Whether there are data that somebody may miss.
fn has_data(observed: &Observed) -> bool {
    let status = &observed.db.status;
    let claim = status.storage.claim.as_deref().and_then(|claim| observed.claim(claim));
    status.initialization.data_created_at.is_some() && !restore::is_half(observed) && claim.is_some()
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

/// The volumes of the data and the Secrets go; those of snapshots stay, also one that `backup.storage` names no longer.
fn clear(observed: &Observed) -> Option<Step> {
    let db = &*observed.db;
    let storage = &db.status.storage;
    let ours = |claim: &&std::sync::Arc<Claim>| {
        let data = names::data_major(db, &claim.meta.key.name).is_some();
        let made = claim.labels.get(objects::OWNER_UID).is_some_and(|uid| **uid == *db.meta.uid);
        // One that was taken over from an earlier database bears that one's uid.
        let used = db.status.initialization.data_created_at.is_some()
            && storage.claim.as_deref() == Some(&*claim.meta.key.name)
            && storage.claim_uid.as_deref() == Some(&*claim.meta.uid);
        let snapshots = [Some(names::snapshot_claim(db)), storage.snapshot_claim.clone()];
        data && (made || used) && !snapshots.iter().flatten().any(|name| **name == *claim.meta.key.name)
    };
    if let Some(claim) = observed.claims.iter().find(ours) {
        let message = format!("removing the volume {}", claim.meta.key.name);
        if claim.meta.deleting && claim.meta.is_held_by(UNSAVED_DATA) {
            let release = hold::release(observed, claim);
            return Some(Step::Take(DeletionStep::RemoveVolumes, release, message));
        }
        if claim.meta.deleting {
            return Some(Step::Wait(DeletionStep::RemoveVolumes, message));
        }
        let user = (Pod::KIND, db.meta.key.sibling(&names::pod_on(db, &claim.meta.key.name)));
        let delete = Delete { unless: Some(user), ..Delete::of(Claim::KIND, &claim.meta) };
        return Some(Step::take(DeletionStep::RemoveVolumes, Effect::Delete(delete), message));
    }
    if recovered::of_other_database(observed).is_some() {
        // The Secrets are those of that volume, which stays.
        return None;
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
