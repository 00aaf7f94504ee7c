//! Pure: whether the route from outside of the cluster works.
//!
//! The verdict already includes the writes of this reconcile, because the operator's own writes do not trigger another one.

use api::my_app::{AppRoute, GatewayRef, MyAppReason, ROUTE_ACCEPTED};
use api::{ConditionStatus, Reason, ReconcileReason};
use runtime::cache::Projection;
use runtime::plan::child::{OwnedChild, Served};
use runtime::plan::{Apply, ChildState};
use runtime::projections::{HttpRoute, Ingress, RouteCondition, RouteParent};

use super::reported::{differs, is_restored, matches_spec};
use crate::plan::{Observed, name_taken, route_objects};

/// The status, the reason and the message of the condition.
pub(super) type RouteVerdict = (ConditionStatus, Reason, String);

/// The verdict on the route, if the spec has one.
pub(super) fn verdict(observed: &Observed, independent: &[Apply]) -> Option<RouteVerdict> {
    let route = observed.app.spec.route.as_ref()?;
    match &route.gateway {
        Some(gateway) => http_route(observed, independent, gateway),
        None => ingress(observed, independent, route),
    }
}

fn ingress(observed: &Observed, independent: &[Apply], route: &AppRoute) -> Option<RouteVerdict> {
    if let Some((reason, message)) = observed.ingress.blocking_reason("Ingress") {
        return Some((ConditionStatus::False, reason.into(), message));
    }
    let class = route.ingress_class_name.as_deref().unwrap_or("of the cluster's default class");
    let pending = |why: &str| {
        (ConditionStatus::Unknown, MyAppReason::AddressPending.into(), format!("the Ingress ({class}) {why}"))
    };
    Some(match desired_ingress(observed, independent) {
        None => pending(unmet(observed)),
        Some(ingress) if ingress.addresses.is_empty() => {
            pending("has no address yet; check its controller (some never assign one)")
        }
        Some(ingress) => {
            let message = format!("the Ingress is reachable at {}", ingress.addresses.join(", "));
            (ConditionStatus::True, MyAppReason::AddressAssigned.into(), message)
        }
    })
}

/// The Ingress, if it matches the spec, or this reconcile restores it.
fn desired_ingress<'a>(observed: &'a Observed, independent: &[Apply]) -> Option<&'a OwnedChild<Ingress>> {
    let stays =
        observed.ingress.owned().filter(|_| !name_taken::service(observed) && !route_objects::loses_class(observed));
    stays.filter(|_| !differs(independent, Ingress::KIND) || is_restored(observed, ROUTE_ACCEPTED))
}

/// How it differs from the spec, for a message.
fn unmet(observed: &Observed) -> &'static str {
    if observed.app.spec.paused {
        "differs from the spec; it is not changed until spec.paused is false"
    } else {
        "does not match the spec yet; the operator will apply it"
    }
}

fn http_route(observed: &Observed, independent: &[Apply], gateway: &GatewayRef) -> Option<RouteVerdict> {
    let seen = match &observed.http_route {
        Served::Not => {
            let message = "this cluster does not serve HTTPRoute of gateway.networking.k8s.io/v1; install the Gateway API CRDs and a \
                           controller, or set ingressClassName instead of gateway";
            return Some((ConditionStatus::False, MyAppReason::GatewayAPIMissing.into(), message.to_owned()));
        }
        Served::Unknown(why) => {
            return Some((ConditionStatus::Unknown, ReconcileReason::WatchFailing.into(), why.clone()));
        }
        Served::Child(seen) => seen,
    };
    if let Some((reason, message)) = seen.blocking_reason("HTTPRoute") {
        return Some((ConditionStatus::False, reason.into(), message));
    }
    let home = &observed.app.meta.key.namespace;
    let desired = desired_route(independent, seen).filter(|_| !name_taken::service(observed));
    Some(match desired {
        Some(route) => accepted(route, home, gateway),
        None => {
            let message = format!("the HTTPRoute {}", unmet(observed));
            (ConditionStatus::Unknown, MyAppReason::AcceptancePending.into(), message)
        }
    })
}

/// The HTTPRoute, if its spec is the desired one.
fn desired_route<'a>(independent: &[Apply], seen: &'a ChildState<HttpRoute>) -> Option<&'a OwnedChild<HttpRoute>> {
    seen.owned().filter(|route| matches_spec(independent, HttpRoute::KIND, route.spec))
}

/// What the Gateway's controller reports: a failure, if one of its conditions for the current route reports one.
fn accepted(route: &OwnedChild<HttpRoute>, home: &str, gateway: &GatewayRef) -> RouteVerdict {
    let is_it = |parent: &&RouteParent| {
        let (of, namespace) = (&parent.gateway, gateway.namespace.as_deref().unwrap_or(home));
        *of.name == *gateway.name
            && of.namespace.as_deref().unwrap_or(home) == namespace
            && of.section_name.as_deref() == gateway.section_name.as_deref()
    };
    let parents = route.parents.iter().filter(is_it);
    let conditions: Vec<&RouteCondition> = parents.flat_map(|parent| &parent.conditions).collect();
    let generation = route.meta.generation;
    let is_current = |condition: &&&RouteCondition| condition.observed_generation.is_none_or(|of| of >= generation);
    let is = |condition: &RouteCondition, type_: &str, status: &str| {
        *condition.type_ == *type_ && *condition.status == *status
    };
    let fails = |condition: &&&RouteCondition| {
        let rejected = ["Accepted", "ResolvedRefs"].iter().any(|type_| is(condition, type_, "False"));
        rejected || ["PartiallyInvalid", "Conflicted"].iter().any(|type_| is(condition, type_, "True"))
    };
    let name = format!("{}/{}", gateway.namespace.as_deref().unwrap_or(home), gateway.name);
    if let Some(failure) = conditions.iter().filter(is_current).find(fails) {
        return (ConditionStatus::False, Reason::reported(&failure.reason), failure_message(failure, &name));
    }
    if conditions.iter().filter(is_current).any(|condition| is(condition, "Accepted", "True")) {
        let message = format!("the Gateway {} has accepted the HTTPRoute", gateway.name);
        return (ConditionStatus::True, MyAppReason::Accepted.into(), message);
    }
    let message = format!(
        "the HTTPRoute has no status from a controller yet; check that the Gateway {name} exists and has a controller"
    );
    (ConditionStatus::Unknown, MyAppReason::AcceptancePending.into(), message)
}

/// The message of a failed condition. Some controllers write none.
fn failure_message(failure: &RouteCondition, gateway: &str) -> String {
    let RouteCondition { type_, status, reason, message, .. } = failure;
    if message.trim().is_empty() {
        format!(
            "the controller of the Gateway {gateway} reports {type_}={status} for the HTTPRoute with reason {reason} and no message"
        )
    } else {
        message.to_string()
    }
}
