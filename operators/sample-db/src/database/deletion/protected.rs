//! Pure: a database that was deleted although `deletion.protection` holds it. It keeps serving as long as its StatefulSet exists,
//! perhaps for months. So the operator backs it up and sets passwords and parameters as before, and allows clients again if the
//! deletion blocked them.

use api::sample_db::{SampleDBReason, SampleDBStatus};
use jiff::Timestamp;
use runtime::cache::Projection;
use runtime::plan::{Effect, Plan, Requeue};

use super::final_snapshot::final_snapshot;
use super::step::{delete, end_jobs, is_in_foreground, requeue_after};
use super::{access, status};
use crate::database::backup::{self, Backups};
use crate::database::effects::{DbAct, DbPlan, POLL_FALLBACK, POLL_SECRETS, REQUEUE_AFTER_STEP, until};
use crate::database::login::LoginCheck;
use crate::database::observed::Observed;
use crate::database::pinned::Pinned;
use crate::database::step::NextStep;
use crate::database::{interleave, steps, storage};
use crate::operand::database_state::blocks_clients;
use crate::operand::kinds::Snapshot;
use crate::operand::names;

/// Decides while the database is protected.
pub(super) fn plan(observed: &Observed, now: Timestamp) -> DbPlan {
    let before = &observed.db.status;
    let message =
        "spec.deletion.protection blocks the deletion: set it to false to have the database deleted".to_owned();
    let status = status::of(observed, None, Err((SampleDBReason::Protected, message)), now);
    if !has_running_server(observed) {
        return Plan {
            events_after_status: status::events(before, &status),
            status: Some(status),
            ..requeue_after(POLL_FALLBACK)
        };
    }
    let open = is_open(observed);
    let paused = observed.db.spec.paused;
    let backups = if open && !paused { backup::decide(observed, now) } else { Backups::default() };
    let pinned = Pinned::of(observed).ok();
    let status = serving(observed, status, pinned.as_ref(), &backups, now);
    let mut events = status::events(before, &status);
    events.extend(backup::events(before, &status));
    let done = backup::done(&backups);
    let step = NextStep::Do(effects(observed), SampleDBReason::Protected, String::new());
    let effects = interleave::in_turn(step, backups.effect, now);
    let next = match (effects.is_empty(), observed.probe.info()) {
        (false, _) => REQUEUE_AFTER_STEP,
        (true, None) => POLL_FALLBACK,
        (true, Some(_)) => status.backup.next.map_or(POLL_SECRETS, |next| until(now, next)),
    };
    let independent =
        pinned.filter(|_| !paused).map(|pinned| storage::independent_applies(observed, &pinned)).unwrap_or_default();
    Plan {
        effects,
        independent,
        events_after_status: events,
        events_after_effects: done,
        status: Some(status),
        next: Requeue::After(next),
    }
}

/// The status, with what a serving database reports.
fn serving(
    observed: &Observed,
    mut status: SampleDBStatus,
    pinned: Option<&Pinned>,
    backups: &Backups,
    now: Timestamp,
) -> SampleDBStatus {
    status.ready = Some(format!("{}/1", usize::from(is_open(observed))));
    status.backup = backup::status(observed, backups);
    if let Some(pinned) = pinned {
        status.volumes = storage::volumes(observed, pinned);
        status.contract.conditions.push(storage::condition_of(observed, pinned, now));
    }
    status.contract.conditions.extend(backup::health::conditions(observed, backups, now));
    status
}

/// Whether the server exists and is not terminating.
pub(super) fn has_running_server(observed: &Observed) -> bool {
    let name = names::server(&observed.db);
    !is_in_foreground(observed) && observed.own_servers().any(|set| *set.meta.key.name == *name)
}

/// Whether clients can connect, as far as the operator controls it. Without an answer, it is as the deletion left it.
fn is_open(observed: &Observed) -> bool {
    let blocked = match observed.probe.info() {
        Some(answer) => answer.login == LoginCheck::Blocked || steps::is_foreign(observed),
        None => final_snapshot(observed).is_some() || blocks_clients(&observed.db),
    };
    observed.db.status.initialization.completed_at.is_some() && observed.is_ready() && !blocked
}

/// The effects on the server and its Services. A final snapshot would lack what is written from now on, so it is deleted.
fn effects(observed: &Observed) -> Vec<Effect<DbAct>> {
    if let Some(super::step::DeletionAction::Take(_, effects, _)) = access::restore_services(observed) {
        return effects;
    }
    let Some(answer) = observed.probe.info().filter(|_| !steps::is_foreign(observed)) else { return Vec::new() };
    // Pausing does not preserve what the deletion began: clients are allowed again.
    if observed.db.spec.paused && answer.login != LoginCheck::Blocked {
        return Vec::new();
    }
    // An upgrade does not continue: its copy is useless, and clients must not write while it still runs.
    if blocks_clients(&observed.db) {
        if let Some(super::step::DeletionAction::Take(_, effects, _)) = end_jobs(observed) {
            return effects;
        }
        if !observed.jobs.is_empty()
            || observed.pods.iter().any(|pod| !names::is_server_pod(&observed.db, &pod.meta.key.name))
        {
            return Vec::new();
        }
    }
    let mut effects: Vec<Effect<DbAct>> = Vec::new();
    effects.extend(
        final_snapshot(observed).filter(|last| !last.meta.deleting).map(|last| delete(&last.meta, Snapshot::KIND)),
    );
    if let Some(NextStep::Do(changes, ..)) = steps::live_changes(observed) {
        effects.extend(changes);
    }
    effects
}
