//! To another major version: a server of it is started beside the old one, a Job shuts writers out and copies the data from
//! one to the other, and the Services lead to the new one. Pure.

use api::sample_db::{EngineStatus, SampleDBReason, StorageStatus, UpgradeStep as At};
use jiff::Timestamp;
use runtime::plan::{Apply, Effect};
use runtime::views::Claim;

use super::jobs::{self, NotDone};
use super::{Go, START, Turn, end, goal, server, to, turn, wait};
use crate::plan::catalog::Release;
use crate::plan::objects::{self, OWNER_UID};
use crate::plan::steps::{self, Follows, Step};
use crate::plan::target::Goal;
use crate::plan::wish::Wish;
use crate::plan::{Observed, Said, names, words};

const UNKNOWN: &str = "what it leads to is not known";

/// The new server on a new volume, while the old one serves.
pub(super) fn prepare(observed: &Observed, now: Timestamp) -> Go {
    let db = &*observed.db;
    let Some(goal) = goal(db) else { return end::fail(observed, UNKNOWN, now) };
    let late = is_late(observed, now);
    let wish = wish(observed, &goal);
    let Some(claim) = observed.claim(&wish.claim) else {
        // A manager that has just begun has not tried yet.
        let tried = observed.began.is_none_or(|began| now.duration_since(began) > START);
        if late && tried {
            let why = format!("the volume {} of the new version was not made within ten minutes", wish.claim);
            return end::fail(observed, &why, now);
        }
        let before = db.status.storage.claim.as_deref().and_then(|name| observed.claim(name));
        let apply = Effect::Apply(objects::new_data_claim(db, &wish.claim, before));
        let message = format!("making the volume {} of the new version", wish.claim);
        return Go::On(Step::Take(vec![apply], SampleDBReason::Upgrading, message));
    };
    if claim.meta.deleting && observed.successor.ours().is_none() {
        return wait(format!("waiting until an earlier claim {} is gone", wish.claim));
    }
    if let Some(why) = going(observed, &wish.claim) {
        return end::fail(observed, &why, now);
    }
    if !is_own(observed, claim) {
        return end::fail(observed, &format!("the claim {} is there, and not of this SampleDB", wish.claim), now);
    }
    let follows = match observed.successor.obstacle("server of the new version") {
        Some((_, message)) => Follows::Starting(message),
        None => steps::follows(observed, &wish),
    };
    match follows {
        Follows::Ready { .. } => to(observed, At::Copy, now),
        Follows::Failing(why) => end::fail(observed, &why, now),
        Follows::Starting(why) if late => end::fail(observed, &format!("{why}, for more than ten minutes"), now),
        Follows::Starting(why) => wait(why),
    }
}

/// The server of the new version, once its volume is there. It stands beside: that its name is taken, for one, is no reason to
/// say that the old server does not serve.
pub(super) fn successor(observed: &Observed) -> Option<Apply> {
    let goal = goal(&observed.db)?;
    let wish = wish(observed, &goal);
    observed.claim(&wish.claim).filter(|claim| is_own(observed, claim) && !claim.meta.deleting)?;
    if observed.successor.obstacle("").is_some() {
        return None;
    }
    let live = observed.successor.ours().map(|set| (&set.meta, set.fingerprint));
    objects::unless(objects::successor(observed, &wish), live)
}

/// Whether a claim was made for this very database: what it has adopted is no volume for a copy.
fn is_own(observed: &Observed, claim: &Claim) -> bool {
    claim.labels.get(OWNER_UID).is_some_and(|uid| **uid == *observed.db.meta.uid)
}

/// The data from one server into the other.
pub(super) fn copy(observed: &Observed, wish_now: &Wish, now: Timestamp) -> Go {
    let Some(goal) = goal(&observed.db) else { return end::fail(observed, UNKNOWN, now) };
    let Some(release) = goal.release else { return end::fail(observed, UNKNOWN, now) };
    if let Some(why) = going(observed, &names::upgrade_claim(&observed.db, goal.major)) {
        return end::fail(observed, &why, now);
    }
    let of = |said: &&Said| said.from_system_identifier == observed.db.status.system_identifier;
    if let Some(said) = observed.copied.as_ref().filter(of) {
        return switched(observed, wish_now, said, now);
    }
    let job = jobs::copy_name(observed, release);
    let to = match (observed.job(&job), steps::follows(observed, &wish(observed, &goal))) {
        // A server that goes away takes its Job's work with it, and the Job says so.
        (Some(_), _) => jobs::To::default(),
        (None, Follows::Ready { address, room }) => jobs::To { address, room },
        (None, Follows::Starting(why)) if !is_late(observed, now) => return wait(why),
        (None, Follows::Starting(why) | Follows::Failing(why)) => return end::fail(observed, &why, now),
    };
    if let Some(why) = does_nothing(observed, &job, now) {
        return end::fail(observed, &why, now);
    }
    match jobs::run(observed, &job, || jobs::copy(observed, &goal, &job, &to)) {
        Ok(words) => switched(observed, wish_now, &words.said, now),
        Err(NotDone::Step(step)) => Go::On(step),
        Err(NotDone::Failed(why)) => end::fail(observed, &why, now),
    }
}

/// Why a copy that should have been at work for long is not: no node takes the pod of its Job, or it gets none. Writers may be
/// shut out by a pod of before, and its deadline is a matter of hours.
fn does_nothing(observed: &Observed, name: &str, now: Timestamp) -> Option<String> {
    observed.job(name).filter(|job| job.end.is_none() && !job.meta.deleting && is_late(observed, now))?;
    if words::work(&observed.pods, name).is_some() {
        return None;
    }
    let why = words::trouble(&observed.pods, name).map_or("it has no pod that starts", |trouble| &trouble.message);
    Some(format!("the Job {name} is not at work, ten minutes after its time: {why}"))
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
fn wish(observed: &Observed, goal: &Goal) -> Wish {
    let (major, release) = (goal.major, goal.release);
    Wish { major, release, image: goal.image.clone(), claim: names::upgrade_claim(&observed.db, major) }
}

/// What is written down before the Services lead to the new server.
fn switched(observed: &Observed, wish: &Wish, said: &Said, now: Timestamp) -> Go {
    let (db, status) = (&*observed.db, &observed.db.status);
    let Some(goal) = goal(db) else { return end::fail(observed, UNKNOWN, now) };
    let Some(identifier) = said.system_identifier.clone() else {
        return end::fail(observed, "the copy does not tell what it is", now);
    };
    let claim = names::upgrade_claim(db, goal.major);
    let mut turn: Turn = turn(observed, At::Switch, now);
    turn.upgrade.claim = Some(claim.clone());
    turn.upgrade.from_system_identifier = status.system_identifier.clone();
    turn.upgrade.from_server = Some(names::server(db).to_owned());
    let closed = said.closed_at.and_then(|at| Timestamp::from_millisecond(at).ok());
    turn.upgrade.shut_out_at = closed.and_then(|at| at.round(jiff::Unit::Second).ok());
    turn.system_identifier = Some(identifier);
    turn.server = Some(names::upgrade_server(db, goal.major));
    turn.engine = Some(EngineStatus {
        version: status.engine.target.clone(),
        image: Some(goal.image),
        previous: wish.release.map(|release| release.to_string()),
        previous_image: Some(wish.image.clone()),
        ..status.engine.clone()
    });
    turn.storage = Some(StorageStatus {
        claim_uid: observed.claim(&claim).map(|claim| claim.meta.uid.to_string()),
        claim: Some(claim),
        previous_claim: Some(wish.claim.clone()),
        previous_claim_until: None,
        ..status.storage.clone()
    });
    Go::Turn(Box::new(turn))
}

/// The Services lead to the server on the copy; writers are still shut out.
pub(super) fn switch(observed: &Observed, wish: &Wish, now: Timestamp) -> Go {
    if let Some(why) = going(observed, &wish.claim) {
        return end::fail(observed, &why, now);
    }
    match server(observed, wish, now) {
        Ok(()) => {}
        Err(Ok(step)) => return Go::On(step),
        Err(Err(why)) => return end::fail(observed, &why, now),
    }
    let Some(answer) = observed.asked.answer() else {
        return match is_late(observed, now) {
            true => {
                end::fail(observed, "the new server has not told the manager what it is for more than ten minutes", now)
            }
            false => wait("asking the new server what it is"),
        };
    };
    let same = observed.db.status.system_identifier.as_deref() == Some(answer.system_identifier.as_str());
    let major = Release::parse(&answer.version).map(|release| release.major);
    if !same || major != Some(wish.major) {
        let why = format!("PostgreSQL {} answers with other data than the copy", answer.version);
        return end::fail(observed, &why, now);
    }
    to(observed, At::Finish, now)
}
