//! Pure: to another major version: a server of it is started beside the old one, a Job shuts writers out and copies the data from
//! one to the other, and the Services lead to the new one.

use agent_protocol::PgUpgradeResult;
use api::sample_db::{EngineStatus, SampleDBReason, StorageStatus, UpgradeStep as At};
use jiff::Timestamp;
use runtime::job;
use runtime::plan::{Apply, Effect};
use runtime::projections::Claim;

use super::finish;
use super::jobs::{self, NotDone, To};
use super::server::{START, server};
use super::transition::{Transition, UpgradeDecision, to, transition, wait};
use crate::database::objects;
use crate::database::observed::Observed;
use crate::database::pinned::Pinned;
use crate::database::step::NextStep;
use crate::database::steps::{self, Follows};
use crate::database::target::{TargetRelease, goal};
use crate::operand::labels::OWNER_UID;
use crate::operand::names;
use crate::operand::release::Release;

const UNKNOWN: &str = "what it leads to is not known";

/// The new server on a new volume, while the old one serves.
pub(super) fn prepare(observed: &Observed, now: Timestamp) -> UpgradeDecision {
    let db = &*observed.db;
    let Some(goal) = goal(db) else { return finish::fail(observed, UNKNOWN, now) };
    let late = is_late(observed, now);
    let pinned = pinned_target(observed, &goal);
    let Some(claim) = observed.claim(&pinned.claim) else {
        // A manager that has just begun has not tried yet.
        let tried = observed.began.is_none_or(|began| now.duration_since(began) > START);
        if late && tried {
            let why = format!("the volume {} of the new version was not created within ten minutes", pinned.claim);
            return finish::fail(observed, &why, now);
        }
        let before = db.status.storage.claim.as_deref().and_then(|name| observed.claim(name));
        let apply = Effect::Apply(objects::new_data_claim(db, &pinned.claim, before));
        let message = format!("creating the volume {} of the new version", pinned.claim);
        return UpgradeDecision::Continue(NextStep::Do(vec![apply], SampleDBReason::Upgrading, message));
    };
    if claim.meta.deleting && observed.successor.owned().is_none() {
        return wait(format!("waiting for an earlier PVC {} to be deleted", pinned.claim));
    }
    if let Some(why) = going(observed, &pinned.claim) {
        return finish::fail(observed, &why, now);
    }
    if !is_own(observed, claim) {
        return finish::fail(observed, &format!("the claim {} is there, and not of this SampleDB", pinned.claim), now);
    }
    let follows = match observed.successor.obstacle("server of the new version") {
        Some((_, message)) => Follows::Starting(message),
        None => steps::follows(observed, &pinned),
    };
    match follows {
        Follows::Ready { .. } => to(observed, At::Copy, now),
        Follows::Failing(why) => finish::fail(observed, &why, now),
        Follows::Starting(why) if late => finish::fail(observed, &format!("{why}, for more than ten minutes"), now),
        Follows::Starting(why) => wait(why),
    }
}

/// The server of the new version, once its volume is there. It stands beside: that its name is taken, for one, is no reason to
/// say that the old server does not serve.
pub(super) fn successor(observed: &Observed) -> Option<Apply> {
    let goal = goal(&observed.db)?;
    let pinned = pinned_target(observed, &goal);
    observed.claim(&pinned.claim).filter(|claim| is_own(observed, claim) && !claim.meta.deleting)?;
    if observed.successor.obstacle("").is_some() {
        return None;
    }
    let live = observed.successor.owned().map(|set| (&set.meta, set.fingerprint));
    objects::unless(objects::successor(observed, &pinned), live)
}

/// Whether a claim was made for this very database: what it has adopted is no volume for a copy.
fn is_own(observed: &Observed, claim: &Claim) -> bool {
    claim.labels.get(OWNER_UID).is_some_and(|uid| **uid == *observed.db.meta.uid)
}

/// The data from one server into the other.
pub(super) fn copy(observed: &Observed, wish_now: &Pinned, now: Timestamp) -> UpgradeDecision {
    let Some(goal) = goal(&observed.db) else { return finish::fail(observed, UNKNOWN, now) };
    let Some(release) = goal.release else { return finish::fail(observed, UNKNOWN, now) };
    if let Some(why) = going(observed, &names::upgrade_claim(&observed.db, goal.major)) {
        return finish::fail(observed, &why, now);
    }
    let of = |said: &&PgUpgradeResult| said.from_system_identifier == observed.db.status.system_identifier;
    if let Some(said) = observed.copied.as_ref().filter(of) {
        return switched(observed, wish_now, said, now);
    }
    let job = jobs::copy_name(observed, release);
    let to = match (observed.job(&job), steps::follows(observed, &pinned_target(observed, &goal))) {
        // A server that goes away takes its Job's work with it, and the Job says so.
        (Some(_), _) => To::default(),
        (None, Follows::Ready { address, room }) => To { address, room },
        (None, Follows::Starting(why)) if !is_late(observed, now) => return wait(why),
        (None, Follows::Starting(why) | Follows::Failing(why)) => return finish::fail(observed, &why, now),
    };
    if let Some(why) = does_nothing(observed, &job, now) {
        return finish::fail(observed, &why, now);
    }
    match jobs::run(observed, &job, || jobs::copy(observed, &goal, &job, &to)) {
        Ok(words) => switched(observed, wish_now, &words.result(), now),
        Err(NotDone::NextStep(step)) => UpgradeDecision::Continue(step),
        Err(NotDone::Failed(why)) => finish::fail(observed, &why, now),
    }
}

/// Why a copy that should have been at work for long is not: no node takes the pod of its Job, or it gets none. Writers may be
/// shut out by a pod of before, and its deadline is a matter of hours.
fn does_nothing(observed: &Observed, name: &str, now: Timestamp) -> Option<String> {
    observed.job(name).filter(|job| job.end.is_none() && !job.meta.deleting && is_late(observed, now))?;
    if job::started(&observed.pods, name).is_some() {
        return None;
    }
    let why = job::diagnosis(&observed.pods, name).map_or("it has no pod that starts", |trouble| &trouble.message);
    Some(format!("the Job {name} is not running ten minutes after its deadline: {why}"))
}

/// Why nothing is to be brought onto the volume of the new version: its claim would go with the pod that has it.
fn going(observed: &Observed, claim: &str) -> Option<String> {
    match observed.claim(claim) {
        Some(live) if !live.meta.deleting => None,
        Some(_) => Some(format!("the claim {claim} of the new version is being deleted")),
        None => Some(format!("the claim {claim} of the new version is gone")),
    }
}

/// Whether the new server has taken too long to start.
fn is_late(observed: &Observed, now: Timestamp) -> bool {
    let since = observed.db.status.upgrade.step_since;
    since.is_some_and(|since| now.duration_since(since) > START)
}

/// What the database should be once the upgrade is done.
fn pinned_target(observed: &Observed, goal: &TargetRelease) -> Pinned {
    let (major, release) = (goal.major, goal.release);
    Pinned { major, release, image: goal.image.clone(), claim: names::upgrade_claim(&observed.db, major) }
}

/// What is written down before the Services lead to the new server.
fn switched(observed: &Observed, pinned: &Pinned, said: &PgUpgradeResult, now: Timestamp) -> UpgradeDecision {
    let (db, status) = (&*observed.db, &observed.db.status);
    let Some(goal) = goal(db) else { return finish::fail(observed, UNKNOWN, now) };
    let Some(identifier) = said.system_identifier.clone() else {
        return finish::fail(observed, "the copy does not identify itself", now);
    };
    let claim = names::upgrade_claim(db, goal.major);
    let mut transition: Transition = transition(observed, At::Switch, now);
    transition.upgrade.claim = Some(claim.clone());
    transition.upgrade.from_system_identifier = status.system_identifier.clone();
    transition.upgrade.from_server = Some(names::server(db).to_owned());
    let closed = said.closed_at.and_then(|at| Timestamp::from_millisecond(at).ok());
    transition.upgrade.shut_out_at = closed.and_then(|at| at.round(jiff::Unit::Second).ok());
    transition.system_identifier = Some(identifier);
    transition.server = Some(names::upgrade_server(db, goal.major));
    transition.engine = Some(EngineStatus {
        version: status.engine.target.clone(),
        image: Some(goal.image),
        previous: pinned.release.map(|release| release.to_string()),
        previous_image: Some(pinned.image.clone()),
        ..status.engine.clone()
    });
    transition.storage = Some(StorageStatus {
        claim_uid: observed.claim(&claim).map(|claim| claim.meta.uid.to_string()),
        claim: Some(claim),
        previous_claim: Some(pinned.claim.clone()),
        previous_claim_until: None,
        ..status.storage.clone()
    });
    UpgradeDecision::Transition(Box::new(transition))
}

/// The Services lead to the server on the copy; writers are still shut out.
pub(super) fn switch(observed: &Observed, pinned: &Pinned, now: Timestamp) -> UpgradeDecision {
    if let Some(why) = going(observed, &pinned.claim) {
        return finish::fail(observed, &why, now);
    }
    match server(observed, pinned, now) {
        Ok(()) => {}
        Err(Ok(step)) => return UpgradeDecision::Continue(step),
        Err(Err(why)) => return finish::fail(observed, &why, now),
    }
    let Some(answer) = observed.asked.answer() else {
        return match is_late(observed, now) {
            true => {
                finish::fail(observed, "the new server has not reported its identity for more than ten minutes", now)
            }
            false => wait("asking the new server what it is"),
        };
    };
    let same = observed.db.status.system_identifier.as_deref() == Some(answer.system_identifier.as_str());
    let major = Release::parse(&answer.version).map(|release| release.major);
    if !same || major != Some(pinned.major) {
        let why = format!("PostgreSQL {} answers with other data than the copy", answer.version);
        return finish::fail(observed, &why, now);
    }
    to(observed, At::Finish, now)
}
