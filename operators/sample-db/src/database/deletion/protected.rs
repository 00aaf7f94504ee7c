//! Pure: a database that somebody has deleted although `deletion.protection` holds it: it serves on as long as its StatefulSet is
//! there, perhaps for months. So it is backed up, and is told passwords and parameters as before; and writers whom its deletion
//! has shut out already are let in again.

use api::sample_db::{SampleDBReason, SampleDBStatus};
use jiff::Timestamp;
use runtime::cache::Projection;
use runtime::plan::{Effect, Plan, Requeue};

use super::last::last;
use super::step::{end_jobs, gone, is_in_foreground, later};
use super::{status, way_in};
use crate::database::backup::{self, Backups};
use crate::database::effects::{DbAct, DbPlan, LATER, SECRETS, STEP, until};
use crate::database::login::Login;
use crate::database::observed::Observed;
use crate::database::pinned::Pinned;
use crate::database::step::NextStep;
use crate::database::{beside, steps, storage};
use crate::operand::database_state::shuts_out;
use crate::operand::kinds::Snapshot;
use crate::operand::names;

/// What is done meanwhile.
pub(super) fn plan(observed: &Observed, now: Timestamp) -> DbPlan {
    let before = &observed.db.status;
    let message = "spec.deletion.protection holds it: set that to false to have it deleted".to_owned();
    let told = status::of(observed, None, Err((SampleDBReason::Protected, message)), now);
    if !has_running_server(observed) {
        return Plan { events: status::events(before, &told), status: Some(told), ..later(LATER) };
    }
    let open = is_open(observed);
    let paused = observed.db.spec.paused;
    let backups = if open && !paused { backup::decide(observed, now) } else { Backups::default() };
    let pinned = Pinned::of(observed).ok();
    let told = serving(observed, told, pinned.as_ref(), &backups, now);
    let mut events = status::events(before, &told);
    events.extend(backup::events(before, &told));
    let done = backup::done(&backups);
    let step = NextStep::Do(effects(observed), SampleDBReason::Protected, String::new());
    let effects = beside::in_turn(step, backups.effect, now);
    let next = match (effects.is_empty(), observed.asked.answer()) {
        (false, _) => STEP,
        (true, None) => LATER,
        (true, Some(_)) => told.backup.next.map_or(SECRETS, |next| until(now, next)),
    };
    let aside = pinned.filter(|_| !paused).map(|pinned| storage::aside(observed, &pinned)).unwrap_or_default();
    Plan { effects, independent: aside, events, done, status: Some(told), next: Requeue::After(next) }
}

/// The status, with what is told of a database that serves.
fn serving(
    observed: &Observed,
    mut told: SampleDBStatus,
    pinned: Option<&Pinned>,
    backups: &Backups,
    now: Timestamp,
) -> SampleDBStatus {
    told.ready = Some(format!("{}/1", usize::from(is_open(observed))));
    told.backup = backup::status(observed, backups);
    if let Some(pinned) = pinned {
        told.volumes = storage::volumes(observed, pinned);
        told.contract.conditions.push(storage::condition_of(observed, pinned, now));
    }
    told.contract.conditions.extend(backup::health::conditions(observed, backups, now));
    told
}

/// Whether the server is there to stay.
pub(super) fn has_running_server(observed: &Observed) -> bool {
    let name = names::server(&observed.db);
    !is_in_foreground(observed) && observed.own_servers().any(|set| *set.meta.key.name == *name)
}

/// Whether applications get in, as far as the operator has to do with it. What was not asked is as the deletion has left it.
fn is_open(observed: &Observed) -> bool {
    let shut_out = match observed.asked.answer() {
        Some(answer) => answer.login == Login::ShutOut || steps::is_foreign(observed),
        None => last(observed).is_some() || shuts_out(&observed.db),
    };
    observed.db.status.initialization.completed_at.is_some() && observed.is_ready() && !shut_out
}

/// What is done to the server and for its Services. A final snapshot would lack what is written from now on.
fn effects(observed: &Observed) -> Vec<Effect<DbAct>> {
    if let Some(super::step::DeletionAction::Take(_, effects, _)) = way_in::restored(observed) {
        return effects;
    }
    let Some(answer) = observed.asked.answer().filter(|_| !steps::is_foreign(observed)) else { return Vec::new() };
    // A pause ends with what the deletion has begun: nobody asked for writers to be shut out in it.
    if observed.db.spec.paused && answer.login != Login::ShutOut {
        return Vec::new();
    }
    // An upgrade is not gone on with: what it copies is of no use, and is not to be written to meanwhile.
    if shuts_out(&observed.db) {
        if let Some(super::step::DeletionAction::Take(_, effects, _)) = end_jobs(observed) {
            return effects;
        }
        if !observed.jobs.is_empty()
            || observed.pods.iter().any(|pod| !names::is_server(&observed.db, &pod.meta.key.name))
        {
            return Vec::new();
        }
    }
    let mut effects: Vec<Effect<DbAct>> = Vec::new();
    effects.extend(last(observed).filter(|last| !last.meta.deleting).map(|last| gone(&last.meta, Snapshot::KIND)));
    if let Some(NextStep::Do(told, ..)) = steps::told_meanwhile(observed) {
        effects.extend(told);
    }
    effects
}
