//! Pure: how upgrades end, with success or failure, and the cleanup.

use api::Reason;
use api::sample_db::{
    DatabaseStorageStatus, EngineStatus, SampleDBEvent, SampleDBReason, UpgradeResult, UpgradeStatus, UpgradeStep,
};
use jiff::{Timestamp, Unit};
use runtime::cache::Projection;
use runtime::plan::{Delete, Effect, EventDraft};
use runtime::projections::{Job, Pvc, StatefulSet};

use super::allow_clients::allow_clients;
use super::server::server;
use super::transition::{Transition, UpgradeDecision, transition};
use crate::database::effects::DbAct;
use crate::database::observed::Observed;
use crate::database::pinned::Pinned;
use crate::database::step::NextStep;
use crate::operand::labels::OWNER_UID;
use crate::operand::names;

/// Fails the upgrade: the old version keeps running, or is rolled back to.
pub(super) fn fail(observed: &Observed, why: &str, now: Timestamp) -> UpgradeDecision {
    abort(observed, &format!("failed: {why}"), now)
}

/// Cancels the upgrade, because the spec no longer requests it and clients were not blocked for it: the old version keeps
/// running.
pub(super) fn cancel(observed: &Observed, now: Timestamp) -> UpgradeDecision {
    let mut decision = abort(observed, "was canceled: the spec no longer requests it", now);
    if let UpgradeDecision::Transition(transition) = &mut decision {
        // What the spec requests instead need not wait for another generation.
        transition.upgrade.retry_after_generation = None;
    }
    decision
}

fn abort(observed: &Observed, how: &str, now: Timestamp) -> UpgradeDecision {
    let upgrade = &observed.db.status.upgrade;
    let (from, to) = (upgrade.from.as_deref().unwrap_or_default(), upgrade.to.as_deref().unwrap_or_default());
    let message = format!("the upgrade from PostgreSQL {from} to {to} {how}");
    match upgrade.step {
        None | Some(UpgradeStep::Check | UpgradeStep::Snapshot) => UpgradeDecision::Transition(Box::new(ended(
            observed,
            UpgradeResult::RolledBack,
            format!("{message}; nothing was changed"),
            now,
        ))),
        // Until the copy begins there is nothing to inspect: clients are allowed.
        Some(at) if at != UpgradeStep::Prepare && !observed.db.spec.upgrade.rollback_on_failure() => {
            let mut transition = transition(observed, at, now);
            transition.upgrade.result = Some(UpgradeResult::Failed);
            transition.upgrade.retry_after_generation = Some(observed.db.meta.generation);
            transition.event = Some(warning(SampleDBReason::UpgradeFailed, &message));
            transition.upgrade.message = Some(message);
            UpgradeDecision::Transition(Box::new(transition))
        }
        Some(at) => begin_rollback(observed, at, message, now),
    }
}

/// A failed upgrade that is not rolled back by itself waits for the user.
pub(super) fn await_rollback(observed: &Observed, at: UpgradeStep, now: Timestamp) -> UpgradeDecision {
    let message = observed.db.status.upgrade.message.clone().unwrap_or_default();
    if observed.db.spec.upgrade.rollback_on_failure() {
        return begin_rollback(observed, at, message, now);
    }
    let message = format!("{message}; clients stay blocked: set upgrade.rollbackOnFailure to true to roll back");
    UpgradeDecision::Continue(NextStep::blocked(SampleDBReason::UpgradeFailed, message))
}

/// Starts the rollback: the old version is effective again, and clients are allowed once its server is ready.
fn begin_rollback(observed: &Observed, at: UpgradeStep, message: String, now: Timestamp) -> UpgradeDecision {
    let status = &observed.db.status;
    let mut transition = transition(observed, UpgradeStep::RollBack, now);
    transition.event = Some(warning(SampleDBEvent::UpgradeRollingBack, &message));
    transition.upgrade.retry_after_generation = Some(observed.db.meta.generation);
    transition.upgrade.message = Some(message);
    transition.upgrade.result = None;
    if matches!(at, UpgradeStep::Switch | UpgradeStep::Roll) {
        transition.engine = Some(EngineStatus {
            version: status.engine.previous.clone(),
            image: status.engine.previous_image.clone(),
            previous: None,
            previous_image: None,
            ..status.engine.clone()
        });
    }
    if at == UpgradeStep::Switch {
        transition.server = status.upgrade.from_server.clone();
        let claim = status.storage.previous_claim.clone();
        transition.system_identifier = status.upgrade.from_system_identifier.clone();
        transition.storage = Some(DatabaseStorageStatus {
            claim_uid: claim.as_deref().and_then(|claim| observed.claim(claim)).map(|claim| claim.meta.uid.to_string()),
            claim,
            previous_claim: None,
            previous_claim_until: None,
            ..status.storage.clone()
        });
    }
    UpgradeDecision::Transition(Box::new(transition))
}

/// Rolls back: first the copy is stopped, then the old server runs, then clients are allowed.
pub(super) fn roll_back(observed: &Observed, pinned: &Pinned, now: Timestamp) -> UpgradeDecision {
    let db = &*observed.db;
    let delete = |job: &Job| Effect::Delete(Delete::of(Job::KIND, &job.meta));
    if let Some(job) = observed.jobs.iter().find(|job| !job.meta.deleting) {
        let name = &job.meta.key.name;
        return UpgradeDecision::Continue(NextStep::Do(
            vec![delete(job)],
            SampleDBReason::RollingBack,
            format!("deleting the Job {name}"),
        ));
    }
    if !observed.jobs.is_empty() || observed.pods.iter().any(|pod| !names::is_server_pod(db, &pod.meta.key.name)) {
        return UpgradeDecision::Continue(NextStep::wait(
            SampleDBReason::RollingBack,
            "waiting for the copy Jobs to end".to_owned(),
        ));
    }
    match server(observed, pinned, now) {
        Ok(()) => {}
        Err(Ok(step)) => return UpgradeDecision::Continue(step),
        Err(Err(why)) => return UpgradeDecision::Continue(NextStep::blocked(SampleDBReason::ServerFails, why)),
    }
    if let Err(step) = allow_clients(observed, now) {
        return UpgradeDecision::Continue(step);
    }
    if let Some(step) = delete_other_servers(observed, SampleDBReason::RollingBack) {
        return UpgradeDecision::Continue(step);
    }
    let major = db.status.engine.target.as_deref().and_then(|to| to.split('.').next()?.parse().ok());
    let copy = major.map(|major| names::upgrade_claim(db, major)).filter(|name| *name != pinned.claim);
    if let Some(step) = copy.and_then(|name| delete_claim(observed, &name, SampleDBReason::RollingBack)) {
        return UpgradeDecision::Continue(step);
    }
    let why = db.status.upgrade.message.clone().unwrap_or_default();
    let runs = db.status.upgrade.from.clone().unwrap_or_default();
    let message = format!("{why}; PostgreSQL {runs} serves again");
    let mut transition = ended(observed, UpgradeResult::RolledBack, message, now);
    // The upgrade was given up with that generation; there may be another one by now.
    transition.upgrade.retry_after_generation = db.status.upgrade.retry_after_generation;
    UpgradeDecision::Transition(Box::new(transition))
}

/// The upgrade failed, or was canceled, and the old version serves.
fn ended(observed: &Observed, result: UpgradeResult, message: String, now: Timestamp) -> Transition {
    let status = &observed.db.status;
    Transition {
        upgrade: UpgradeStatus {
            step: None,
            step_since: None,
            job: None,
            result: Some(result),
            ended_at: now.round(Unit::Second).ok(),
            retry_after_generation: Some(observed.db.meta.generation),
            message: Some(message.clone()),
            ..status.upgrade.clone()
        },
        engine: Some(EngineStatus { target: None, target_image: None, ..status.engine.clone() }),
        event: Some(warning(SampleDBEvent::UpgradeRolledBack, &message)),
        ..Transition::default()
    }
}

/// The new version serves.
pub(super) fn completed(observed: &Observed, left: &str, now: Timestamp) -> Transition {
    let before = &observed.db.status.upgrade;
    let (from, to) = (before.from.as_deref().unwrap_or_default(), before.to.as_deref().unwrap_or_default());
    let downtime = before.downtime_milliseconds.unwrap_or(0);
    let mut message =
        format!("PostgreSQL {to} serves; during the upgrade from {from}, clients could not write for {downtime} ms");
    if !left.is_empty() {
        message = format!("{message}; {left}");
    }
    let upgrade = UpgradeStatus {
        step: None,
        step_since: None,
        job: None,
        result: Some(UpgradeResult::Completed),
        ended_at: now.round(Unit::Second).ok(),
        retry_after_generation: None,
        message: Some(message.clone()),
        ..before.clone()
    };
    let event = EventDraft { warning: false, reason: SampleDBEvent::UpgradeCompleted.into(), message };
    Transition { upgrade, event: Some(event), ..Transition::default() }
}

/// Deletes the previous volume when its time is over, and Jobs when they are done. A previous volume that a user deleted is no
/// longer promised.
pub(super) fn cleanup(observed: &Observed, now: Timestamp) -> UpgradeDecision {
    if let Some(step) = delete_other_servers(observed, SampleDBReason::Upgrading) {
        return UpgradeDecision::Continue(step);
    }
    let storage = &observed.db.status.storage;
    let missing = storage.previous_claim.as_deref().is_some_and(|claim| observed.claim(claim).is_none());
    let over = missing || storage.previous_claim_until.is_some_and(|until| until <= now);
    match over.then(|| delete_previous_claim(observed)).flatten() {
        Some(step) => UpgradeDecision::Continue(step),
        None if over => {
            let storage = DatabaseStorageStatus { previous_claim: None, previous_claim_until: None, ..storage.clone() };
            let engine = EngineStatus { previous_image: None, ..observed.db.status.engine.clone() };
            let upgrade = observed.db.status.upgrade.clone();
            let transition =
                Transition { upgrade, storage: Some(storage), engine: Some(engine), ..Transition::default() };
            UpgradeDecision::Transition(Box::new(transition))
        }
        None => UpgradeDecision::Nothing,
    }
}

/// Deletes a server that does not serve: its data was copied, or is an obsolete copy.
pub(super) fn delete_other_servers(observed: &Observed, reason: SampleDBReason) -> Option<NextStep> {
    let serves = names::server(&observed.db);
    let other = observed.own_servers().find(|set| *set.meta.key.name != *serves)?;
    let message = format!("deleting the server {}, which is no longer needed", other.meta.key.name);
    let delete: Effect<DbAct> = Effect::Delete(Delete::of(StatefulSet::KIND, &other.meta));
    Some(NextStep::Do(vec![delete], reason, message))
}

/// Deletes the volume from before the last upgrade.
pub(super) fn delete_previous_claim(observed: &Observed) -> Option<NextStep> {
    let previous = observed.db.status.storage.previous_claim.as_deref()?;
    delete_claim(observed, previous, SampleDBReason::Upgrading)
}

/// Deletes a volume that is no longer needed.
fn delete_claim(observed: &Observed, name: &str, reason: SampleDBReason) -> Option<NextStep> {
    let claim = observed.claim(name)?;
    let own = claim.labels.get(OWNER_UID).is_some_and(|uid| **uid == *observed.db.meta.uid);
    if !own || observed.db.status.storage.claim.as_deref() == Some(name) {
        return None;
    }
    let message = format!("deleting the volume {name}, which is no longer needed");
    if claim.meta.deleting {
        return Some(NextStep::wait(reason, message));
    }
    let delete: Effect<DbAct> = Effect::Delete(Delete::of(Pvc::KIND, &claim.meta));
    Some(NextStep::Do(vec![delete], reason, message))
}

fn warning(reason: impl Into<Reason>, message: &str) -> EventDraft {
    EventDraft { warning: true, reason: reason.into(), message: message.to_owned() }
}
