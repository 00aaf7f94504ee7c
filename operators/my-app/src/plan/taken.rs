//! What names a Deployment or a Service that has become somebody else's. Pure.
//!
//! An autoscaler and a way in go by the name alone: while ours is there, they would scale, and publish, whatever bears it. That the name
//! is taken is known from a creation that was refused, as the status tells it. That ours is missing is not enough: it may have been
//! deleted, and is back in this pass.

use runtime::cache::View;
use runtime::plan::adoption::reports_name_taken;
use runtime::plan::{Effect, Kind, Seen};
use runtime::views::Autoscaler;

use super::Observed;
use super::children::unwanted;
use crate::MyApp;

/// Whether the Deployment of its name is somebody else's.
pub(super) fn deployment(observed: &Observed) -> bool {
    is_taken(observed, &observed.deployment)
}

/// Whether the Service of its name is somebody else's.
pub(super) fn service(observed: &Observed) -> bool {
    is_taken(observed, &observed.service)
}

fn is_taken<V: View>(observed: &Observed, seen: &Seen<V>) -> bool {
    let app = &observed.app;
    matches!(seen, Seen::Absent) && reports_name_taken(&app.status.contract, &MyApp::KIND, &app.meta, &V::KIND)
}

/// Whether the Deployment or the Service that a child of that kind names is ours. It is not made before: one of that name may be somebody
/// else's, whose pods would be scaled, or who would get requests.
pub(super) fn names_ours(observed: &Observed, kind: &Kind) -> bool {
    match *kind == Autoscaler::KIND {
        true => observed.deployment.ours().is_some(),
        false => observed.service.ours().is_some(),
    }
}

/// What goes since it leads to somebody else's Service: every way in, asked for or not.
pub(super) fn ways_in(observed: &Observed) -> Vec<Effect> {
    if !service(observed) {
        return Vec::new();
    }
    let http_route = observed.http_route.seen().and_then(|seen| unwanted(seen, false));
    unwanted(&observed.ingress, false).into_iter().chain(http_route).collect()
}
