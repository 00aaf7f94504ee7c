//! Pure: when the operator deletes an Ingress or HTTPRoute that the spec no longer requests.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use runtime::plan::Effect;

use super::children::removal;
use super::{Observed, objects};

/// How long the previous object stays after its replacement exists. Controllers process changes in batches: Traefik every 2 s, and it
/// reports a route as accepted before it serves the route. Without the delay, requests in between would fail.
const ROUTE_HANDOVER: SignedDuration = SignedDuration::from_secs(10);

/// Whether the Ingress has a class that the spec no longer has. The operator then recreates it: the API server sets the cluster's default
/// class only at creation, so an apply would leave the Ingress without a class, and without a controller.
pub(super) fn loses_class(observed: &Observed) -> bool {
    let desired =
        observed.ingress.owned().filter(|ingress| ingress.owns_class).and_then(|_| objects::ingress(&observed.app));
    desired.is_some_and(|desired| desired.body["spec"]["ingressClassName"].is_null())
}

/// The deletions that are due now, or in how long they are due. A replaced object is deleted [`ROUTE_HANDOVER`] after its replacement was
/// applied. While the MyApp is paused, the deletions only show that the state differs from the spec.
pub(super) fn removals(observed: &Observed, now: Timestamp) -> (Vec<Effect>, Option<Duration>) {
    let app = &*observed.app;
    let (by_ingress, by_gateway) = (objects::ingress(app).is_some(), objects::http_route(app).is_some());
    let http_route = observed.http_route.seen();
    let ingress = removal(&observed.ingress, by_ingress);
    let surplus = ingress.into_iter().chain(http_route.and_then(|seen| removal(seen, by_gateway)));
    // When the desired object was applied, if it exists.
    let applied = if by_ingress {
        observed.ingress.owned().filter(|_| !loses_class(observed)).map(|ingress| ingress.applied)
    } else if by_gateway {
        http_route.and_then(|seen| seen.owned()).map(|route| route.applied)
    } else {
        Some(None)
    };
    let left = |since: Timestamp| ROUTE_HANDOVER - now.duration_since(since);
    // A time in the future comes from another clock.
    let is_plausible = |left: &SignedDuration| left.is_positive() && *left <= ROUTE_HANDOVER;
    let waits = applied.flatten().filter(|_| !app.spec.paused);
    let left = waits.map(left).filter(is_plausible).and_then(|left| Duration::try_from(left).ok());
    let effects: Vec<Effect> = surplus.filter(|_| applied.is_some() || app.spec.paused).collect();
    match left {
        Some(left) if !effects.is_empty() => (Vec::new(), Some(left)),
        _ => (effects, None),
    }
}
