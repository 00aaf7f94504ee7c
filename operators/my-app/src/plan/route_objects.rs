//! Pure: when an Ingress or HTTPRoute that the spec does not have any more is deleted.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use runtime::plan::Effect;

use super::children::removal;
use super::{Observed, objects};

/// How long the earlier object stays after its replacement exists. Controllers process changes in batches: Traefik does so
/// every 2 s, and reports a route as accepted before it serves it. Without the delay, requests in between would fail.
const ROUTE_HANDOVER: SignedDuration = SignedDuration::from_secs(10);

/// Whether the Ingress has a class that the spec does not have any more, and is recreated: the API server sets the cluster's default class
/// only at creation. After an apply it would have none, and no controller.
pub(super) fn loses_class(observed: &Observed) -> bool {
    let wanted =
        observed.ingress.owned().filter(|ingress| ingress.owns_class).and_then(|_| objects::ingress(&observed.app));
    wanted.is_some_and(|wanted| wanted.body["spec"]["ingressClassName"].is_null())
}

/// The deletions that are due now, or when those that the spec does not have any more are due. A replaced object is deleted a while after
/// its replacement exists. During a pause nothing is deleted; the deletions only report that the state differs from the spec.
pub(super) fn removals(observed: &Observed, now: Timestamp) -> (Vec<Effect>, Option<Duration>) {
    let app = &*observed.app;
    let (by_ingress, by_gateway) = (objects::ingress(app).is_some(), objects::http_route(app).is_some());
    let http_route = observed.http_route.seen();
    let ingress = removal(&observed.ingress, by_ingress);
    let unasked = ingress.into_iter().chain(http_route.and_then(|seen| removal(seen, by_gateway)));
    // When the specified one was applied, if it exists.
    let stands = if by_ingress {
        observed.ingress.owned().filter(|_| !loses_class(observed)).map(|ingress| ingress.applied)
    } else if by_gateway {
        http_route.and_then(|seen| seen.owned()).map(|route| route.applied)
    } else {
        Some(None)
    };
    let left = |since: Timestamp| ROUTE_HANDOVER - now.duration_since(since);
    // A time in the future comes from another clock.
    let is_waited_for = |left: &SignedDuration| left.is_positive() && *left <= ROUTE_HANDOVER;
    let waits = stands.flatten().filter(|_| !app.spec.paused);
    let left = waits.map(left).filter(is_waited_for).and_then(|left| Duration::try_from(left).ok());
    let effects: Vec<Effect> = unasked.filter(|_| stands.is_some() || app.spec.paused).collect();
    match left {
        Some(left) if !effects.is_empty() => (Vec::new(), Some(left)),
        _ => (effects, None),
    }
}
