//! Pure: upgrades to another major version: the operator starts a server of it next to the old one, a Job blocks clients and
//! copies the data to it, and the Services switch to the new one.

use agent_protocol::PgUpgradeResult;
use api::sample_db::{DatabaseStorageStatus, EngineStatus, SampleDBReason, UpgradeStep};
use jiff::Timestamp;
use runtime::job;
use runtime::plan::{Apply, Effect};
use runtime::projections::Pvc;

use super::finish;
use super::jobs::{self, CopyTarget, JobNotDone};
use super::server::{START_TIMEOUT, server};
use super::transition::{Transition, UpgradeDecision, to, transition, wait};
use crate::database::objects;
use crate::database::observed::Observed;
use crate::database::pinned::Pinned;
use crate::database::step::NextStep;
use crate::database::steps::{self, TargetServerState};
use crate::database::target::{TargetRelease, goal};
use crate::operand::labels::OWNER_UID;
use crate::operand::names;
use crate::operand::release::Release;

const UNKNOWN: &str = "its target release is unknown";

/// Creates the new server on a new volume, while the old one serves.
pub(super) fn prepare(observed: &Observed, now: Timestamp) -> UpgradeDecision {
    let db = &*observed.db;
    let Some(goal) = goal(db) else { return finish::fail(observed, UNKNOWN, now) };
    let late = is_late(observed, now);
    let pinned = pinned_target(observed, &goal);
    let Some(claim) = observed.claim(&pinned.claim) else {
        // A manager that has just started has not tried yet.
        let tried = observed.observing_since.is_none_or(|began| now.duration_since(began) > START_TIMEOUT);
        if late && tried {
            let why = format!("the volume {} of the new version was not created within ten minutes", pinned.claim);
            return finish::fail(observed, &why, now);
        }
        let before = db.status.storage.claim.as_deref().and_then(|name| observed.claim(name));
        let apply = Effect::Apply(objects::new_data_claim(db, &pinned.claim, before));
        let message = format!("creating the volume {} of the new version", pinned.claim);
        return UpgradeDecision::Continue(NextStep::Do(vec![apply], SampleDBReason::Upgrading, message));
    };
    if claim.meta.deleting && observed.target_server.owned().is_none() {
        return wait(format!("waiting for an earlier PVC {} to be deleted", pinned.claim));
    }
    if let Some(why) = claim_unusable(observed, &pinned.claim) {
        return finish::fail(observed, &why, now);
    }
    if !is_own(observed, claim) {
        return finish::fail(
            observed,
            &format!("the PVC {} exists and does not belong to this SampleDB", pinned.claim),
            now,
        );
    }
    let target_server_state = match observed.target_server.blocking_reason("server of the new version") {
        Some((_, message)) => TargetServerState::Starting(message),
        None => steps::target_server_state(observed, &pinned),
    };
    match target_server_state {
        TargetServerState::Ready { .. } => to(observed, UpgradeStep::Copy, now),
        TargetServerState::Failing(why) => finish::fail(observed, &why, now),
        TargetServerState::Starting(why) if late => {
            finish::fail(observed, &format!("{why}, for more than ten minutes"), now)
        }
        TargetServerState::Starting(why) => wait(why),
    }
}

/// The target server, once its volume exists. It is applied independently: if its name is taken, for example, the old server
/// still serves.
pub(super) fn target_server(observed: &Observed) -> Option<Apply> {
    let goal = goal(&observed.db)?;
    let pinned = pinned_target(observed, &goal);
    observed.claim(&pinned.claim).filter(|claim| is_own(observed, claim) && !claim.meta.deleting)?;
    if observed.target_server.blocking_reason("").is_some() {
        return None;
    }
    let live = observed.target_server.owned().map(|set| (&set.meta, set.fingerprint));
    objects::unless_current(objects::target_server(observed, &pinned), live)
}

/// Whether a PVC was created for this very database: an adopted one is no volume for a copy.
fn is_own(observed: &Observed, claim: &Pvc) -> bool {
    claim.labels.get(OWNER_UID).is_some_and(|uid| **uid == *observed.db.meta.uid)
}

/// Copies the data to the target server.
pub(super) fn copy(observed: &Observed, pinned: &Pinned, now: Timestamp) -> UpgradeDecision {
    let Some(goal) = goal(&observed.db) else { return finish::fail(observed, UNKNOWN, now) };
    let Some(release) = goal.release else { return finish::fail(observed, UNKNOWN, now) };
    if let Some(why) = claim_unusable(observed, &names::upgrade_claim(&observed.db, goal.major)) {
        return finish::fail(observed, &why, now);
    }
    let of = |result: &&PgUpgradeResult| result.from_system_identifier == observed.db.status.system_identifier;
    if let Some(result) = observed.copy_result.as_ref().filter(of) {
        return record_copy(observed, pinned, result, now);
    }
    let job = jobs::copy_name(observed, release);
    let to = match (observed.job(&job), steps::target_server_state(observed, &pinned_target(observed, &goal))) {
        // A server that is lost fails its Job, which reports it.
        (Some(_), _) => CopyTarget::default(),
        (None, TargetServerState::Ready { address, room }) => CopyTarget { address, room },
        (None, TargetServerState::Starting(why)) if !is_late(observed, now) => return wait(why),
        (None, TargetServerState::Starting(why) | TargetServerState::Failing(why)) => {
            return finish::fail(observed, &why, now);
        }
    };
    if let Some(why) = stuck_copy(observed, &job, now) {
        return finish::fail(observed, &why, now);
    }
    match jobs::run(observed, &job, || jobs::copy(observed, &goal, &job, &to)) {
        Ok(outcome) => record_copy(observed, pinned, &outcome.result(), now),
        Err(JobNotDone::NextStep(step)) => UpgradeDecision::Continue(step),
        Err(JobNotDone::Failed(why)) => finish::fail(observed, &why, now),
    }
}

/// Why a copy is not running although it should be for long: no node accepts the pod of its Job, or it gets none. An earlier pod
/// may have blocked clients, and its deadline is a matter of hours.
fn stuck_copy(observed: &Observed, name: &str, now: Timestamp) -> Option<String> {
    observed.job(name).filter(|job| job.end.is_none() && !job.meta.deleting && is_late(observed, now))?;
    if job::started(&observed.pods, name).is_some() {
        return None;
    }
    let why = job::diagnosis(&observed.pods, name).map_or("it has no running pod", |diagnosis| &diagnosis.message);
    Some(format!("the Job {name} is not running ten minutes after its deadline: {why}"))
}

/// Why nothing may be copied to the volume of the target server: its PVC would be deleted with the pod that has it.
fn claim_unusable(observed: &Observed, claim: &str) -> Option<String> {
    match observed.claim(claim) {
        Some(live) if !live.meta.deleting => None,
        Some(_) => Some(format!("the PVC {claim} of the new version is being deleted")),
        None => Some(format!("the PVC {claim} of the new version was deleted")),
    }
}

/// Whether the target server has taken too long to start.
fn is_late(observed: &Observed, now: Timestamp) -> bool {
    let since = observed.db.status.upgrade.step_since;
    since.is_some_and(|since| now.duration_since(since) > START_TIMEOUT)
}

/// What is effective once the upgrade is done.
fn pinned_target(observed: &Observed, goal: &TargetRelease) -> Pinned {
    let (major, release) = (goal.major, goal.release);
    Pinned { major, release, image: goal.image.clone(), claim: names::upgrade_claim(&observed.db, major) }
}

/// What is recorded before the Services switch to the target server.
fn record_copy(observed: &Observed, pinned: &Pinned, result: &PgUpgradeResult, now: Timestamp) -> UpgradeDecision {
    let (db, status) = (&*observed.db, &observed.db.status);
    let Some(goal) = goal(db) else { return finish::fail(observed, UNKNOWN, now) };
    let Some(identifier) = result.system_identifier.clone() else {
        return finish::fail(observed, "the copy does not identify itself", now);
    };
    let claim = names::upgrade_claim(db, goal.major);
    let mut transition: Transition = transition(observed, UpgradeStep::Switch, now);
    transition.upgrade.claim = Some(claim.clone());
    transition.upgrade.from_system_identifier = status.system_identifier.clone();
    transition.upgrade.from_server = Some(names::server(db).to_owned());
    let closed = result.closed_at.and_then(|at| Timestamp::from_millisecond(at).ok());
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
    transition.storage = Some(DatabaseStorageStatus {
        claim_uid: observed.claim(&claim).map(|claim| claim.meta.uid.to_string()),
        claim: Some(claim),
        previous_claim: Some(pinned.claim.clone()),
        previous_claim_until: None,
        ..status.storage.clone()
    });
    UpgradeDecision::Transition(Box::new(transition))
}

/// The Services switch to the target server; clients are still blocked.
pub(super) fn cutover(observed: &Observed, pinned: &Pinned, now: Timestamp) -> UpgradeDecision {
    if let Some(why) = claim_unusable(observed, &pinned.claim) {
        return finish::fail(observed, &why, now);
    }
    match server(observed, pinned, now) {
        Ok(()) => {}
        Err(Ok(step)) => return UpgradeDecision::Continue(step),
        Err(Err(why)) => return finish::fail(observed, &why, now),
    }
    let Some(answer) = observed.probe.info() else {
        return match is_late(observed, now) {
            true => {
                finish::fail(observed, "the new server has not reported its identity for more than ten minutes", now)
            }
            false => wait("querying the new server's identity"),
        };
    };
    let same = observed.db.status.system_identifier.as_deref() == Some(answer.system_identifier.as_str());
    let major = Release::parse(&answer.version).map(|release| release.major);
    if !same || major != Some(pinned.major) {
        let why = format!("the server that answers (PostgreSQL {}) has other data than the copy", answer.version);
        return finish::fail(observed, &why, now);
    }
    to(observed, UpgradeStep::Finish, now)
}
