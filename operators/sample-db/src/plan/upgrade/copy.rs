//! To another major version: the data are copied by a Job that shuts writers out first, and the server is started on the
//! copy. Pure.

use api::sample_db::{EngineStatus, StorageStatus, UpgradeStep as At};
use jiff::Timestamp;
use runtime::plan::Effect;

use super::jobs::{self, NotDone};
use super::{Go, Turn, end, goal, server, to, turn, wait};
use crate::plan::catalog::Release;
use crate::plan::objects::{self, OWNER_UID};
use crate::plan::steps::Step;
use crate::plan::wish::Wish;
use crate::plan::{Observed, Words, names};

/// The data into a new volume.
pub(super) fn copy(observed: &Observed, wish: &Wish, now: Timestamp) -> Go {
    let db = &*observed.db;
    let Some(goal) = goal(observed) else { return end::fail(observed, "what it leads to is not known", now) };
    let Some(release) = goal.release else { return end::fail(observed, "what it leads to is not known", now) };
    let name = names::upgrade_claim(db, goal.major);
    let Some(claim) = observed.claim(&name) else {
        let apply = Effect::Apply(objects::data_claim(db, &name));
        return Go::On(Step::Take(vec![apply], "Upgrading", format!("making the volume {name} of the new version")));
    };
    if claim.meta.deleting {
        return wait(format!("waiting until an earlier claim {name} is gone"));
    }
    if claim.labels.get(OWNER_UID).is_none_or(|uid| **uid != *db.meta.uid) {
        return end::fail(observed, &format!("the claim {name} is there, and not of this SampleDB"), now);
    }
    let job = jobs::copy_name(observed, release);
    match jobs::run(observed, &job, || jobs::copy(observed, &goal, &job)) {
        Ok(words) => switched(observed, wish, &words, now),
        Err(NotDone::Step(step)) => Go::On(step),
        Err(NotDone::Failed(why)) => end::fail(observed, &why, now),
    }
}

/// What is written down before the server is started on the copy.
fn switched(observed: &Observed, wish: &Wish, words: &Words, now: Timestamp) -> Go {
    let (db, status) = (&*observed.db, &observed.db.status);
    let Some(goal) = goal(observed) else { return end::fail(observed, "what it leads to is not known", now) };
    let Some(identifier) = words.said.system_identifier.clone() else {
        return end::fail(observed, "the copy does not tell what it is", now);
    };
    let claim = names::upgrade_claim(db, goal.major);
    let mut turn: Turn = turn(observed, At::Switch, now);
    turn.upgrade.claim = Some(claim.clone());
    turn.upgrade.from_system_identifier = status.system_identifier.clone();
    let closed = words.said.closed_at.and_then(|at| Timestamp::from_millisecond(at).ok());
    turn.upgrade.shut_out_at = closed.and_then(|at| at.round(jiff::Unit::Second).ok());
    turn.system_identifier = Some(identifier);
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

/// The server on the copy; writers are still shut out.
pub(super) fn switch(observed: &Observed, wish: &Wish, now: Timestamp) -> Go {
    match server(observed, wish, now) {
        Ok(()) => {}
        Err(Ok(step)) => return Go::On(step),
        Err(Err(why)) => return end::fail(observed, &why, now),
    }
    let Some(answer) = observed.asked.answer() else { return wait("asking the new server what it is") };
    let same = observed.db.status.system_identifier.as_deref() == Some(answer.system_identifier.as_str());
    let major = Release::parse(&answer.version).map(|release| release.major);
    if !same || major != Some(wish.major) {
        let why = format!("PostgreSQL {} answers with other data than the copy", answer.version);
        return end::fail(observed, &why, now);
    }
    to(observed, At::Finish, now)
}
