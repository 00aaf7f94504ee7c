//! Pure: what is done before a SampleDB goes: writers are shut out, the last snapshot is taken of the data as they then are, and
//! proved; then the server and the volume go.
//!
//! The last snapshot is taken of the running server: somebody may delete the data claim at any moment, and no new pod can
//! use it from then on. It holds whatever has gone before: a foreground deletion takes the server, its Services and
//! ConfigMaps away at once, and then the last snapshot needs none of them.

use std::time::Duration;

use api::condition_type::RECONCILING;
use api::sample_db::{DeletionPolicy, DeletionStep, FINAL_SNAPSHOT, SampleDBStatus, UNSAVED_DATA};
use jiff::Timestamp;
use runtime::cache::Projection;
use runtime::plan::{Apply, Delete, Effect, Plan};
use runtime::projections::{Claim, Pod};

use super::effects::{DbAct, DbPlan, LATER, STEP};
use super::objects::SecretOf;
use super::observed::{Observed, SecretSeen};
use super::status::with_data;
use super::{hold, recovered, restore};
use crate::operand::kinds::{SampleDB, Snapshot};
use crate::operand::snapshot_state::is_being_taken;
use crate::operand::{labels, names};
use last::last;
use server::stop;
use step::{DeletionAction, LONG, end_jobs, is_skipped, later, skip};

mod last;
mod protected;
mod retain;
mod save;
pub(crate) mod server;
mod status;
pub(crate) mod step;
mod terminating;
mod way_in;

pub use last::final_name;
pub use save::final_claim;

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
        DeletionAction::Protected => {
            let plan = protected::plan(observed, now);
            let aside = if plan.independent.is_empty() { aside } else { plan.independent };
            return Plan { effects: kept.into_iter().chain(plan.effects).collect(), independent: aside, ..plan };
        }
        DeletionAction::Release => {
            // Claims that stay for another reason were let go before.
            let mut effects = if observed.namespace_going { hold::release_all(observed) } else { Vec::new() };
            effects.push(Effect::Apply(Apply::finalizers(SampleDB::KIND, &db.meta, &[])));
            return Plan { effects, done: status::unsaved(observed).into_iter().collect(), ..later(LATER) };
        }
        DeletionAction::Take(step, effects, message) => {
            (effects, status::of(observed, Some(step), Ok(message), now), STEP)
        }
        DeletionAction::Wait(step, message) => {
            (Vec::new(), status::of(observed, Some(step), Ok(message), now), wait(&db.status, now))
        }
        DeletionAction::Blocked(reason, message) => {
            (Vec::new(), status::of(observed, None, Err((reason, message)), now), LATER)
        }
    };
    let events = status::events(&db.status, &status);
    kept.extend(effects);
    Plan { effects: kept, independent: aside, events, status: Some(status), ..later(next) }
}

/// While a Job or a pod comes to its end, of which watches tell: at first, and once that takes long.
const SOON: Duration = Duration::from_secs(2);
const SELDOM: Duration = Duration::from_secs(15);

/// When to look again while something is waited for: since when it is being deleted, a condition tells.
fn wait(status: &SampleDBStatus, now: Timestamp) -> Duration {
    let begun = status.contract.condition(RECONCILING).map(|condition| condition.last_transition_time);
    if begun.is_some_and(|begun| now.duration_since(begun) > LONG) { SELDOM } else { SOON }
}

fn next(observed: &Observed, now: Timestamp) -> DeletionAction {
    let db = &*observed.db;
    // Nothing can be made in a namespace that is going, and what is in it goes with it or stays: not by our hand.
    if observed.namespace_going {
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
    if let Some((reason, why)) = recovered::lost(observed).filter(|_| !is_given_up(db)) {
        let message = format!("{why}; or let the data go without a final snapshot: annotate it with {}", skip(db));
        return DeletionAction::Blocked(reason, message);
    }
    let wanted = is_wanted(observed);
    let saved = wanted
        .then(|| last::anew(observed).or_else(|| backups(observed)).or_else(|| save::save(observed, now)))
        .flatten();
    saved.or_else(|| stop(observed)).or_else(|| clear(observed)).unwrap_or(DeletionAction::Release)
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

/// Whether there are data that somebody may miss.
fn has_data(observed: &Observed) -> bool {
    let status = &observed.db.status;
    let claim = status.storage.claim.as_deref().and_then(|claim| observed.claim(claim));
    status.initialization.data_created_at.is_some() && !restore::is_half(observed) && claim.is_some()
}

/// A snapshot that is being taken comes to its end, if it can: nothing makes a Secret again of a database that goes, and
/// without one it cannot log in.
fn backups(observed: &Observed) -> Option<DeletionAction> {
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
    Some(DeletionAction::Wait(DeletionStep::WaitForBackup, message))
}

/// The volumes of the data and the Secrets go; those of snapshots stay, also one that `backup.storage` names no longer.
fn clear(observed: &Observed) -> Option<DeletionAction> {
    let db = &*observed.db;
    let storage = &db.status.storage;
    let ours = |claim: &&std::sync::Arc<Claim>| {
        let data = names::data_major(db, &claim.meta.key.name).is_some();
        let made = claim.labels.get(labels::OWNER_UID).is_some_and(|uid| **uid == *db.meta.uid);
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
            return Some(DeletionAction::Take(DeletionStep::RemoveVolumes, release, message));
        }
        if claim.meta.deleting {
            return Some(DeletionAction::Wait(DeletionStep::RemoveVolumes, message));
        }
        let user = (Pod::KIND, db.meta.key.sibling(&names::pod_on(db, &claim.meta.key.name)));
        let delete = Delete { unless: Some(user), ..Delete::of(Claim::KIND, &claim.meta) };
        return Some(DeletionAction::take(DeletionStep::RemoveVolumes, Effect::Delete(delete), message));
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
            DeletionAction::take(
                DeletionStep::Release,
                Effect::Act(DbAct::DropSecret(of)),
                "removing the Secrets".to_owned(),
            )
        })
    })
}
