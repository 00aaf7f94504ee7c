//! Pure: from one release to another, a step a pass; each is written down before it is taken.
//!
//! Nobody writes between the moment in which the copy begins and that in which writers are let in: so until then the old
//! data are whole, and the way back is to start the old server again.

use agent_protocol::PgSurveyResult;
use api::sample_db::{EngineStatus, SampleDBEvent, SampleDBReason, UpgradeResult, UpgradeStatus, UpgradeStep as At};
use api::sample_db_snapshot::SnapshotPhase;
use jiff::{Timestamp, Unit};
use runtime::job;
use runtime::plan::{Apply, EventDraft};

use super::observed::Observed;
use super::pinned::Pinned;
use super::step::NextStep;
use super::steps;
use super::target::{Target, TargetRelease, downgrade, goal, is_asked_for, target};
use crate::operand::database_state::shuts_out;
use crate::operand::names;
use crate::operand::release::Release;
use crate::operand::snapshot_state::{hindered, is_bad, is_in_doubt};
use jobs::NotDone;
use status::leave_behind;
use transition::{Transition, UpgradeDecision, transition, wait};

mod allow_clients;
mod copy;
mod finish;
mod jobs;
pub(super) mod pace;
mod roll;
pub(crate) mod server;
mod start;
mod status;
pub(crate) mod transition;

pub use pace::{Note, is_young, note_of};
pub(super) use pace::{lets_back_up, pace};
pub(super) use start::is_spread;
pub(super) use status::{refusal, told_target, up_to_date};

/// Decides; for a database that has been configured.
pub(super) fn decide(observed: &Observed, pinned: &Pinned, now: Timestamp) -> UpgradeDecision {
    let upgrade = &observed.db.status.upgrade;
    let Some(at) = upgrade.step else {
        return match target(observed, pinned) {
            Target::Upgrade(goal) if start::put_off(observed, pinned, &goal, now).is_none() => {
                begin(observed, pinned, &goal, now)
            }
            _ => finish::tidy(observed, now),
        };
    };
    if upgrade.result == Some(UpgradeResult::Failed) {
        return finish::left_for_a_person(observed, at, now);
    }
    if let Some(go) = open(observed, pinned, at, now) {
        return go;
    }
    match at {
        At::Check => check(observed, pinned, now),
        At::Snapshot => snapshot(observed, pinned, now),
        At::Prepare => copy::prepare(observed, now),
        At::Copy => copy::copy(observed, pinned, now),
        At::Switch => copy::switch(observed, pinned, now),
        At::Roll => roll::roll(observed, pinned, now),
        At::Finish => roll::finish(observed, pinned, now),
        At::RollBack => finish::roll_back(observed, pinned, now),
    }
}

/// What comes before the next of an upgrade's work as long as writers are in: it is taken back with the spec, and the server is
/// kept as wished.
fn open(observed: &Observed, pinned: &Pinned, at: At, now: Timestamp) -> Option<UpgradeDecision> {
    if shuts_out(&observed.db) {
        return None;
    }
    if at == At::Finish {
        return steps::told_meanwhile(observed).map(UpgradeDecision::Continue);
    }
    if goal(&observed.db).is_some_and(|goal| !is_asked_for(observed, pinned, &goal)) {
        return Some(finish::taken_back(observed, now));
    }
    // Nothing is begun of a server that does not run as wished: it is seen to first, and that is told.
    steps::kept(observed, pinned).or_else(|| steps::told_meanwhile(observed)).map(UpgradeDecision::Continue)
}

/// What stands beside an upgrade.
pub(super) fn aside(observed: &Observed) -> Option<Apply> {
    let preparing = observed.db.status.upgrade.step == Some(At::Prepare);
    preparing.then(|| copy::successor(observed)).flatten()
}

fn begin(observed: &Observed, pinned: &Pinned, goal: &TargetRelease, now: Timestamp) -> UpgradeDecision {
    // One to another release of the same version makes no volume, and takes none away.
    if let Some(step) = (goal.major != pinned.major).then(|| finish::drop_previous(observed)).flatten() {
        return UpgradeDecision::Continue(step);
    }
    // What the pod of an earlier one has said is not said of this image.
    if job::has_pod(&observed.pods, &jobs::check_name(observed)) {
        return wait("waiting until the pod of an earlier check is gone");
    }
    let status = &observed.db.status;
    let second = now.round(Unit::Second).ok();
    let from = status.engine.running.clone().or_else(|| status.engine.version.clone());
    let upgrade = UpgradeStatus {
        from: from.clone(),
        to: Some(goal.name()),
        step: Some(At::Check),
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

/// The new image is fetched, and says what it is, while the old server serves.
fn check(observed: &Observed, pinned: &Pinned, now: Timestamp) -> UpgradeDecision {
    let Some(goal) = goal(&observed.db) else { return finish::fail(observed, "what it leads to is not known", now) };
    let copies = goal.major != pinned.major;
    let job = match jobs::run(observed, &jobs::check_name(observed), || jobs::check(observed, &goal, copies)) {
        Ok(words) => words,
        Err(NotDone::NextStep(step)) => return UpgradeDecision::Continue(step),
        Err(NotDone::Failed(why)) => return finish::fail(observed, &why, now),
    };
    // An image of the same major version is only asked for its own, and reports nothing else.
    let found: PgSurveyResult = job.result();
    let release = found.version.as_deref().and_then(Release::parse);
    let Some(release) = release else { return finish::fail(observed, "the image does not tell its version", now) };
    if release.major != goal.major {
        let why = format!("the image {} is PostgreSQL {release}, not {}", goal.image, goal.name());
        return finish::fail(observed, &why, now);
    }
    if let Some(runs) = pinned.release.filter(|runs| *runs > release) {
        return finish::fail(observed, &downgrade(&release.to_string(), &runs.to_string()).1, now);
    }
    let upgrade = &observed.db.spec.upgrade;
    let step = if upgrade.snapshot_before() { At::Snapshot } else { after_snapshot(release, pinned) };
    let mut transition = begin_of(observed, step, release, pinned, now);
    transition.upgrade.to = Some(release.to_string());
    leave_behind(&mut transition, &found.not_covered);
    let engine = transition.engine.unwrap_or_else(|| observed.db.status.engine.clone());
    transition.engine = Some(EngineStatus { target: Some(release.to_string()), ..engine });
    UpgradeDecision::Transition(Box::new(transition))
}

fn after_snapshot(release: Release, pinned: &Pinned) -> At {
    if release.major == pinned.major { At::Roll } else { At::Prepare }
}

/// The turn to a step; to roll means to run the other release from now on.
fn begin_of(observed: &Observed, step: At, release: Release, pinned: &Pinned, now: Timestamp) -> Transition {
    let mut transition = transition(observed, step, now);
    transition.upgrade.job = match step {
        At::Prepare => Some(jobs::copy_name(observed, release)),
        At::Roll => Some(jobs::finish_name(observed, release)),
        _ => transition.upgrade.job,
    };
    if step == At::Roll {
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

/// The snapshot of before.
fn snapshot(observed: &Observed, pinned: &Pinned, now: Timestamp) -> UpgradeDecision {
    let name = names::pre_snapshot(&observed.db);
    let Some(release) = goal(&observed.db).and_then(|goal| goal.release) else {
        return finish::fail(observed, "what it leads to is not known", now);
    };
    let Some(found) = observed.snapshots.iter().find(|snapshot| *snapshot.meta.key.name == *name) else {
        let create = jobs::snapshot(observed, pinned, &name, now);
        let doing = format!("taking the snapshot {name} before the upgrade");
        return UpgradeDecision::Continue(NextStep::Do(vec![create], SampleDBReason::Upgrading, doing));
    };
    match found.status.phase {
        // It may soon be all there is of the data before the upgrade.
        Some(SnapshotPhase::Ready) if is_bad(&found.status) => {
            let why = found.status.error.clone().unwrap_or_default();
            finish::fail(observed, &format!("the snapshot {name} before it was not verified: {why}"), now)
        }
        Some(SnapshotPhase::Ready) if is_in_doubt(&found.status) => {
            wait(format!("verifying the snapshot {name} before the upgrade"))
        }
        Some(SnapshotPhase::Ready) => {
            let mut transition = begin_of(observed, after_snapshot(release, pinned), release, pinned, now);
            transition.upgrade.pre_snapshot = Some(name);
            if release.major != pinned.major {
                leave_behind(&mut transition, &found.status.not_covered);
            }
            UpgradeDecision::Transition(Box::new(transition))
        }
        Some(SnapshotPhase::Failed) => {
            let why = found.status.error.clone().unwrap_or_default();
            finish::fail(observed, &format!("the snapshot {name} before it failed: {why}"), now)
        }
        _ => wait(format!("taking the snapshot {name} before the upgrade{}", hindered(&found.status))),
    }
}
