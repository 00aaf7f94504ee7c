//! When a way in that is not asked for any more goes, or is not asked for as it is. Pure.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use runtime::plan::Effect;

use super::children::unwanted;
use super::{Observed, objects};

/// How long the earlier way in stays beside the one that takes its place. Controllers take changes up in batches: Traefik does
/// every 2 s, and says that it has accepted a route before it serves it. Requests between the two found nothing.
const TAKEN_UP: SignedDuration = SignedDuration::from_secs(10);

/// Whether the Ingress has a class that is not asked for any more, and is made anew: the API server gives the cluster's default class to
/// one that is made, and to no other. After an apply it would have none, and no controller.
pub(super) fn loses_class(observed: &Observed) -> bool {
    let wanted =
        observed.ingress.ours().filter(|ingress| ingress.owns_class).and_then(|_| objects::ingress(&observed.app));
    wanted.is_some_and(|wanted| wanted.body["spec"]["ingressClassName"].is_null())
}

/// Ways in that go now, or when to look again at those that are not asked for any more. One that another takes the place of
/// goes a while after that is there. In a pause nothing goes, and all that is not asked for tells that it is not as asked.
pub(super) fn closed(observed: &Observed, now: Timestamp) -> (Vec<Effect>, Option<Duration>) {
    let app = &*observed.app;
    let (by_ingress, by_gateway) = (objects::ingress(app).is_some(), objects::http_route(app).is_some());
    let http_route = observed.http_route.seen();
    let ingress = unwanted(&observed.ingress, by_ingress);
    let unasked = ingress.into_iter().chain(http_route.and_then(|seen| unwanted(seen, by_gateway)));
    // The time of the one that is asked for, if it is there.
    let stands = if by_ingress {
        observed.ingress.ours().filter(|_| !loses_class(observed)).map(|ingress| ingress.applied)
    } else if by_gateway {
        http_route.and_then(|seen| seen.ours()).map(|route| route.applied)
    } else {
        Some(None)
    };
    let left = |since: Timestamp| TAKEN_UP - now.duration_since(since);
    // A time that is yet to come is of a clock that differs.
    let is_waited_for = |left: &SignedDuration| left.is_positive() && *left <= TAKEN_UP;
    let waits = stands.flatten().filter(|_| !app.spec.paused);
    let left = waits.map(left).filter(is_waited_for).and_then(|left| Duration::try_from(left).ok());
    let effects: Vec<Effect> = unasked.filter(|_| stands.is_some() || app.spec.paused).collect();
    match left {
        Some(left) if !effects.is_empty() => (Vec::new(), Some(left)),
        _ => (effects, None),
    }
}
