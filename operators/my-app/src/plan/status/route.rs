//! Pure: whether the route from outside of the cluster works.
//!
//! What this reconcile writes is reported as it will be observed: no other reconcile follows a write of our own.

use api::my_app::{GatewayRef, MyAppReason, ROUTE_ACCEPTED, Route};
use api::{ConditionStatus, Reason, ReconcileReason};
use runtime::cache::Projection;
use runtime::plan::child::{OwnedChild, Served};
use runtime::plan::{Apply, ChildState};
use runtime::projections::{HttpRoute, Ingress, RouteCondition, RouteParent};

use super::reported::{differs, is_restored, matches_spec};
use crate::plan::{Observed, name_taken, route_objects};

/// A condition's status, reason and message.
pub(super) type Verdict = (ConditionStatus, Reason, String);

/// What is known of the route, if there is one.
pub(super) fn verdict(observed: &Observed, independent: &[Apply]) -> Option<Verdict> {
    let route = observed.app.spec.route.as_ref()?;
    match &route.gateway {
        Some(gateway) => http_route(observed, independent, gateway),
        None => ingress(observed, independent, route),
    }
}

fn ingress(observed: &Observed, independent: &[Apply], route: &Route) -> Option<Verdict> {
    if let Some((reason, message)) = observed.ingress.obstacle("Ingress") {
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

/// The Ingress, if it is the desired one, or is restored to it.
fn desired_ingress<'a>(observed: &'a Observed, independent: &[Apply]) -> Option<&'a OwnedChild<Ingress>> {
    let stays =
        observed.ingress.owned().filter(|_| !name_taken::service(observed) && !route_objects::loses_class(observed));
    stays.filter(|_| !differs(independent, Ingress::KIND) || is_restored(observed, ROUTE_ACCEPTED))
}

/// Why it differs, for a message.
fn unmet(observed: &Observed) -> &'static str {
    if observed.app.spec.paused {
        "differs from the spec; it is not changed until spec.paused is false"
    } else {
        "does not match the spec yet; the operator will apply it"
    }
}

fn http_route(observed: &Observed, independent: &[Apply], gateway: &GatewayRef) -> Option<Verdict> {
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
    if let Some((reason, message)) = seen.obstacle("HTTPRoute") {
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

/// What the gateway's controller reports: the worst of its conditions for the current route.
fn accepted(route: &OwnedChild<HttpRoute>, home: &str, gateway: &GatewayRef) -> Verdict {
    let is_it = |parent: &&RouteParent| {
        let (of, namespace) = (&parent.gateway, gateway.namespace.as_deref().unwrap_or(home));
        *of.name == *gateway.name
            && of.namespace.as_deref().unwrap_or(home) == namespace
            && of.section_name.as_deref() == gateway.section_name.as_deref()
    };
    let parents = route.parents.iter().filter(is_it);
    let said: Vec<&RouteCondition> = parents.flat_map(|parent| &parent.conditions).collect();
    let generation = route.meta.generation;
    let is_current = |said: &&&RouteCondition| said.observed_generation.is_none_or(|of| of >= generation);
    let is = |said: &RouteCondition, type_: &str, status: &str| *said.type_ == *type_ && *said.status == *status;
    let fails = |said: &&&RouteCondition| {
        let refused = ["Accepted", "ResolvedRefs"].iter().any(|type_| is(said, type_, "False"));
        refused || ["PartiallyInvalid", "Conflicted"].iter().any(|type_| is(said, type_, "True"))
    };
    let name = format!("{}/{}", gateway.namespace.as_deref().unwrap_or(home), gateway.name);
    if let Some(failure) = said.iter().filter(is_current).find(fails) {
        return (ConditionStatus::False, Reason::reported(&failure.reason), failure_message(failure, &name));
    }
    if said.iter().filter(is_current).any(|said| is(said, "Accepted", "True")) {
        let message = format!("the Gateway {} has accepted the HTTPRoute", gateway.name);
        return (ConditionStatus::True, MyAppReason::Accepted.into(), message);
    }
    let message = format!(
        "the HTTPRoute has no status from a controller yet; check that the Gateway {name} exists and has a controller"
    );
    (ConditionStatus::Unknown, MyAppReason::AcceptancePending.into(), message)
}

/// The message of a failed condition, which some controllers leave out.
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
