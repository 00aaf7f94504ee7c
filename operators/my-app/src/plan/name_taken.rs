//! Pure: children that refer to the Deployment or the Service, while a foreign object has that name.
//!
//! An autoscaler, an Ingress and an HTTPRoute refer to it by name: they would scale or expose the foreign object. The status reports a
//! name as taken after a creation was rejected. A missing object is not enough: it may have been deleted, and this reconcile
//! recreates it.

use runtime::apply::adoption::reports_name_taken;
use runtime::cache::Projection;
use runtime::plan::{ChildState, Effect, ResourceKind};
use runtime::projections::Autoscaler;

use super::Observed;
use super::children::removal;
use crate::MyApp;

/// Whether a foreign Deployment has the name.
pub(super) fn deployment(observed: &Observed) -> bool {
    is_taken(observed, &observed.deployment)
}

/// Whether a foreign Service has the name.
pub(super) fn service(observed: &Observed) -> bool {
    is_taken(observed, &observed.service)
}

fn is_taken<V: Projection>(observed: &Observed, seen: &ChildState<V>) -> bool {
    let app = &observed.app;
    matches!(seen, ChildState::Absent) && reports_name_taken(&app.status.contract, &MyApp::KIND, &app.meta, &V::KIND)
}

/// Whether the operator owns the Deployment or the Service that a child of that kind refers to. The operator creates the child only then,
/// so that it does not scale a foreign object of that name or send requests to it.
pub(super) fn target_is_owned(observed: &Observed, kind: &ResourceKind) -> bool {
    match *kind == Autoscaler::KIND {
        true => observed.deployment.owned().is_some(),
        false => observed.service.owned().is_some(),
    }
}

/// The deletions of the Ingress and the HTTPRoute, if they lead to a foreign Service.
pub(super) fn route_removals(observed: &Observed) -> Vec<Effect> {
    if !service(observed) {
        return Vec::new();
    }
    let http_route = observed.http_route.seen().and_then(|seen| removal(seen, false));
    removal(&observed.ingress, false).into_iter().chain(http_route).collect()
}
