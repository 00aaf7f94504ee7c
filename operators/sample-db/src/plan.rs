//! What to do about a SampleDB. Pure.
//!
//! First what holds the object, then what was decided for it is written down, then one step of [`steps`] a pass.

use std::time::Duration;

use api::sample_db::{FINAL_SNAPSHOT, SampleDBReason, SampleDBStatus, span};
use jiff::{Timestamp, Unit};
use runtime::cache::View;
use runtime::plan::{Apply, Create, Effect, Next, Plan};
use runtime::views::StatefulSet;

use crate::{SampleDB, Snapshot};

mod answer;
mod backup;
mod beside;
pub(crate) mod brief;
pub mod catalog;
mod deletion;
pub mod earlier;
mod hold;
mod init;
mod login;
pub mod names;
pub mod objects;
mod observed;
mod placement;
pub(crate) mod record;
mod recovered;
mod restore;
pub(crate) mod retention;
pub mod schedule;
mod status;
pub mod steps;
mod storage;
pub mod target;
mod tuning;
pub mod unlabeled;
pub mod unwatched;
mod upgrade;
pub mod wish;
mod words;

pub use answer::{Answer, Asked, Attempt, Line, Parameters, Room, is_list, parameters, parts};
pub(crate) use backup::{next_due, overdue_since, serves_while_deleting};
pub(crate) use deletion::has_volume;
pub use deletion::{final_claim, final_name, is_to_be_asked};
pub use login::{Account, Login, pause};
pub use observed::{Contact, InitSources, Observed, SecretSeen};
pub use placement::{Placement, beside, placement};
pub(crate) use storage::inodes_used;
pub use storage::may_have_data;
pub use tuning::wanted;
pub use upgrade::{Note, is_young, note_of, shuts_out, successor};
pub(crate) use words::is_of as is_of_job;
pub use words::{Heard, Said, Words};

use backup::Backups;
use objects::SecretOf;
use steps::Step;
use target::Target;
use upgrade::Go;
use wish::{Refusal, Wish};

/// After a step: its own events are no news, so look again by ourselves.
const STEP: Duration = Duration::from_millis(50);
/// While something is waited for that a watch tells; and for a person.
const LATER: Duration = Duration::from_secs(10);
/// While the kubelet brings a file, of which no watch tells.
const FILE: Duration = Duration::from_secs(2);
/// While a step of an upgrade is waited for, during which nobody may write.
const SOON: Duration = Duration::from_millis(500);
/// How often Secrets are read while all is well: an edited one is in force within 90 s.
const SECRETS: Duration = Duration::from_secs(60);

/// What may be done that is not an object of which the plan knows all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DbAct {
    /// Make a Secret with a random password.
    MakeSecret(SecretOf),
    /// Write into a Secret that was made for the database what follows from its password.
    RewriteSecret(SecretOf),
    /// Delete a Secret that was made for the database.
    DropSecret(SecretOf),
    /// Have the server take the application's password out of the Secret.
    SetPassword,
    /// Have the server take parameters, and others no longer.
    SetParameters {
        /// By name.
        set: Vec<(String, String)>,
        /// Names.
        reset: Vec<String>,
    },
    /// Let writers in.
    LetIn,
    /// Shut out all but the superuser, and end their sessions.
    ShutOut,
}

/// A plan for a SampleDB.
pub type DbPlan = Plan<SampleDBStatus, DbAct>;

/// Decides.
#[must_use]
pub fn plan(observed: &Observed, now: Timestamp) -> DbPlan {
    let mut plan = decide(observed, now);
    if observed.db.meta.deleting || !rests(&observed.db) {
        plan.aside.extend(unlabeled::repairs(observed));
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
        observed.server.ours().filter(|_| db.status.initialization.data_created_at.is_some() && !db.meta.deleting)?;
    let ready = observed.pod().filter(|_| observed.is_ready());
    let replaces = |effect: &Effect<DbAct>| match effect {
        Effect::Delete(delete) => ready.is_some_and(|pod| delete.uid == pod.meta.uid),
        Effect::Apply(apply) => apply.kind == StatefulSet::KIND && apply.key == set.meta.key,
        Effect::Create(_) | Effect::Act(_) => false,
    };
    if !decide(observed, now).effects.iter().any(replaces) {
        return None;
    }
    let wish = Wish::of(observed).ok()?;
    let source = restore::source(observed, &wish).ok()?;
    Some(objects::probe(observed, &wish, source))
}

/// Whether it is paused. An upgrade under way is brought to its end: to leave it would leave writers shut out.
fn rests(db: &SampleDB) -> bool {
    db.spec.paused && db.status.upgrade.step.is_none()
}

fn decide(observed: &Observed, now: Timestamp) -> DbPlan {
    let db = &*observed.db;
    if let Some(plan) = recovered::plan(observed) {
        return plan;
    }
    if db.meta.deleting {
        return deletion::plan(observed, now);
    }
    let judged = sound(observed).and_then(|()| Wish::of(observed));
    let judged = judged.and_then(|wish| restore::source(observed, &wish).map(|source| (wish, source)));
    let (wish, source) = match judged {
        Ok(judged) => judged,
        Err(refusal) => return refused(observed, refusal, now),
    };
    let latched = db.status.engine.image.is_some();
    let paused = rests(db);
    if !db.meta.is_held_by(FINAL_SNAPSHOT) && !paused {
        return Plan {
            effects: vec![Effect::Apply(Apply::finalizers(SampleDB::KIND, &db.meta, &[FINAL_SNAPSHOT]))],
            next: Next::After(STEP),
            ..Plan::nothing()
        };
    }
    // What was decided is written down before anything relies on it.
    let go = if latched && !paused { go(observed, &wish, source, now) } else { Go::On(Step::Rest) };
    let (step, turn) = match go {
        Go::Rest => (Step::Rest, None),
        Go::On(step) => (step, None),
        Go::Turn(turn) => (Step::Rest, Some(*turn)),
    };
    let configured = db.status.initialization.completed_at.is_some();
    let serves = latched && configured && !paused && turn.is_none() && beside::may_back_up(observed, &step, now);
    let backups = if serves { backup::decide(observed, now) } else { Backups::default() };
    let judged = status::Judged { wish: &wish, source, step: &step, backups: &backups, turn: turn.as_ref() };
    let status = status::of(observed, &judged, now);
    let (mut events, done) = (backup::events(&db.status, &status), backup::done(&backups));
    // The event of an own write is no news: what was just latched is gone on from by ourselves.
    let news = turn.is_some()
        || (&status.initialization, &status.engine, &status.restore)
            != (&db.status.initialization, &db.status.engine, &db.status.restore);
    let next = match &step {
        Step::Take(..) => STEP,
        Step::Rest if !latched || news || backups.effect.is_some() => STEP,
        Step::Wait(..) if news => STEP,
        Step::Rest => {
            let next = status.backup.next.map_or(SECRETS, |next| until(now, next));
            if upgrade::is_spread(&status) { next.min(LATER) } else { next }
        }
        Step::Wait(reason, _) if reason.is_one_of(&[SampleDBReason::Upgrading, SampleDBReason::RollingBack]) => {
            upgrade::pace(observed, now)
        }
        Step::Wait(reason, _) if *reason == SampleDBReason::SettingParameters => FILE,
        Step::Wait(..) | Step::Stuck(..) => LATER,
    };
    let effects = beside::in_turn(step, backups.effect, now);
    // What is latched is recorded on the volumes before anything relies on it, and they are held before anything is in them.
    let mut kept = if latched && !paused { hold::keep(observed) } else { Vec::new() };
    let next = if kept.is_empty() { next } else { STEP };
    kept.extend(effects);
    let effects = kept;
    let mut aside = if latched && !paused { storage::aside(observed, &wish) } else { Vec::new() };
    aside.extend(upgrade::aside(observed));
    events.extend(turn.and_then(|turn| turn.event));
    Plan { effects, aside, events, done, status: Some(status), next: Next::After(next) }
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
    Plan { effects, events, done, status: Some(status), next: Next::After(next), ..Plan::nothing() }
}

/// The ground, then an upgrade if one is under way, then the way to a database that serves, then upgrades to begin.
fn go(observed: &Observed, wish: &Wish, source: Option<&Snapshot>, now: Timestamp) -> Go {
    if let Some(step) = steps::ground(observed, wish, source) {
        return Go::On(step);
    }
    let under_way = observed.db.status.upgrade.step.is_some();
    if under_way {
        return upgrade::decide(observed, wish, now);
    }
    match steps::next(observed, wish, source) {
        Step::Rest if observed.db.status.initialization.completed_at.is_some() => upgrade::decide(observed, wish, now),
        Step::Stuck(reason, why) if reason == SampleDBReason::ParameterRefused => {
            Go::On(Step::Stuck(reason, keeps_waiting(observed, wish, why)))
        }
        step => Go::On(step),
    }
}

/// Parameters that the server refuses, and the upgrade that waits for them: perhaps only the later release knows one of them.
fn keeps_waiting(observed: &Observed, wish: &Wish, why: String) -> String {
    match target::target(observed, wish) {
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

/// The moment after that span, to the second.
fn after(now: Timestamp, lasting: &str) -> Option<Timestamp> {
    now.checked_add(span(lasting)?).ok()?.round(Unit::Second).ok()
}

/// How long until then, but no longer than Secrets go unread.
fn until(now: Timestamp, then: Timestamp) -> Duration {
    then.duration_since(now).unsigned_abs().clamp(STEP, SECRETS)
}

#[cfg(test)]
mod tests;
