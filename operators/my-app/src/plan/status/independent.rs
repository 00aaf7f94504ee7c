//! Pure: conditions of the children that the pods do not depend on: the pods may match the spec where these do not.

use api::my_app::{MyAppReason, ROUTE_ACCEPTED, SCALING_ACTIVE};
use api::{Condition, ConditionStatus, Contract, Reason};
use jiff::Timestamp;
use runtime::cache::Projection;
use runtime::plan::{Apply, EventDraft};
use runtime::projections::Autoscaler;
use runtime::status::conditions::condition;

use super::reported::{is_restored, matches_spec, told};
use super::route;
use crate::plan::{Observed, name_taken, objects};

/// Types of these conditions.
const TYPES: [&str; 2] = [SCALING_ACTIVE, ROUTE_ACCEPTED];

/// The conditions of those that the spec has and whose controllers have reported.
pub(super) fn conditions(observed: &Observed, independent: &[Apply], now: Timestamp) -> Vec<Condition> {
    let route = route::verdict(observed, independent);
    let route = route.map(|(status, reason, message)| condition(ROUTE_ACCEPTED, status, reason, message, now));
    scaling(observed, independent, now).into_iter().chain(route).collect()
}

/// Whether these conditions differ from those of the status, by more than times.
pub(super) fn are_news(observed: &Observed, conditions: &[Condition]) -> bool {
    let before = &observed.app.status.contract.conditions;
    let said = |all: &[Condition], type_: &str| {
        let said = all.iter().find(|condition| condition.type_ == type_);
        said.map(|said| (said.status, said.reason.clone(), said.message.clone()))
    };
    TYPES.iter().any(|type_| said(before, type_) != said(conditions, type_))
}

/// Whether an object that blocks one of these children has its name.
pub(super) fn is_obstructed(observed: &Observed) -> bool {
    let app = &observed.app;
    let obstacles = [
        objects::autoscaler(app).and_then(|_| observed.autoscaler.obstacle("")),
        objects::ingress(app).and_then(|_| observed.ingress.obstacle("")),
        objects::http_route(app).and_then(|_| observed.http_route.seen()?.obstacle("")),
    ];
    objects::unreadable_metrics(app).is_some() || obstacles.iter().any(Option::is_some)
}

/// Whether the number of pods follows the metrics, as the autoscaler's own controller reports.
fn scaling(observed: &Observed, independent: &[Apply], now: Timestamp) -> Option<Condition> {
    observed.app.spec.autoscaling.as_ref()?;
    let judged = |status, reason: Reason, message: String| condition(SCALING_ACTIVE, status, reason, message, now);
    if let Some(why) = objects::unreadable_metrics(&observed.app) {
        let message = format!("{why}; the HorizontalPodAutoscaler is neither created nor changed");
        return Some(judged(ConditionStatus::False, MyAppReason::MetricsInvalid.into(), message));
    }
    if let Some((reason, message)) = observed.autoscaler.obstacle("HorizontalPodAutoscaler") {
        return Some(judged(ConditionStatus::False, reason.into(), message));
    }
    let live = observed.autoscaler.owned().filter(|_| !name_taken::deployment(observed))?;
    let told = live.scaling.as_ref()?;
    let is_of_it = told.is_current && matches_spec(independent, Autoscaler::KIND, live.spec);
    if !is_of_it && !is_restored(observed, SCALING_ACTIVE) {
        return None;
    }
    let reason = Reason::reported(&told.reason);
    // Which metric decides, or which pod is named, may change with each sync of the autoscaler, and is not reported.
    let (status, message) = if told.active {
        (ConditionStatus::True, "the number of pods follows the metrics".to_owned())
    } else {
        let before = reported_failure(observed).filter(|said| said.reason == reason);
        (ConditionStatus::False, before.map_or_else(|| told.message.to_string(), |said| said.message.clone()))
    };
    Some(judged(status, reason, message))
}

/// That it does not scale, as reported for the current spec.
fn reported_failure(observed: &Observed) -> Option<&Condition> {
    told(observed, SCALING_ACTIVE).filter(|said| said.status == ConditionStatus::False)
}

/// A warning of each that has become False, or is so for another reason.
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
