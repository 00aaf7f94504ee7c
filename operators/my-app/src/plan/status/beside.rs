//! What is said of what stands beside the pods: it has a condition of its own, since the pods may all be as asked. Pure.

use api::my_app::{ROUTE_ACCEPTED, SCALING_ACTIVE};
use api::{Condition, ConditionStatus, Contract};
use jiff::Timestamp;
use runtime::plan::Announcement;
use runtime::plan::conditions::condition;

use super::route;
use crate::plan::Observed;

/// Types of these conditions.
const TYPES: [&str; 2] = [SCALING_ACTIVE, ROUTE_ACCEPTED];

/// The conditions, of what is asked for and has been told of.
pub(super) fn conditions(observed: &Observed, now: Timestamp) -> Vec<Condition> {
    let route = route::verdict(observed);
    let route = route.map(|(status, reason, message)| condition(ROUTE_ACCEPTED, status, reason, message, now));
    scaling(observed, now).into_iter().chain(route).collect()
}

/// Whether the number of pods follows the metrics, by the word of the autoscaler's own controller.
fn scaling(observed: &Observed, now: Timestamp) -> Option<Condition> {
    observed.app.spec.autoscaling.as_ref()?;
    let judged = |status, reason: String, message: String| condition(SCALING_ACTIVE, status, reason, message, now);
    if let Some((reason, message)) = observed.autoscaler.obstacle("HorizontalPodAutoscaler") {
        return Some(judged(ConditionStatus::False, reason.to_owned(), message));
    }
    let told = observed.autoscaler.ours()?.scaling.as_ref()?;
    // Which metric decides, or which pod is the one to be named, may change with each look of the autoscaler, and is no news.
    let (status, message) = if told.active {
        (ConditionStatus::True, "the number of pods follows the metrics".to_owned())
    } else {
        let before = said_before(observed).filter(|said| said.reason == *told.reason);
        (ConditionStatus::False, before.map_or_else(|| told.message.to_string(), |said| said.message.clone()))
    };
    Some(judged(status, told.reason.to_string(), message))
}

/// That it does not scale, as it has been told of the spec as it is now.
fn said_before(observed: &Observed) -> Option<&Condition> {
    let (app, said) = (&observed.app, &observed.app.status.contract);
    let said = said.condition(SCALING_ACTIVE).filter(|_| said.observed_generation == app.meta.generation);
    said.filter(|said| said.status == ConditionStatus::False)
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
