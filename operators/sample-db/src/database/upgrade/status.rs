//! Pure: the status of upgrades: the running release, compared with the desired one.

use api::sample_db::{EngineStatus, SampleDBEvent, SampleDBReason, condition_type as domain};
use api::{Condition, ConditionStatus};
use jiff::Timestamp;
use runtime::plan::EventDraft;
use runtime::status::conditions::condition;

use super::start::postponed;
use super::transition::Transition;
use crate::database::observed::Observed;
use crate::database::pinned::{Pinned, SpecRefusal};
use crate::database::target::{ReleaseTarget, target};
use runtime::message;

/// The release to report as the target, including one that only the user may upgrade to.
pub(in crate::database) fn reported_target(
    observed: &Observed,
    pinned: &Pinned,
    transition: Option<&Transition>,
    engine: &EngineStatus,
) -> Option<String> {
    if transition.is_some() || observed.db.status.upgrade.step.is_some() {
        return engine.target.clone();
    }
    match target(observed, pinned) {
        ReleaseTarget::Available(goal) => Some(goal.name()),
        _ => None,
    }
}

/// Whether the running release is the desired one.
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
        ReleaseTarget::Current => condition(
            domain::UP_TO_DATE,
            ConditionStatus::True,
            SampleDBReason::Current,
            current(observed, pinned),
            now,
        ),
        ReleaseTarget::Upgrade(goal) => match postponed(observed, pinned, &goal, now) {
            Some((reason, why)) => no(reason, why),
            None => {
                no(SampleDBReason::Upgrading, format!("the upgrade to PostgreSQL {} is about to start", goal.name()))
            }
        },
        ReleaseTarget::Available(goal) => no(
            SampleDBReason::UpgradeAvailable,
            format!("PostgreSQL {} is available, and upgrade.policy is Manual: set it to Auto to upgrade", goal.name()),
        ),
        ReleaseTarget::Refused((reason, why)) => no(reason, why),
    }
}

/// The message about a release that is the desired one. Its image stays, whether the spec or the catalog named it; the message
/// says how to get to the catalog's present one.
fn current(observed: &Observed, pinned: &Pinned) -> String {
    let why = "the database runs the desired release";
    let catalog = observed.catalog.as_ref().ok().filter(|_| observed.db.spec.engine.image.is_none());
    let offer = catalog.zip(pinned.release).and_then(|(catalog, release)| catalog.offer(release));
    match offer.filter(|offer| offer.image != pinned.image) {
        Some(offer) => format!(
            "{why}, with image {}; the catalog lists {}: set engine.image to the latter to switch",
            pinned.image, offer.image
        ),
        None => why.to_owned(),
    }
}

/// Records what is not carried over before the upgrade changes anything: what the survey found, and what the pre-upgrade snapshot
/// lacks, because a copy would lack it too.
pub(super) fn record_not_covered(transition: &mut Transition, not_covered: &[String]) {
    let reported = &mut transition.upgrade.not_covered;
    let before = reported.len();
    for message in not_covered {
        let message = message::shorten(message.clone());
        if reported.len() < MAX_NOT_COVERED && !reported.contains(&message) {
            reported.push(message);
        }
    }
    if reported.len() > before {
        let message = format!("not carried over to the new version: {}", reported.join("; "));
        transition.event = Some(EventDraft {
            warning: true,
            reason: SampleDBEvent::UpgradeLeavesBehind.into(),
            message: message::shorten(message),
        });
    }
}

/// How many such messages are recorded.
const MAX_NOT_COVERED: usize = 8;

/// Why the release in the spec is not possible.
pub(in crate::database) fn refusal(observed: &Observed, pinned: &Pinned) -> Option<SpecRefusal> {
    match target(observed, pinned) {
        ReleaseTarget::Refused(refusal) => Some(refusal),
        _ => None,
    }
}
