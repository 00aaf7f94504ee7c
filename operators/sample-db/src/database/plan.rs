//! Pure: what to do about a SampleDB.
//!
//! First the finalizer, then decisions are latched in status, then one step of [`steps`] per reconcile.

use api::sample_db::{FINAL_SNAPSHOT, SampleDBReason};
use jiff::Timestamp;
use runtime::cache::Projection;
use runtime::plan::{Apply, Create, Effect, Plan, Requeue};
use runtime::projections::StatefulSet;

use super::backup::{self, Backups};
use super::effects::{DbAct, DbPlan, POLL_FALLBACK, POLL_FILE, POLL_SECRETS, REQUEUE_AFTER_STEP, until};
use super::observed::Observed;
use super::pinned::{Pinned, SpecRefusal};
use super::status::inputs::StatusInputs;
use super::step::NextStep;
use super::target::{self, ReleaseTarget};
use super::upgrade::transition::UpgradeDecision;
use super::{
    deletion, hold, interleave, objects, recovered, restore, status, steps, storage, tuning, unlabeled, unwatched,
    upgrade,
};
use crate::operand::database_state::is_paused;
use crate::operand::kinds::{SampleDB, Snapshot};
use crate::operand::names;

/// Decides.
#[must_use]
pub fn plan(observed: &Observed, now: Timestamp) -> DbPlan {
    let mut plan = decide(observed, now);
    if observed.db.meta.deleting || !is_paused(&observed.db) {
        plan.independent.extend(unlabeled::repairs(observed));
    }
    plan.events_after_effects.extend(unwatched::restored(observed, &plan.effects));
    plan
}

/// The pod for the API server's dry run: before the StatefulSet of a database that has data gets its template, and before the
/// present pod, which is ready, is deleted for it.
#[must_use]
pub fn replacement_pod(observed: &Observed, now: Timestamp) -> Option<Create> {
    let db = &*observed.db;
    let set =
        observed.server.owned().filter(|_| db.status.initialization.data_created_at.is_some() && !db.meta.deleting)?;
    let ready = observed.pod().filter(|_| observed.is_ready());
    let replaces = |effect: &Effect<DbAct>| match effect {
        Effect::Delete(delete) => ready.is_some_and(|pod| delete.uid == pod.meta.uid),
        Effect::Apply(apply) => apply.kind == StatefulSet::KIND && apply.key == set.meta.key,
        Effect::Create(_) | Effect::Act(_) => false,
    };
    let takes_steps = is_latched(db) && !is_paused(db) && db.meta.has_finalizer(FINAL_SNAPSHOT);
    if !takes_steps || recovered::plan(observed).is_some() {
        return None;
    }
    // Status and backups, the greater part of a plan, have no part in this.
    let (pinned, source) = inputs(observed).ok()?;
    match decide_step(observed, &pinned, source, now) {
        UpgradeDecision::Continue(NextStep::Do(effects, ..)) if effects.iter().any(replaces) => {
            Some(objects::replacement_pod(observed, &pinned, source))
        }
        _ => None,
    }
}

/// Whether the release of a database is decided.
fn is_latched(db: &SampleDB) -> bool {
    db.status.engine.image.is_some()
}

/// What a plan for a valid spec is made from.
fn inputs(observed: &Observed) -> Result<(Pinned, Option<&Snapshot>), SpecRefusal> {
    validate(observed)?;
    let pinned = Pinned::of(observed)?;
    let source = restore::source(observed, &pinned)?;
    Ok((pinned, source))
}

fn decide(observed: &Observed, now: Timestamp) -> DbPlan {
    let db = &*observed.db;
    if let Some(plan) = recovered::plan(observed) {
        return plan;
    }
    if db.meta.deleting {
        return deletion::plan(observed, now);
    }
    let (pinned, source) = match inputs(observed) {
        Ok(inputs) => inputs,
        Err(refusal) => return refused(observed, refusal, now),
    };
    let latched = is_latched(db);
    let paused = is_paused(db);
    if !db.meta.has_finalizer(FINAL_SNAPSHOT) && !paused {
        return Plan {
            effects: vec![Effect::Apply(Apply::finalizers(SampleDB::KIND, &db.meta, &[FINAL_SNAPSHOT]))],
            next: Requeue::After(REQUEUE_AFTER_STEP),
            ..Plan::nothing()
        };
    }
    // Decisions are latched before anything relies on them.
    let decision = if latched && !paused {
        decide_step(observed, &pinned, source, now)
    } else {
        UpgradeDecision::Continue(NextStep::Idle)
    };
    let (step, transition) = match decision {
        UpgradeDecision::Nothing => (NextStep::Idle, None),
        UpgradeDecision::Continue(step) => (step, None),
        UpgradeDecision::Transition(transition) => (NextStep::Idle, Some(*transition)),
    };
    let configured = db.status.initialization.completed_at.is_some();
    let serves =
        latched && configured && !paused && transition.is_none() && interleave::may_back_up(observed, &step, now);
    let backups = if serves { backup::decide(observed, now) } else { Backups::default() };
    let inputs =
        StatusInputs { pinned: &pinned, source, step: &step, backups: &backups, transition: transition.as_ref() };
    let status = status::of(observed, &inputs, now);
    let (mut events, done) = (backup::events(&db.status, &status), backup::done(&backups));
    // The watch event of the operator's own write does not requeue it, so what was just latched needs a requeue.
    let news = transition.is_some()
        || (&status.initialization, &status.engine, &status.restore)
            != (&db.status.initialization, &db.status.engine, &db.status.restore);
    let next = match &step {
        NextStep::Do(..) => REQUEUE_AFTER_STEP,
        NextStep::Idle if !latched || news || backups.effect.is_some() => REQUEUE_AFTER_STEP,
        NextStep::Wait(..) if news => REQUEUE_AFTER_STEP,
        NextStep::Idle => {
            let next = status.backup.next.map_or(POLL_SECRETS, |next| until(now, next));
            if upgrade::is_spread(&status) { next.min(POLL_FALLBACK) } else { next }
        }
        NextStep::Wait(reason, _) if reason.is_one_of(&[SampleDBReason::Upgrading, SampleDBReason::RollingBack]) => {
            upgrade::requeue_after(observed, now)
        }
        NextStep::Wait(reason, _) if *reason == SampleDBReason::SettingParameters => POLL_FILE,
        NextStep::Wait(..) | NextStep::Blocked(..) => POLL_FALLBACK,
    };
    let effects = interleave::in_turn(step, backups.effect, now);
    // What is latched is recorded on the volumes before anything relies on it, and they are held before anything is on them.
    let mut marks = if latched && !paused { hold::keep(observed) } else { Vec::new() };
    let next = if marks.is_empty() { next } else { REQUEUE_AFTER_STEP };
    marks.extend(effects);
    let effects = marks;
    let mut independent = if latched && !paused { storage::independent_applies(observed, &pinned) } else { Vec::new() };
    independent.extend(upgrade::independent_apply(observed));
    events.extend(transition.and_then(|transition| transition.event));
    Plan {
        effects,
        independent,
        events_after_status: events,
        events_after_effects: done,
        status: Some(status),
        next: Requeue::After(next),
    }
}

/// The spec cannot be satisfied: nothing is changed, volumes are held, and a server that serves is backed up as before.
fn refused(observed: &Observed, refusal: SpecRefusal, now: Timestamp) -> DbPlan {
    let db = &*observed.db;
    let settled = db.status.initialization.completed_at.is_some() && db.status.upgrade.step.is_none();
    let held = db.meta.has_finalizer(FINAL_SNAPSHOT) && !db.spec.paused;
    let backed_up = settled && held && observed.is_ready() && refusal.0 != SampleDBReason::SnapshotsOnData;
    let backups = if backed_up { backup::decide(observed, now) } else { Backups::default() };
    let status = status::refused(observed, refusal, &backups, now);
    let (events, done) = (backup::events(&db.status, &status), backup::done(&backups));
    // Whatever the spec says, what is latched is recorded on the volumes, and they are held.
    let latched = is_latched(db);
    let mut effects = if latched && held { hold::keep(observed) } else { Vec::new() };
    let next = if effects.is_empty() { POLL_FALLBACK } else { REQUEUE_AFTER_STEP };
    effects.extend(backups.effect);
    Plan {
        effects,
        independent: restore::import_volume(observed).into_iter().collect(),
        events_after_status: events,
        events_after_effects: done,
        status: Some(status),
        next: Requeue::After(next),
    }
}

/// The preconditions, then an upgrade that is in progress, then the steps toward a database that serves, then upgrades to start.
fn decide_step(observed: &Observed, pinned: &Pinned, source: Option<&Snapshot>, now: Timestamp) -> UpgradeDecision {
    if let Some(step) = steps::preconditions(observed, pinned, source) {
        return UpgradeDecision::Continue(step);
    }
    let under_way = observed.db.status.upgrade.step.is_some();
    if under_way {
        return upgrade::decide(observed, pinned, now);
    }
    match steps::next(observed, pinned, source) {
        NextStep::Idle if observed.db.status.initialization.completed_at.is_some() => {
            upgrade::decide(observed, pinned, now)
        }
        NextStep::Blocked(reason, why) if reason == SampleDBReason::ParameterRefused => {
            UpgradeDecision::Continue(NextStep::Blocked(reason, with_waiting_upgrade(observed, pinned, why)))
        }
        step => UpgradeDecision::Continue(step),
    }
}

/// The refusal of parameters, and the upgrade that waits because of it: perhaps only the later release knows one of them.
fn with_waiting_upgrade(observed: &Observed, pinned: &Pinned, why: String) -> String {
    match target::target(observed, pinned) {
        ReleaseTarget::Upgrade(goal) => format!(
            "{why}; the upgrade to PostgreSQL {} waits: remove parameters that only the new release supports, and add them after \
             the upgrade",
            goal.name()
        ),
        ReleaseTarget::Current | ReleaseTarget::Available(_) | ReleaseTarget::Refused(_) => why,
    }
}

/// Validates what no CEL rule can.
fn validate(observed: &Observed) -> Result<(), SpecRefusal> {
    let db = &*observed.db;
    if let Some(why) = recovered::lost(observed)
        .or_else(|| recovered::of_other_database(observed))
        .or_else(|| recovered::adopted_volume_missing(observed))
    {
        return Err(why);
    }
    let given = db.spec.credentials.secret_ref.as_ref();
    if let Some(secret) = given.filter(|secret| secret.name == names::superuser_secret(db)) {
        let why = format!("credentials.secretRef names {}, the operator's own Secret: name another", secret.name);
        return Err((SampleDBReason::SecretReserved, why));
    }
    // Later, the server keeps running with its present parameters instead.
    if let Some(why) = tuning::refusal(db).filter(|_| db.status.initialization.completed_at.is_none()) {
        return Err((SampleDBReason::ParameterRefused, format!("engine.parameters: {why}")));
    }
    if observed.snapshots_on_data {
        let claim = names::snapshot_claim(db);
        let why =
            format!("backup.storage.existingClaim names {claim}, which holds the data of a database: name another");
        return Err((SampleDBReason::SnapshotsOnData, why));
    }
    Ok(())
}
