//! Pure: what to do about a SampleDB.
//!
//! First what holds the object, then what was decided for it is written down, then one step of [`steps`] per reconcile.

use api::sample_db::{FINAL_SNAPSHOT, SampleDBReason};
use jiff::Timestamp;
use runtime::cache::Projection;
use runtime::plan::{Apply, Create, Effect, Plan, Requeue};
use runtime::projections::StatefulSet;

use super::backup::{self, Backups};
use super::effects::{DbAct, DbPlan, FILE, LATER, SECRETS, STEP, until};
use super::observed::Observed;
use super::pinned::{Pinned, Refusal};
use super::status::judged::Judged;
use super::step::NextStep;
use super::target::{self, Target};
use super::upgrade::transition::UpgradeDecision;
use super::{
    beside, deletion, hold, objects, recovered, restore, status, steps, storage, tuning, unlabeled, unwatched, upgrade,
};
use crate::operand::database_state::rests;
use crate::operand::kinds::{SampleDB, Snapshot};
use crate::operand::names;

/// Decides.
#[must_use]
pub fn plan(observed: &Observed, now: Timestamp) -> DbPlan {
    let mut plan = decide(observed, now);
    if observed.db.meta.deleting || !rests(&observed.db) {
        plan.independent.extend(unlabeled::repairs(observed));
    }
    plan.done.extend(unwatched::restored(observed, &plan.effects));
    plan
}

/// The pod of which the API server should say whether it would create it: before the StatefulSet of a database that has data
/// gets its template, and before the present pod, which is ready, is deleted for it.
#[must_use]
pub fn trial(observed: &Observed, now: Timestamp) -> Option<Create> {
    let db = &*observed.db;
    let set =
        observed.server.owned().filter(|_| db.status.initialization.data_created_at.is_some() && !db.meta.deleting)?;
    let ready = observed.pod().filter(|_| observed.is_ready());
    let replaces = |effect: &Effect<DbAct>| match effect {
        Effect::Delete(delete) => ready.is_some_and(|pod| delete.uid == pod.meta.uid),
        Effect::Apply(apply) => apply.kind == StatefulSet::KIND && apply.key == set.meta.key,
        Effect::Create(_) | Effect::Act(_) => false,
    };
    if !decide(observed, now).effects.iter().any(replaces) {
        return None;
    }
    let pinned = Pinned::of(observed).ok()?;
    let source = restore::source(observed, &pinned).ok()?;
    Some(objects::probe(observed, &pinned, source))
}

fn decide(observed: &Observed, now: Timestamp) -> DbPlan {
    let db = &*observed.db;
    if let Some(plan) = recovered::plan(observed) {
        return plan;
    }
    if db.meta.deleting {
        return deletion::plan(observed, now);
    }
    let judged = sound(observed).and_then(|()| Pinned::of(observed));
    let judged = judged.and_then(|pinned| restore::source(observed, &pinned).map(|source| (pinned, source)));
    let (pinned, source) = match judged {
        Ok(judged) => judged,
        Err(refusal) => return refused(observed, refusal, now),
    };
    let latched = db.status.engine.image.is_some();
    let paused = rests(db);
    if !db.meta.is_held_by(FINAL_SNAPSHOT) && !paused {
        return Plan {
            effects: vec![Effect::Apply(Apply::finalizers(SampleDB::KIND, &db.meta, &[FINAL_SNAPSHOT]))],
            next: Requeue::After(STEP),
            ..Plan::nothing()
        };
    }
    // What was decided is written down before anything relies on it.
    let go =
        if latched && !paused { go(observed, &pinned, source, now) } else { UpgradeDecision::Continue(NextStep::Idle) };
    let (step, transition) = match go {
        UpgradeDecision::Nothing => (NextStep::Idle, None),
        UpgradeDecision::Continue(step) => (step, None),
        UpgradeDecision::Transition(transition) => (NextStep::Idle, Some(*transition)),
    };
    let configured = db.status.initialization.completed_at.is_some();
    let serves = latched && configured && !paused && transition.is_none() && beside::may_back_up(observed, &step, now);
    let backups = if serves { backup::decide(observed, now) } else { Backups::default() };
    let judged = Judged { pinned: &pinned, source, step: &step, backups: &backups, transition: transition.as_ref() };
    let status = status::of(observed, &judged, now);
    let (mut events, done) = (backup::events(&db.status, &status), backup::done(&backups));
    // The event of an own write is no news: what was just latched is gone on from by ourselves.
    let news = transition.is_some()
        || (&status.initialization, &status.engine, &status.restore)
            != (&db.status.initialization, &db.status.engine, &db.status.restore);
    let next = match &step {
        NextStep::Do(..) => STEP,
        NextStep::Idle if !latched || news || backups.effect.is_some() => STEP,
        NextStep::Wait(..) if news => STEP,
        NextStep::Idle => {
            let next = status.backup.next.map_or(SECRETS, |next| until(now, next));
            if upgrade::is_spread(&status) { next.min(LATER) } else { next }
        }
        NextStep::Wait(reason, _) if reason.is_one_of(&[SampleDBReason::Upgrading, SampleDBReason::RollingBack]) => {
            upgrade::pace(observed, now)
        }
        NextStep::Wait(reason, _) if *reason == SampleDBReason::SettingParameters => FILE,
        NextStep::Wait(..) | NextStep::Blocked(..) => LATER,
    };
    let effects = beside::in_turn(step, backups.effect, now);
    // What is latched is recorded on the volumes before anything relies on it, and they are held before anything is in them.
    let mut kept = if latched && !paused { hold::keep(observed) } else { Vec::new() };
    let next = if kept.is_empty() { next } else { STEP };
    kept.extend(effects);
    let effects = kept;
    let mut aside = if latched && !paused { storage::aside(observed, &pinned) } else { Vec::new() };
    aside.extend(upgrade::aside(observed));
    events.extend(transition.and_then(|transition| transition.event));
    Plan { effects, independent: aside, events, done, status: Some(status), next: Requeue::After(next) }
}

/// What the spec asks for cannot be had: nothing is changed, volumes are held, and a server that serves is backed up as before.
fn refused(observed: &Observed, refusal: Refusal, now: Timestamp) -> DbPlan {
    let db = &*observed.db;
    let settled = db.status.initialization.completed_at.is_some() && db.status.upgrade.step.is_none();
    let held = db.meta.is_held_by(FINAL_SNAPSHOT) && !db.spec.paused;
    let backed_up = settled && held && observed.is_ready() && refusal.0 != SampleDBReason::SnapshotsOnData;
    let backups = if backed_up { backup::decide(observed, now) } else { Backups::default() };
    let status = status::refused(observed, refusal, &backups, now);
    let (events, done) = (backup::events(&db.status, &status), backup::done(&backups));
    // Whatever the spec says, what is latched is recorded on the volumes, and they are held.
    let latched = db.status.engine.image.is_some();
    let mut effects = if latched && held { hold::keep(observed) } else { Vec::new() };
    let next = if effects.is_empty() { LATER } else { STEP };
    effects.extend(backups.effect);
    Plan { effects, events, done, status: Some(status), next: Requeue::After(next), ..Plan::nothing() }
}

/// The ground, then an upgrade if one is under way, then the way to a database that serves, then upgrades to begin.
fn go(observed: &Observed, pinned: &Pinned, source: Option<&Snapshot>, now: Timestamp) -> UpgradeDecision {
    if let Some(step) = steps::ground(observed, pinned, source) {
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
            UpgradeDecision::Continue(NextStep::Blocked(reason, keeps_waiting(observed, pinned, why)))
        }
        step => UpgradeDecision::Continue(step),
    }
}

/// Parameters that the server refuses, and the upgrade that waits for them: perhaps only the later release knows one of them.
fn keeps_waiting(observed: &Observed, pinned: &Pinned, why: String) -> String {
    match target::target(observed, pinned) {
        Target::Upgrade(goal) => format!(
            "{why}; the upgrade to PostgreSQL {} waits: remove parameters that only the new release supports, and add them after \
             the upgrade",
            goal.name()
        ),
        Target::Current | Target::Available(_) | Target::Refused(_) => why,
    }
}

/// What no rule of the API can tell.
fn sound(observed: &Observed) -> Result<(), Refusal> {
    let db = &*observed.db;
    if let Some(why) = recovered::lost(observed)
        .or_else(|| recovered::of_other_database(observed))
        .or_else(|| recovered::to_adopt_missing(observed))
    {
        return Err(why);
    }
    let given = db.spec.credentials.secret_ref.as_ref();
    if let Some(secret) = given.filter(|secret| secret.name == names::system_secret(db)) {
        let why = format!("credentials.secretRef names {}, the operator's own Secret: name another", secret.name);
        return Err((SampleDBReason::SecretReserved, why));
    }
    // Later, what the server runs with stays in force instead.
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
