//! From one release to another, a step a pass; each is written down before it is taken. Pure.
//!
//! Nobody writes between the moment in which the copy begins and that in which writers are let in: so until then the old
//! data are whole, and the way back is to start the old server again.

use api::sample_db::{
    EngineStatus, SampleDBEvent, SampleDBReason, StorageStatus, UpgradeResult, UpgradeStatus, UpgradeStep as At,
};
use api::sample_db_snapshot::SnapshotPhase;
use jiff::{SignedDuration, Timestamp, Unit};
use runtime::plan::Apply;
use runtime::plan::conditions::Announcement;

use super::backup::is_in_doubt;
use super::catalog::Release;
use super::steps::{self, Step};
use super::target::{Goal, Target, downgrade, is_asked_for, target};
use super::wish::Wish;
use super::{Observed, names, words};
use crate::SampleDB;
use crate::snapshot::plan::{hindered, is_bad};

mod copy;
mod end;
mod jobs;
mod let_in;
pub(super) mod pace;
mod roll;
mod start;
mod told;

use let_in::let_in;
pub use pace::{Note, is_young, note_of};
pub(super) use pace::{lets_back_up, pace};
pub(super) use start::is_spread;
use told::leave_behind;
pub(super) use told::{refusal, told_target, up_to_date};

/// How long a server may take to start before the old one is brought back.
const START: SignedDuration = SignedDuration::from_mins(10);

/// What there is to do about releases.
#[derive(Debug)]
pub(super) enum Go {
    /// Nothing.
    Rest,
    /// This, on the way.
    On(Step),
    /// The next step is written down.
    Turn(Box<Turn>),
}

/// What is written down before the next step.
#[derive(Clone, Debug, Default)]
pub(super) struct Turn {
    pub(super) upgrade: UpgradeStatus,
    /// What runs from now on, if it is something else.
    pub(super) engine: Option<EngineStatus>,
    pub(super) storage: Option<StorageStatus>,
    pub(super) system_identifier: Option<String>,
    /// The StatefulSet of the server from now on, if it is another one.
    pub(super) server: Option<String>,
    pub(super) event: Option<Announcement>,
}

/// Decides; for a database that has been configured.
pub(super) fn decide(observed: &Observed, wish: &Wish, now: Timestamp) -> Go {
    let upgrade = &observed.db.status.upgrade;
    let Some(at) = upgrade.step else {
        return match target(observed, wish) {
            Target::Upgrade(goal) if start::put_off(observed, wish, &goal, now).is_none() => {
                begin(observed, wish, &goal, now)
            }
            _ => end::tidy(observed, now),
        };
    };
    if upgrade.result == Some(UpgradeResult::Failed) {
        return end::left_for_a_person(observed, at, now);
    }
    if let Some(go) = open(observed, wish, at, now) {
        return go;
    }
    match at {
        At::Check => check(observed, wish, now),
        At::Snapshot => snapshot(observed, wish, now),
        At::Prepare => copy::prepare(observed, now),
        At::Copy => copy::copy(observed, wish, now),
        At::Switch => copy::switch(observed, wish, now),
        At::Roll => roll::roll(observed, wish, now),
        At::Finish => roll::finish(observed, wish, now),
        At::RollBack => end::roll_back(observed, wish, now),
    }
}

/// What comes before the next of an upgrade's work as long as writers are in: it is taken back with the spec, and the server is
/// kept as wished.
fn open(observed: &Observed, wish: &Wish, at: At, now: Timestamp) -> Option<Go> {
    if shuts_out(&observed.db) {
        return None;
    }
    if at == At::Finish {
        return steps::told_meanwhile(observed).map(Go::On);
    }
    if goal(&observed.db).is_some_and(|goal| !is_asked_for(observed, wish, &goal)) {
        return Some(end::taken_back(observed, now));
    }
    // Nothing is begun of a server that does not run as wished: it is seen to first, and that is told.
    steps::kept(observed, wish).or_else(|| steps::told_meanwhile(observed)).map(Go::On)
}

/// What stands beside an upgrade.
pub(super) fn aside(observed: &Observed) -> Option<Apply> {
    let preparing = observed.db.status.upgrade.step == Some(At::Prepare);
    preparing.then(|| copy::successor(observed)).flatten()
}

/// Whether writers are, or may be, shut out.
#[must_use]
pub fn shuts_out(db: &SampleDB) -> bool {
    let upgrade = &db.status.upgrade;
    match upgrade.step {
        Some(At::Copy | At::Switch | At::Roll | At::RollBack) => true,
        // Until that is known, nobody has seen them in.
        Some(At::Finish) => upgrade.downtime_milliseconds.is_none(),
        None | Some(At::Check | At::Snapshot | At::Prepare) => false,
    }
}

/// The StatefulSet of the server that an upgrade of `db` leads to.
#[must_use]
pub fn successor(db: &SampleDB) -> Option<String> {
    goal(db).map(|goal| names::upgrade_server(db, goal.major))
}

/// What the upgrade leads to, as it was written down.
fn goal(db: &SampleDB) -> Option<Goal> {
    let engine = &db.status.engine;
    let (target, image) = engine.target.as_ref().zip(engine.target_image.clone())?;
    let release = Release::parse(target);
    let major = release.map(|release| release.major).or_else(|| target.parse().ok())?;
    Some(Goal { major, release, image })
}

/// The upgrade, at another step.
fn turn(observed: &Observed, step: At, now: Timestamp) -> Turn {
    let before = &observed.db.status.upgrade;
    let step_since = now.round(Unit::Second).ok();
    Turn { upgrade: UpgradeStatus { step: Some(step), step_since, ..before.clone() }, ..Turn::default() }
}

fn to(observed: &Observed, step: At, now: Timestamp) -> Go {
    Go::Turn(Box::new(turn(observed, step, now)))
}

fn wait(message: impl Into<String>) -> Go {
    Go::On(Step::wait(SampleDBReason::Upgrading, message))
}

fn begin(observed: &Observed, wish: &Wish, goal: &Goal, now: Timestamp) -> Go {
    // One to another release of the same version makes no volume, and takes none away.
    if let Some(step) = (goal.major != wish.major).then(|| end::drop_previous(observed)).flatten() {
        return Go::On(step);
    }
    // What the pod of an earlier one has said is not said of this image.
    if words::has_pod(&observed.pods, &jobs::check_name(observed)) {
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
        ..wish.engine(&status.engine)
    };
    let message = format!("from PostgreSQL {} to {}", from.unwrap_or_default(), goal.name());
    let event = Announcement { warning: false, reason: SampleDBEvent::UpgradeStarted.into(), message };
    Go::Turn(Box::new(Turn { upgrade, engine: Some(engine), event: Some(event), ..Turn::default() }))
}

/// The new image is fetched, and says what it is, while the old server serves.
fn check(observed: &Observed, wish: &Wish, now: Timestamp) -> Go {
    let Some(goal) = goal(&observed.db) else { return end::fail(observed, "what it leads to is not known", now) };
    let copies = goal.major != wish.major;
    let job = match jobs::run(observed, &jobs::check_name(observed), || jobs::check(observed, &goal, copies)) {
        Ok(words) => words,
        Err(jobs::NotDone::Step(step)) => return Go::On(step),
        Err(jobs::NotDone::Failed(why)) => return end::fail(observed, &why, now),
    };
    let release = job.said.version.as_deref().and_then(Release::parse);
    let Some(release) = release else { return end::fail(observed, "the image does not tell its version", now) };
    if release.major != goal.major {
        let why = format!("the image {} is PostgreSQL {release}, not {}", goal.image, goal.name());
        return end::fail(observed, &why, now);
    }
    if let Some(runs) = wish.release.filter(|runs| *runs > release) {
        return end::fail(observed, &downgrade(&release.to_string(), &runs.to_string()).1, now);
    }
    let upgrade = &observed.db.spec.upgrade;
    let step = if upgrade.snapshot_before() { At::Snapshot } else { after_snapshot(release, wish) };
    let mut turn = begin_of(observed, step, release, wish, now);
    turn.upgrade.to = Some(release.to_string());
    leave_behind(&mut turn, &job.said.not_covered);
    let engine = turn.engine.unwrap_or_else(|| observed.db.status.engine.clone());
    turn.engine = Some(EngineStatus { target: Some(release.to_string()), ..engine });
    Go::Turn(Box::new(turn))
}

fn after_snapshot(release: Release, wish: &Wish) -> At {
    if release.major == wish.major { At::Roll } else { At::Prepare }
}

/// The turn to a step; to roll means to run the other release from now on.
fn begin_of(observed: &Observed, step: At, release: Release, wish: &Wish, now: Timestamp) -> Turn {
    let mut turn = turn(observed, step, now);
    turn.upgrade.job = match step {
        At::Prepare => Some(jobs::copy_name(observed, release)),
        At::Roll => Some(jobs::finish_name(observed, release)),
        _ => turn.upgrade.job,
    };
    if step == At::Roll {
        let before = &observed.db.status.engine;
        turn.upgrade.shut_out_at = now.round(Unit::Second).ok();
        turn.engine = Some(EngineStatus {
            version: Some(release.to_string()),
            image: before.target_image.clone(),
            previous: wish.release.map(|release| release.to_string()),
            previous_image: Some(wish.image.clone()),
            ..before.clone()
        });
    }
    turn
}

/// The snapshot of before.
fn snapshot(observed: &Observed, wish: &Wish, now: Timestamp) -> Go {
    let name = names::pre_snapshot(&observed.db);
    let Some(release) = goal(&observed.db).and_then(|goal| goal.release) else {
        return end::fail(observed, "what it leads to is not known", now);
    };
    let Some(found) = observed.snapshots.iter().find(|snapshot| *snapshot.meta.key.name == *name) else {
        let create = jobs::snapshot(observed, wish, &name, now);
        let doing = format!("taking the snapshot {name} before the upgrade");
        return Go::On(Step::Take(vec![create], SampleDBReason::Upgrading, doing));
    };
    match found.status.phase {
        // It may soon be all there is of the data before the upgrade.
        Some(SnapshotPhase::Ready) if is_bad(&found.status) => {
            let why = found.status.error.clone().unwrap_or_default();
            end::fail(observed, &format!("the snapshot {name} before it was not verified: {why}"), now)
        }
        Some(SnapshotPhase::Ready) if is_in_doubt(&found.status) => {
            wait(format!("verifying the snapshot {name} before the upgrade"))
        }
        Some(SnapshotPhase::Ready) => {
            let mut turn = begin_of(observed, after_snapshot(release, wish), release, wish, now);
            turn.upgrade.pre_snapshot = Some(name);
            if release.major != wish.major {
                leave_behind(&mut turn, &found.status.not_covered);
            }
            Go::Turn(Box::new(turn))
        }
        Some(SnapshotPhase::Failed) => {
            let why = found.status.error.clone().unwrap_or_default();
            end::fail(observed, &format!("the snapshot {name} before it failed: {why}"), now)
        }
        _ => wait(format!("taking the snapshot {name} before the upgrade{}", hindered(&found.status))),
    }
}

/// The server that is to run, once it is ready.
fn server(observed: &Observed, wish: &Wish, now: Timestamp) -> Result<(), Result<Step, String>> {
    let upgrade = &observed.db.status.upgrade;
    let late = upgrade.step_since.is_some_and(|since| now.duration_since(since) > START);
    let step = match steps::server(observed, wish) {
        None => return Ok(()),
        Some(Step::Stuck(_, why)) => return Err(Err(why)),
        Some(step) => step,
    };
    // While nobody can write, and there is a way back, a first failure is enough.
    let first = match (&step, upgrade.step) {
        (Step::Wait(..), Some(At::Switch | At::Roll)) => steps::ended(observed, wish),
        _ => None,
    };
    match (step, first) {
        (_, Some(why)) => Err(Err(why)),
        (Step::Wait(_, why), None) if late => Err(Err(format!("{why}, for more than ten minutes"))),
        (step, None) => Err(Ok(step)),
    }
}
