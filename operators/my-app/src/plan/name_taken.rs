//! Pure: children that refer to a Deployment or a Service whose name a foreign object has taken.
//!
//! An autoscaler, an Ingress and an HTTPRoute refer to it by name: they would scale, or publish, whatever object has that name. A rejected
//! creation, which the status reports, shows that the name is taken. That the owned object is missing is not enough: it may have been
//! deleted, and is recreated in this reconcile.

use runtime::apply::adoption::reports_name_taken;
use runtime::cache::Projection;
use runtime::plan::{ChildState, Effect, Kind};
use runtime::projections::Autoscaler;

use super::Observed;
use super::children::removal;
use crate::MyApp;

/// Whether the Deployment of its name is foreign.
pub(super) fn deployment(observed: &Observed) -> bool {
    is_taken(observed, &observed.deployment)
}

/// Whether the Service of its name is foreign.
pub(super) fn service(observed: &Observed) -> bool {
    is_taken(observed, &observed.service)
}

fn is_taken<V: Projection>(observed: &Observed, seen: &ChildState<V>) -> bool {
    let app = &observed.app;
    matches!(seen, ChildState::Absent) && reports_name_taken(&app.status.contract, &MyApp::KIND, &app.meta, &V::KIND)
}

/// Whether the operator owns the Deployment or the Service that a child of that kind refers to. The child is not created before: a foreign
/// object of that name would be scaled, or would get requests.
pub(super) fn target_is_owned(observed: &Observed, kind: &Kind) -> bool {
    match *kind == Autoscaler::KIND {
        true => observed.deployment.owned().is_some(),
        false => observed.service.owned().is_some(),
    }
}

/// Deletes every Ingress and HTTPRoute that leads to a foreign Service.
pub(super) fn route_removals(observed: &Observed) -> Vec<Effect> {
    if !service(observed) {
        return Vec::new();
    }
    let http_route = observed.http_route.seen().and_then(|seen| removal(seen, false));
    removal(&observed.ingress, false).into_iter().chain(http_route).collect()
}
