//! Whether the way in from outside of the cluster is open. Pure.
//!
//! What this pass makes is told as it will be seen: no other pass follows a write of our own.

use api::my_app::{GatewayRef, MyAppReason, ROUTE_ACCEPTED, Route};
use api::{ConditionStatus, Reason, ReconcileReason};
use runtime::cache::View;
use runtime::plan::seen::{Live, Served};
use runtime::plan::{Apply, Seen};
use runtime::views::{HttpRoute, Ingress, RouteCondition, RouteParent};

use super::as_asked::{differs, is_asked, is_put_back};
use crate::plan::{Observed, taken, ways_in};

/// A condition's status, reason and message.
pub(super) type Verdict = (ConditionStatus, Reason, String);

/// What is known of the route, if there is one.
pub(super) fn verdict(observed: &Observed, aside: &[Apply]) -> Option<Verdict> {
    let route = observed.app.spec.route.as_ref()?;
    match &route.gateway {
        Some(gateway) => http_route(observed, aside, gateway),
        None => ingress(observed, aside, route),
    }
}

fn ingress(observed: &Observed, aside: &[Apply], route: &Route) -> Option<Verdict> {
    if let Some((reason, message)) = observed.ingress.obstacle("Ingress") {
        return Some((ConditionStatus::False, reason.into(), message));
    }
    let class = route.ingress_class_name.as_deref().unwrap_or("of the cluster's default class");
    let pending = |why: &str| {
        (ConditionStatus::Unknown, MyAppReason::AddressPending.into(), format!("the Ingress ({class}) {why}"))
    };
    Some(match asked_ingress(observed, aside) {
        None => pending(unmade(observed)),
        Some(ingress) if ingress.addresses.is_empty() => {
            pending("has been given an address by no controller yet; not all of them do")
        }
        Some(ingress) => {
            let message = format!("the Ingress can be reached at {}", ingress.addresses.join(", "));
            (ConditionStatus::True, MyAppReason::AddressAssigned.into(), message)
        }
    })
}

/// The Ingress, if it is the one that is asked for, or is put back to be that.
fn asked_ingress<'a>(observed: &'a Observed, aside: &[Apply]) -> Option<&'a Live<Ingress>> {
    let stays = observed.ingress.ours().filter(|_| !taken::service(observed) && !ways_in::loses_class(observed));
    stays.filter(|_| !differs(aside, Ingress::KIND) || is_put_back(observed, ROUTE_ACCEPTED))
}

/// Why there is none as asked, in words.
fn unmade(observed: &Observed) -> &'static str {
    if observed.app.spec.paused {
        "is not as asked, and is left so until spec.paused is false"
    } else {
        "is yet to be made as asked"
    }
}

fn http_route(observed: &Observed, aside: &[Apply], gateway: &GatewayRef) -> Option<Verdict> {
    let seen = match &observed.http_route {
        Served::Not => {
            let message = "this cluster does not serve HTTPRoute of gateway.networking.k8s.io/v1: install the Gateway API's CRDs and a \
                           controller, or give ingressClassName instead of gateway";
            return Some((ConditionStatus::False, MyAppReason::GatewayAPIMissing.into(), message.to_owned()));
        }
        Served::Unknown(why) => {
            return Some((ConditionStatus::Unknown, ReconcileReason::WatchFailing.into(), why.clone()));
        }
        Served::Seen(seen) => seen,
    };
    if let Some((reason, message)) = seen.obstacle("HTTPRoute") {
        return Some((ConditionStatus::False, reason.into(), message));
    }
    let home = &observed.app.meta.key.namespace;
    let asked = asked_route(aside, seen).filter(|_| !taken::service(observed));
    Some(match asked {
        Some(route) => accepted(route, home, gateway),
        None => {
            let message = format!("the HTTPRoute {}", unmade(observed));
            (ConditionStatus::Unknown, MyAppReason::AcceptancePending.into(), message)
        }
    })
}

/// The HTTPRoute, if its spec is the one that is asked for.
fn asked_route<'a>(aside: &[Apply], seen: &'a Seen<HttpRoute>) -> Option<&'a Live<HttpRoute>> {
    seen.ours().filter(|route| is_asked(aside, HttpRoute::KIND, route.spec))
}

/// By the word of the gateway's controller: the worst of what it says of the route as it is now.
fn accepted(route: &Live<HttpRoute>, home: &str, gateway: &GatewayRef) -> Verdict {
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
        return (ConditionStatus::False, Reason::reported(&failure.reason), words(failure, &name));
    }
    if said.iter().filter(is_current).any(|said| is(said, "Accepted", "True")) {
        let message = format!("the Gateway {} has accepted the HTTPRoute", gateway.name);
        return (ConditionStatus::True, MyAppReason::Accepted.into(), message);
    }
    let message = format!(
        "no controller has said anything of the HTTPRoute yet; check that the Gateway {name} exists, and has a controller"
    );
    (ConditionStatus::Unknown, MyAppReason::AcceptancePending.into(), message)
}

/// A failure in its controller's words, which some of them leave out.
fn words(failure: &RouteCondition, gateway: &str) -> String {
    let RouteCondition { type_, status, reason, message, .. } = failure;
    if message.trim().is_empty() {
        format!(
            "the controller of the Gateway {gateway} says {type_}={status} of the HTTPRoute, and no more than {reason}"
        )
    } else {
        message.to_string()
    }
}
