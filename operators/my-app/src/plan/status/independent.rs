//! Pure: conditions of the children that the pods do not depend on. These may fail while the pods match the spec.

use api::my_app::{MyAppReason, ROUTE_ACCEPTED, SCALING_ACTIVE};
use api::{Condition, ConditionStatus, Contract, Reason};
use jiff::Timestamp;
use runtime::cache::Projection;
use runtime::plan::{Apply, EventDraft};
use runtime::projections::Autoscaler;
use runtime::status::conditions::condition;

use super::reported::{is_restored, matches_spec, reported};
use super::route;
use crate::plan::{Observed, name_taken, objects};

/// Types of these conditions.
const TYPES: [&str; 2] = [SCALING_ACTIVE, ROUTE_ACCEPTED];

/// The conditions of the children that the spec requests and whose controllers have reported.
pub(super) fn conditions(observed: &Observed, independent: &[Apply], now: Timestamp) -> Vec<Condition> {
    let route = route::verdict(observed, independent);
    let route = route.map(|(status, reason, message)| condition(ROUTE_ACCEPTED, status, reason, message, now));
    scaling(observed, independent, now).into_iter().chain(route).collect()
}

/// Whether these conditions differ from those of the last status, ignoring times.
pub(super) fn have_changed(observed: &Observed, conditions: &[Condition]) -> bool {
    let before = &observed.app.status.contract.conditions;
    let content = |all: &[Condition], type_: &str| {
        let condition = all.iter().find(|condition| condition.type_ == type_);
        condition.map(|condition| (condition.status, condition.reason.clone(), condition.message.clone()))
    };
    TYPES.iter().any(|type_| content(before, type_) != content(conditions, type_))
}

/// Whether something prevents the operator from applying one of these children.
pub(super) fn is_blocked(observed: &Observed) -> bool {
    let app = &observed.app;
    let reasons = [
        objects::autoscaler(app).and_then(|_| observed.autoscaler.blocking_reason("")),
        objects::ingress(app).and_then(|_| observed.ingress.blocking_reason("")),
        objects::http_route(app).and_then(|_| observed.http_route.seen()?.blocking_reason("")),
    ];
    objects::unreadable_metrics(app).is_some() || reasons.iter().any(Option::is_some)
}

/// Whether the number of pods follows the metrics, as the autoscaler's own controller reports.
fn scaling(observed: &Observed, independent: &[Apply], now: Timestamp) -> Option<Condition> {
    observed.app.spec.autoscaling.as_ref()?;
    let judged = |status, reason: Reason, message: String| condition(SCALING_ACTIVE, status, reason, message, now);
    if let Some(why) = objects::unreadable_metrics(&observed.app) {
        let message = format!("{why}; the HorizontalPodAutoscaler is neither created nor changed");
        return Some(judged(ConditionStatus::False, MyAppReason::MetricsInvalid.into(), message));
    }
    if let Some((reason, message)) = observed.autoscaler.blocking_reason("HorizontalPodAutoscaler") {
        return Some(judged(ConditionStatus::False, reason.into(), message));
    }
    let live = observed.autoscaler.owned().filter(|_| !name_taken::deployment(observed))?;
    let scaling = live.scaling.as_ref()?;
    let is_current = scaling.is_current && matches_spec(independent, Autoscaler::KIND, live.spec);
    if !is_current && !is_restored(observed, SCALING_ACTIVE) {
        return None;
    }
    let reason = Reason::reported(&scaling.reason);
    // The reported metric or pod may change with each sync of the autoscaler, so the first message of a failure stays.
    let (status, message) = if scaling.active {
        (ConditionStatus::True, "the number of pods follows the metrics".to_owned())
    } else {
        let before = reported_failure(observed).filter(|condition| condition.reason == reason);
        (
            ConditionStatus::False,
            before.map_or_else(|| scaling.message.to_string(), |condition| condition.message.clone()),
        )
    };
    Some(judged(status, reason, message))
}

/// The condition that the autoscaler does not scale, if the status has reported it for the current spec.
fn reported_failure(observed: &Observed) -> Option<&Condition> {
    reported(observed, SCALING_ACTIVE).filter(|condition| condition.status == ConditionStatus::False)
}

/// A warning about each condition that has become False, or is False for a new reason.
pub(in crate::plan) fn warnings(before: &Contract, after: &Contract) -> Vec<EventDraft> {
    let fails = |contract: &Contract, type_: &str| {
        let condition = contract.condition(type_).filter(|condition| condition.status == ConditionStatus::False);
        condition.map(|condition| (condition.reason.clone(), condition.message.clone()))
    };
    let warning = |type_: &&str| {
        let (reason, message) = fails(after, type_)?;
        let known = fails(before, type_).is_some_and(|(before, _)| before == reason);
        (!known).then_some(EventDraft { warning: true, reason, message })
    };
    TYPES.iter().filter_map(warning).collect()
}
