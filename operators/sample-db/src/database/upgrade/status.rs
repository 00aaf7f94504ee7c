//! Pure: what is told of the release that runs, beside the one that is to run.

use api::sample_db::{EngineStatus, SampleDBEvent, SampleDBReason, condition_type as domain};
use api::{Condition, ConditionStatus};
use jiff::Timestamp;
use runtime::plan::EventDraft;
use runtime::status::conditions::condition;

use super::start::put_off;
use super::transition::Transition;
use crate::database::observed::Observed;
use crate::database::pinned::{Pinned, Refusal};
use crate::database::target::{Target, target};
use crate::operand::message;

/// The release that is told as the target: also one that nobody is to go to by itself.
pub(in crate::database) fn told_target(
    observed: &Observed,
    pinned: &Pinned,
    transition: Option<&Transition>,
    engine: &EngineStatus,
) -> Option<String> {
    if transition.is_some() || observed.db.status.upgrade.step.is_some() {
        return engine.target.clone();
    }
    match target(observed, pinned) {
        Target::Available(goal) => Some(goal.name()),
        _ => None,
    }
}

/// Whether the release that runs is the one to run.
pub(in crate::database) fn up_to_date(observed: &Observed, pinned: &Pinned, now: Timestamp) -> Condition {
    let upgrade = &observed.db.status.upgrade;
    let no =
        |reason: SampleDBReason, why: String| condition(domain::UP_TO_DATE, ConditionStatus::False, reason, why, now);
    if upgrade.step.is_some() {
        let to = upgrade.to.as_deref().unwrap_or_default();
        let left = upgrade.not_covered.join("; ");
        let left = if left.is_empty() { left } else { format!("; not carried over: {left}") };
        return no(SampleDBReason::Upgrading, format!("an upgrade to PostgreSQL {to} is under way{left}"));
    }
    match target(observed, pinned) {
        Target::Current => condition(
            domain::UP_TO_DATE,
            ConditionStatus::True,
            SampleDBReason::Current,
            current(observed, pinned),
            now,
        ),
        Target::Upgrade(goal) => match put_off(observed, pinned, &goal, now) {
            Some((reason, why)) => no(reason, why),
            None => no(SampleDBReason::Upgrading, format!("PostgreSQL {} is to run", goal.name())),
        },
        Target::Available(goal) => no(
            SampleDBReason::UpgradeAvailable,
            format!(
                "PostgreSQL {} is asked for or to be had, and upgrade.policy is Manual: set it to Auto to have the upgrade \
                 done",
                goal.name()
            ),
        ),
        Target::Refused((reason, why)) => no(reason, why),
    }
}

/// What to say of a release that is the one to run. Its image is kept, whether the spec named it once or the catalog did: how to get
/// to the catalog's of today is told.
fn current(observed: &Observed, pinned: &Pinned) -> String {
    let why = "the release that runs is the one to run";
    let catalog = observed.catalog.as_ref().ok().filter(|_| observed.db.spec.engine.image.is_none());
    let offer = catalog.zip(pinned.release).and_then(|(catalog, release)| catalog.offer(release));
    match offer.filter(|offer| offer.image != pinned.image) {
        Some(offer) => format!(
            "{why}; it runs image {}, the catalog lists {}: set engine.image to the latter to switch",
            pinned.image, offer.image
        ),
        None => why.to_owned(),
    }
}

/// What is not carried over is told before anything of the upgrade begins: what the survey found, and what the snapshot of
/// before does not hold, since a copy would not either.
pub(super) fn leave_behind(transition: &mut Transition, not_covered: &[String]) {
    let told = &mut transition.upgrade.not_covered;
    let before = told.len();
    for sentence in not_covered {
        let sentence = message::message(sentence.clone());
        if told.len() < LEFT && !told.contains(&sentence) {
            told.push(sentence);
        }
    }
    if told.len() > before {
        let message = format!("not carried over to the new version: {}", told.join("; "));
        transition.event = Some(EventDraft {
            warning: true,
            reason: SampleDBEvent::UpgradeLeavesBehind.into(),
            message: message::message(message),
        });
    }
}

/// How many sentences are told of it.
const LEFT: usize = 8;

/// Why what the spec asks for cannot be got to.
pub(in crate::database) fn refusal(observed: &Observed, pinned: &Pinned) -> Option<Refusal> {
    match target(observed, pinned) {
        Target::Refused(refusal) => Some(refusal),
        _ => None,
    }
}
