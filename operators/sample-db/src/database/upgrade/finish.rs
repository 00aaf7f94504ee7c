//! Pure: how upgrades end, for good or ill, and what they leave behind.

use api::Reason;
use api::sample_db::{
    EngineStatus, SampleDBEvent, SampleDBReason, StorageStatus, UpgradeResult, UpgradeStatus, UpgradeStep as At,
};
use jiff::{Timestamp, Unit};
use runtime::cache::Projection;
use runtime::plan::{Delete, Effect, EventDraft};
use runtime::projections::{Claim, Job, StatefulSet};

use super::allow_clients::let_in;
use super::server::server;
use super::transition::{Transition, UpgradeDecision, transition};
use crate::database::effects::DbAct;
use crate::database::observed::Observed;
use crate::database::pinned::Pinned;
use crate::database::step::NextStep;
use crate::operand::labels::OWNER_UID;
use crate::operand::names;

/// It does not get further: the old version goes on, or is brought back.
pub(super) fn fail(observed: &Observed, why: &str, now: Timestamp) -> UpgradeDecision {
    end(observed, &format!("failed: {why}"), now)
}

/// The spec asks for it no longer, while nobody has been shut out for it: the old version goes on.
pub(super) fn taken_back(observed: &Observed, now: Timestamp) -> UpgradeDecision {
    let mut go = end(observed, "was canceled: the spec no longer requests it", now);
    if let UpgradeDecision::Transition(transition) = &mut go {
        // What it asks for instead waits for no other spec.
        transition.upgrade.retry_after_generation = None;
    }
    go
}

fn end(observed: &Observed, how: &str, now: Timestamp) -> UpgradeDecision {
    let upgrade = &observed.db.status.upgrade;
    let (from, to) = (upgrade.from.as_deref().unwrap_or_default(), upgrade.to.as_deref().unwrap_or_default());
    let message = format!("the upgrade from PostgreSQL {from} to {to} {how}");
    match upgrade.step {
        None | Some(At::Check | At::Snapshot) => UpgradeDecision::Transition(Box::new(ended(
            observed,
            UpgradeResult::RolledBack,
            format!("{message}; nothing was changed"),
            now,
        ))),
        // Until the copy begins there is nothing that a person could want to look at: writers are in.
        Some(at) if at != At::Prepare && !observed.db.spec.upgrade.rollback_on_failure() => {
            let mut transition = transition(observed, at, now);
            transition.upgrade.result = Some(UpgradeResult::Failed);
            transition.upgrade.retry_after_generation = Some(observed.db.meta.generation);
            transition.event = Some(warning(SampleDBReason::UpgradeFailed, &message));
            transition.upgrade.message = Some(message);
            UpgradeDecision::Transition(Box::new(transition))
        }
        Some(at) => back(observed, at, message, now),
    }
}

/// An upgrade that failed, and was not to be taken back by itself.
pub(super) fn left_for_a_person(observed: &Observed, at: At, now: Timestamp) -> UpgradeDecision {
    let message = observed.db.status.upgrade.message.clone().unwrap_or_default();
    if observed.db.spec.upgrade.rollback_on_failure() {
        return back(observed, at, message, now);
    }
    let message = format!(
        "{message}; the database stays closed: set upgrade.rollbackOnFailure to true to have the old version back"
    );
    UpgradeDecision::Continue(NextStep::stuck(SampleDBReason::UpgradeFailed, message))
}

/// What runs is the old version again; writers are let in once its server is ready.
fn back(observed: &Observed, at: At, message: String, now: Timestamp) -> UpgradeDecision {
    let status = &observed.db.status;
    let mut transition = transition(observed, At::RollBack, now);
    transition.event = Some(warning(SampleDBEvent::UpgradeRollingBack, &message));
    transition.upgrade.retry_after_generation = Some(observed.db.meta.generation);
    transition.upgrade.message = Some(message);
    transition.upgrade.result = None;
    if matches!(at, At::Switch | At::Roll) {
        transition.engine = Some(EngineStatus {
            version: status.engine.previous.clone(),
            image: status.engine.previous_image.clone(),
            previous: None,
            previous_image: None,
            ..status.engine.clone()
        });
    }
    if at == At::Switch {
        transition.server = status.upgrade.from_server.clone();
        let claim = status.storage.previous_claim.clone();
        transition.system_identifier = status.upgrade.from_system_identifier.clone();
        transition.storage = Some(StorageStatus {
            claim_uid: claim.as_deref().and_then(|claim| observed.claim(claim)).map(|claim| claim.meta.uid.to_string()),
            claim,
            previous_claim: None,
            previous_claim_until: None,
            ..status.storage.clone()
        });
    }
    UpgradeDecision::Transition(Box::new(transition))
}

/// The old version is brought back: first nothing copies any more, then its server runs, then writers are let in.
pub(super) fn roll_back(observed: &Observed, pinned: &Pinned, now: Timestamp) -> UpgradeDecision {
    let db = &*observed.db;
    let gone = |job: &Job| Effect::Delete(Delete::of(Job::KIND, &job.meta));
    if let Some(job) = observed.jobs.iter().find(|job| !job.meta.deleting) {
        let name = &job.meta.key.name;
        return UpgradeDecision::Continue(NextStep::Do(
            vec![gone(job)],
            SampleDBReason::RollingBack,
            format!("ending the Job {name}"),
        ));
    }
    if !observed.jobs.is_empty() || observed.pods.iter().any(|pod| !names::is_server(db, &pod.meta.key.name)) {
        return UpgradeDecision::Continue(NextStep::wait(
            SampleDBReason::RollingBack,
            "waiting for the copy Jobs to end".to_owned(),
        ));
    }
    match server(observed, pinned, now) {
        Ok(()) => {}
        Err(Ok(step)) => return UpgradeDecision::Continue(step),
        Err(Err(why)) => return UpgradeDecision::Continue(NextStep::stuck(SampleDBReason::ServerFails, why)),
    }
    if let Err(step) = let_in(observed, now) {
        return UpgradeDecision::Continue(step);
    }
    if let Some(step) = drop_other_servers(observed, SampleDBReason::RollingBack) {
        return UpgradeDecision::Continue(step);
    }
    let major = db.status.engine.target.as_deref().and_then(|to| to.split('.').next()?.parse().ok());
    let copy = major.map(|major| names::upgrade_claim(db, major)).filter(|name| *name != pinned.claim);
    if let Some(step) = copy.and_then(|name| drop_claim(observed, &name, SampleDBReason::RollingBack)) {
        return UpgradeDecision::Continue(step);
    }
    let why = db.status.upgrade.message.clone().unwrap_or_default();
    let runs = db.status.upgrade.from.clone().unwrap_or_default();
    let message = format!("{why}; PostgreSQL {runs} serves again");
    let mut transition = ended(observed, UpgradeResult::RolledBack, message, now);
    // With that spec it was given up; another one may have come since.
    transition.upgrade.retry_after_generation = db.status.upgrade.retry_after_generation;
    UpgradeDecision::Transition(Box::new(transition))
}

/// It failed, or was taken back, and the old version serves.
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
    let mut message = format!("PostgreSQL {to} serves; from {from} on, clients could not write for {downtime} ms");
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

/// The volume of before goes when its time is over, and Jobs when their work is done. One that somebody has deleted is promised
/// no longer.
pub(super) fn tidy(observed: &Observed, now: Timestamp) -> UpgradeDecision {
    if let Some(step) = drop_other_servers(observed, SampleDBReason::Upgrading) {
        return UpgradeDecision::Continue(step);
    }
    let storage = &observed.db.status.storage;
    let gone = storage.previous_claim.as_deref().is_some_and(|claim| observed.claim(claim).is_none());
    let over = gone || storage.previous_claim_until.is_some_and(|until| until <= now);
    match over.then(|| drop_previous(observed)).flatten() {
        Some(step) => UpgradeDecision::Continue(step),
        None if over => {
            let storage = StorageStatus { previous_claim: None, previous_claim_until: None, ..storage.clone() };
            let engine = EngineStatus { previous_image: None, ..observed.db.status.engine.clone() };
            let upgrade = observed.db.status.upgrade.clone();
            let transition =
                Transition { upgrade, storage: Some(storage), engine: Some(engine), ..Transition::default() };
            UpgradeDecision::Transition(Box::new(transition))
        }
        None => UpgradeDecision::Nothing,
    }
}

/// A server that does not serve goes: its data are copied, or are a copy that nobody needs.
pub(super) fn drop_other_servers(observed: &Observed, reason: SampleDBReason) -> Option<NextStep> {
    let serves = names::server(&observed.db);
    let other = observed.own_servers().find(|set| *set.meta.key.name != *serves)?;
    let message = format!("removing the server {}, which is no longer needed", other.meta.key.name);
    let delete: Effect<DbAct> = Effect::Delete(Delete::of(StatefulSet::KIND, &other.meta));
    Some(NextStep::Do(vec![delete], reason, message))
}

/// The volume of before the last upgrade goes.
pub(super) fn drop_previous(observed: &Observed) -> Option<NextStep> {
    let previous = observed.db.status.storage.previous_claim.as_deref()?;
    drop_claim(observed, previous, SampleDBReason::Upgrading)
}

/// A volume that nobody needs goes.
fn drop_claim(observed: &Observed, name: &str, reason: SampleDBReason) -> Option<NextStep> {
    let claim = observed.claim(name)?;
    let ours = claim.labels.get(OWNER_UID).is_some_and(|uid| **uid == *observed.db.meta.uid);
    if !ours || observed.db.status.storage.claim.as_deref() == Some(name) {
        return None;
    }
    let message = format!("removing the volume {name}, which is no longer needed");
    if claim.meta.deleting {
        return Some(NextStep::wait(reason, message));
    }
    let delete: Effect<DbAct> = Effect::Delete(Delete::of(Claim::KIND, &claim.meta));
    Some(NextStep::Do(vec![delete], reason, message))
}

fn warning(reason: impl Into<Reason>, message: &str) -> EventDraft {
    EventDraft { warning: true, reason: reason.into(), message: message.to_owned() }
}
