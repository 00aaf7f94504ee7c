//! What is said of what stands beside the pods: it has a condition of its own, since the pods may all be as asked. Pure.

use api::my_app::{MyAppReason, ROUTE_ACCEPTED, SCALING_ACTIVE};
use api::{Condition, ConditionStatus, Contract, Reason};
use jiff::Timestamp;
use runtime::cache::View;
use runtime::plan::conditions::condition;
use runtime::plan::{Announcement, Apply};
use runtime::views::Autoscaler;

use super::as_asked::{is_asked, is_put_back, told};
use super::route;
use crate::plan::{Observed, objects, taken};

/// Types of these conditions.
const TYPES: [&str; 2] = [SCALING_ACTIVE, ROUTE_ACCEPTED];

/// The conditions, of what is asked for and has been told of.
pub(super) fn conditions(observed: &Observed, aside: &[Apply], now: Timestamp) -> Vec<Condition> {
    let route = route::verdict(observed, aside);
    let route = route.map(|(status, reason, message)| condition(ROUTE_ACCEPTED, status, reason, message, now));
    scaling(observed, aside, now).into_iter().chain(route).collect()
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

/// Whether something of a child's name is in the way of one that is asked for beside the pods.
pub(super) fn is_obstructed(observed: &Observed) -> bool {
    let app = &observed.app;
    let obstacles = [
        objects::autoscaler(app).and_then(|_| observed.autoscaler.obstacle("")),
        objects::ingress(app).and_then(|_| observed.ingress.obstacle("")),
        objects::http_route(app).and_then(|_| observed.http_route.seen()?.obstacle("")),
    ];
    objects::unreadable_metrics(app).is_some() || obstacles.iter().any(Option::is_some)
}

/// Whether the number of pods follows the metrics, by the word of the autoscaler's own controller.
fn scaling(observed: &Observed, aside: &[Apply], now: Timestamp) -> Option<Condition> {
    observed.app.spec.autoscaling.as_ref()?;
    let judged = |status, reason: Reason, message: String| condition(SCALING_ACTIVE, status, reason, message, now);
    if let Some(why) = objects::unreadable_metrics(&observed.app) {
        let message = format!("{why}; no HorizontalPodAutoscaler is made or changed");
        return Some(judged(ConditionStatus::False, MyAppReason::MetricsInvalid.into(), message));
    }
    if let Some((reason, message)) = observed.autoscaler.obstacle("HorizontalPodAutoscaler") {
        return Some(judged(ConditionStatus::False, reason.into(), message));
    }
    let live = observed.autoscaler.ours().filter(|_| !taken::deployment(observed))?;
    let told = live.scaling.as_ref()?;
    let is_of_it = told.is_current && is_asked(aside, Autoscaler::KIND, live.spec);
    if !is_of_it && !is_put_back(observed, SCALING_ACTIVE) {
        return None;
    }
    let reason = Reason::reported(&told.reason);
    // Which metric decides, or which pod is the one to be named, may change with each look of the autoscaler, and is no news.
    let (status, message) = if told.active {
        (ConditionStatus::True, "the number of pods follows the metrics".to_owned())
    } else {
        let before = said_before(observed).filter(|said| said.reason == reason);
        (ConditionStatus::False, before.map_or_else(|| told.message.to_string(), |said| said.message.clone()))
    };
    Some(judged(status, reason, message))
}

/// That it does not scale, as it has been told of the spec as it is now.
fn said_before(observed: &Observed) -> Option<&Condition> {
    told(observed, SCALING_ACTIVE).filter(|said| said.status == ConditionStatus::False)
}

/// A warning of each that has become False, or is so for another reason.
pub(in crate::plan) fn warnings(before: &Contract, after: &Contract) -> Vec<Announcement> {
    let fails = |contract: &Contract, type_: &str| {
        let condition = contract.condition(type_).filter(|condition| condition.status == ConditionStatus::False);
        condition.map(|condition| (condition.reason.clone(), condition.message.clone()))
    };
    let warning = |type_: &&str| {
        let (reason, message) = fails(after, type_)?;
        let known = fails(before, type_).is_some_and(|(before, _)| before == reason);
        (!known).then_some(Announcement { warning: true, reason, message })
    };
    TYPES.iter().filter_map(warning).collect()
}
