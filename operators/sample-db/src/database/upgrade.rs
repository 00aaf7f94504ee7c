//! Pure: upgrades from one release to another, one step per reconcile; each is recorded before it is taken.
//!
//! Clients cannot write from the start of the copy until they are allowed again. So until then the old data is complete, and a
//! rollback means to start the old server again.

use agent_protocol::PgSurveyResult;
use api::sample_db::{EngineStatus, SampleDBEvent, SampleDBReason, UpgradeResult, UpgradeStatus, UpgradeStep};
use api::sample_db_snapshot::SnapshotPhase;
use jiff::{Timestamp, Unit};
use runtime::job;
use runtime::plan::{Apply, EventDraft};

use super::observed::Observed;
use super::pinned::Pinned;
use super::step::NextStep;
use super::steps;
use super::target::{ReleaseTarget, TargetRelease, downgrade, goal, is_still_requested, target};
use crate::operand::database_state::blocks_clients;
use crate::operand::names;
use crate::operand::release::Release;
use crate::operand::snapshot_state::{blocker_suffix, has_failed, is_reverifying};
use jobs::JobNotDone;
use status::record_not_covered;
use transition::{Transition, UpgradeDecision, transition, wait};

mod allow_clients;
mod copy;
mod finish;
mod jobs;
pub(super) mod polling;
mod roll;
pub(crate) mod server;
mod start;
mod status;
pub(crate) mod transition;

pub use polling::{CopyResultPoll, copy_result_poll, is_step_recent};
pub(super) use polling::{lets_back_up, requeue_after};
pub(super) use start::is_spread;
pub(super) use status::{refusal, reported_target, up_to_date};

/// Decides for a configured database.
pub(super) fn decide(observed: &Observed, pinned: &Pinned, now: Timestamp) -> UpgradeDecision {
    let upgrade = &observed.db.status.upgrade;
    let Some(at) = upgrade.step else {
        return match target(observed, pinned) {
            ReleaseTarget::Upgrade(goal) if start::postponed(observed, pinned, &goal, now).is_none() => {
                begin(observed, pinned, &goal, now)
            }
            _ => finish::cleanup(observed, now),
        };
    };
    if upgrade.result == Some(UpgradeResult::Failed) {
        return finish::await_rollback(observed, at, now);
    }
    if let Some(decision) = while_open(observed, pinned, at, now) {
        return decision;
    }
    match at {
        UpgradeStep::Check => check(observed, pinned, now),
        UpgradeStep::Snapshot => snapshot(observed, pinned, now),
        UpgradeStep::Prepare => copy::prepare(observed, now),
        UpgradeStep::Copy => copy::copy(observed, pinned, now),
        UpgradeStep::Switch => copy::cutover(observed, pinned, now),
        UpgradeStep::Roll => roll::roll(observed, pinned, now),
        UpgradeStep::Finish => roll::finish(observed, pinned, now),
        UpgradeStep::RollBack => finish::roll_back(observed, pinned, now),
    }
}

/// What comes before the next step of an upgrade while clients are allowed: it is canceled with the spec, and the server is kept
/// as desired.
fn while_open(observed: &Observed, pinned: &Pinned, at: UpgradeStep, now: Timestamp) -> Option<UpgradeDecision> {
    if blocks_clients(&observed.db) {
        return None;
    }
    if at == UpgradeStep::Finish {
        return steps::live_changes(observed).map(UpgradeDecision::Continue);
    }
    if goal(&observed.db).is_some_and(|goal| !is_still_requested(observed, pinned, &goal)) {
        return Some(finish::cancel(observed, now));
    }
    // Nothing starts on a server that is not as desired: that is repaired first, and reported.
    steps::server_as_desired(observed, pinned).or_else(|| steps::live_changes(observed)).map(UpgradeDecision::Continue)
}

/// What is applied independently of an upgrade's steps.
pub(super) fn independent_apply(observed: &Observed) -> Option<Apply> {
    let preparing = observed.db.status.upgrade.step == Some(UpgradeStep::Prepare);
    preparing.then(|| copy::target_server(observed)).flatten()
}

fn begin(observed: &Observed, pinned: &Pinned, goal: &TargetRelease, now: Timestamp) -> UpgradeDecision {
    // An upgrade within a major version creates no volume, and deletes none.
    if let Some(step) = (goal.major != pinned.major).then(|| finish::delete_previous_claim(observed)).flatten() {
        return UpgradeDecision::Continue(step);
    }
    // The result of an earlier check's pod is not about this image.
    if job::has_pod(&observed.pods, &jobs::check_name(observed)) {
        return wait("waiting for the pod of an earlier check to be deleted");
    }
    let status = &observed.db.status;
    let second = now.round(Unit::Second).ok();
    let from = status.engine.running.clone().or_else(|| status.engine.version.clone());
    let upgrade = UpgradeStatus {
        from: from.clone(),
        to: Some(goal.name()),
        step: Some(UpgradeStep::Check),
        step_since: second,
        started_at: second,
        job: Some(jobs::check_name(observed)),
        ..UpgradeStatus::default()
    };
    let engine = EngineStatus {
        target: Some(goal.name()),
        target_image: Some(goal.image.clone()),
        ..pinned.engine(&status.engine)
    };
    let message = format!("from PostgreSQL {} to {}", from.unwrap_or_default(), goal.name());
    let event = EventDraft { warning: false, reason: SampleDBEvent::UpgradeStarted.into(), message };
    UpgradeDecision::Transition(Box::new(Transition {
        upgrade,
        engine: Some(engine),
        event: Some(event),
        ..Transition::default()
    }))
}

/// Pulls the new image, which reports its version, while the old server serves.
fn check(observed: &Observed, pinned: &Pinned, now: Timestamp) -> UpgradeDecision {
    let Some(goal) = goal(&observed.db) else { return finish::fail(observed, "its target release is unknown", now) };
    let copies = goal.major != pinned.major;
    let job = match jobs::run(observed, &jobs::check_name(observed), || jobs::check(observed, &goal, copies)) {
        Ok(outcome) => outcome,
        Err(JobNotDone::NextStep(step)) => return UpgradeDecision::Continue(step),
        Err(JobNotDone::Failed(why)) => return finish::fail(observed, &why, now),
    };
    // An image of the same major version only reports its version.
    let found: PgSurveyResult = job.result();
    let release = found.version.as_deref().and_then(Release::parse);
    let Some(release) = release else { return finish::fail(observed, "the image does not report its version", now) };
    if release.major != goal.major {
        let why = format!("the image {} has PostgreSQL {release}, not {}", goal.image, goal.name());
        return finish::fail(observed, &why, now);
    }
    if let Some(runs) = pinned.release.filter(|runs| *runs > release) {
        return finish::fail(observed, &downgrade(&release.to_string(), &runs.to_string()).1, now);
    }
    let upgrade = &observed.db.spec.upgrade;
    let step = if upgrade.snapshot_before() { UpgradeStep::Snapshot } else { after_snapshot(release, pinned) };
    let mut transition = transition_to(observed, step, release, pinned, now);
    transition.upgrade.to = Some(release.to_string());
    record_not_covered(&mut transition, &found.not_covered);
    let engine = transition.engine.unwrap_or_else(|| observed.db.status.engine.clone());
    transition.engine = Some(EngineStatus { target: Some(release.to_string()), ..engine });
    UpgradeDecision::Transition(Box::new(transition))
}

fn after_snapshot(release: Release, pinned: &Pinned) -> UpgradeStep {
    if release.major == pinned.major { UpgradeStep::Roll } else { UpgradeStep::Prepare }
}

/// The transition to a step. `Roll` runs the other release from now on.
fn transition_to(
    observed: &Observed,
    step: UpgradeStep,
    release: Release,
    pinned: &Pinned,
    now: Timestamp,
) -> Transition {
    let mut transition = transition(observed, step, now);
    transition.upgrade.job = match step {
        UpgradeStep::Prepare => Some(jobs::copy_name(observed, release)),
        UpgradeStep::Roll => Some(jobs::minor_finish_name(observed, release)),
        _ => transition.upgrade.job,
    };
    if step == UpgradeStep::Roll {
        let before = &observed.db.status.engine;
        transition.upgrade.shut_out_at = now.round(Unit::Second).ok();
        transition.engine = Some(EngineStatus {
            version: Some(release.to_string()),
            image: before.target_image.clone(),
            previous: pinned.release.map(|release| release.to_string()),
            previous_image: Some(pinned.image.clone()),
            ..before.clone()
        });
    }
    transition
}

/// The pre-upgrade snapshot.
fn snapshot(observed: &Observed, pinned: &Pinned, now: Timestamp) -> UpgradeDecision {
    let name = names::pre_upgrade_snapshot(&observed.db);
    let Some(release) = goal(&observed.db).and_then(|goal| goal.release) else {
        return finish::fail(observed, "its target release is unknown", now);
    };
    let Some(found) = observed.snapshots.iter().find(|snapshot| *snapshot.meta.key.name == *name) else {
        let create = jobs::snapshot(observed, pinned, &name, now);
        let doing = format!("taking the snapshot {name} before the upgrade");
        return UpgradeDecision::Continue(NextStep::Do(vec![create], SampleDBReason::Upgrading, doing));
    };
    match found.status.phase {
        // It may soon be the only copy of the data before the upgrade.
        Some(SnapshotPhase::Ready) if has_failed(&found.status) => {
            let why = found.status.error.clone().unwrap_or_default();
            finish::fail(observed, &format!("the snapshot {name} before the upgrade was not verified: {why}"), now)
        }
        Some(SnapshotPhase::Ready) if is_reverifying(&found.status) => {
            wait(format!("verifying the snapshot {name} before the upgrade"))
        }
        Some(SnapshotPhase::Ready) => {
            let mut transition = transition_to(observed, after_snapshot(release, pinned), release, pinned, now);
            transition.upgrade.pre_snapshot = Some(name);
            if release.major != pinned.major {
                record_not_covered(&mut transition, &found.status.not_covered);
            }
            UpgradeDecision::Transition(Box::new(transition))
        }
        Some(SnapshotPhase::Failed) => {
            let why = found.status.error.clone().unwrap_or_default();
            finish::fail(observed, &format!("the snapshot {name} before the upgrade failed: {why}"), now)
        }
        _ => wait(format!("taking the snapshot {name} before the upgrade{}", blocker_suffix(&found.status))),
    }
}
