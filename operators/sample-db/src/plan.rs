//! What to do about a SampleDB. Pure.
//!
//! First what holds the object, then what was decided for it is written down, then one step of [`steps`] a pass.

use std::time::Duration;

use api::sample_db::{FINAL_SNAPSHOT, SampleDBStatus};
use jiff::Timestamp;
use runtime::cache::View;
use runtime::plan::{Apply, Effect, Next, Plan};
use serde_json::json;

use crate::SampleDB;

mod backup;
pub mod catalog;
mod deletion;
mod init;
pub mod names;
pub mod objects;
mod observed;
mod restore;
pub mod schedule;
mod status;
pub mod steps;
pub mod wish;
mod words;

pub use observed::{Observed, SecretSeen};
pub use words::{Said, Words};

use backup::Backups;
use objects::SecretOf;
use steps::Step;
use wish::Wish;

/// After a step: its own events are no news, so look again by ourselves.
const STEP: Duration = Duration::from_millis(50);
/// While something is waited for that a watch tells; and for a person.
const LATER: Duration = Duration::from_secs(10);
/// How often Secrets are read while all is well: an edited one is in force within 90 s.
const SECRETS: Duration = Duration::from_secs(60);

/// What may be done that is not an object of which the plan knows all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DbAct {
    /// Make a Secret with a random password.
    MakeSecret(SecretOf),
    /// Delete a Secret that was made for the database.
    DropSecret(SecretOf),
}

/// A plan for a SampleDB.
pub type DbPlan = Plan<SampleDBStatus, DbAct>;

/// Decides.
#[must_use]
pub fn plan(observed: &Observed, now: Timestamp) -> DbPlan {
    let db = &*observed.db;
    if db.meta.deleting {
        return deletion::plan(observed, now);
    }
    let wish = Wish::of(observed);
    let judged = wish.and_then(|wish| restore::source(observed, &wish).map(|source| (wish, source)));
    let (wish, source) = match judged {
        Ok(judged) => judged,
        Err(refusal) => {
            let status = Some(status::refused(observed, refusal, now));
            return Plan { status, next: Next::After(LATER), ..Plan::nothing() };
        }
    };
    if !db.meta.is_held_by(FINAL_SNAPSHOT) && !db.spec.paused {
        return Plan { effects: vec![Effect::Apply(hold(db))], next: Next::After(STEP), ..Plan::nothing() };
    }
    let latched = db.status.engine.image.is_some();
    // What was decided is written down before anything relies on it.
    let step = if latched && !db.spec.paused { steps::next(observed, &wish, source) } else { Step::Rest };
    let serves = latched && step == Step::Rest && db.status.initialization.completed_at.is_some() && !db.spec.paused;
    let backups = if serves { backup::decide(observed, now) } else { Backups::default() };
    let status = status::of(observed, &wish, source, &step, &backups, now);
    let events = backup::events(&db.status, &status, &backups);
    // The event of an own write is no news: what was just latched is gone on from by ourselves.
    let news = (&status.initialization, &status.engine, &status.restore)
        != (&db.status.initialization, &db.status.engine, &db.status.restore);
    let (effects, next) = match step {
        Step::Take(effects, ..) => (effects, STEP),
        Step::Rest if !latched || news => (Vec::new(), STEP),
        Step::Rest => {
            let next = status.backup.next.map_or(SECRETS, |next| until(now, next));
            let next = if backups.effect.is_some() { STEP } else { next };
            (backups.effect.into_iter().collect(), next)
        }
        Step::Wait(..) | Step::Stuck(..) => (Vec::new(), LATER),
    };
    let aside = if latched && !db.spec.paused { aside(observed) } else { Vec::new() };
    Plan { effects, aside, events, status: Some(status), next: Next::After(next) }
}

/// How long until then, but no longer than Secrets go unread.
fn until(now: Timestamp, then: Timestamp) -> Duration {
    then.duration_since(now).unsigned_abs().clamp(STEP, SECRETS)
}

/// What stands beside: the volume of the snapshots.
fn aside(observed: &Observed) -> Vec<Apply> {
    let db = &*observed.db;
    let live = observed.claim(&names::snapshot_claim(db)).map(|claim| (&claim.meta, claim.fingerprint));
    objects::snapshot_claim(db).and_then(|apply| apply.unless(live)).into_iter().collect()
}

/// Holds the object until its data are saved or let go; by a field manager of its own, which owns nothing else.
fn hold(db: &SampleDB) -> Apply {
    finalizers(db, &json!([FINAL_SNAPSHOT]))
}

fn finalizers(db: &SampleDB, finalizers: &serde_json::Value) -> Apply {
    let mut apply =
        Apply::new(SampleDB::KIND, db.meta.key.clone(), &json!({ "metadata": { "finalizers": finalizers } }));
    apply.seen = Some(db.meta.uid.clone());
    apply.hand_over = Some("finalizer");
    apply
}

#[cfg(test)]
mod tests;
