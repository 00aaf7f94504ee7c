//! Pure: which client sets the number of pods.
//!
//! If the spec has a number, the operator sends it with the Deployment. Otherwise another client sets it: an autoscaler, owned or foreign.
//! The API server removes a field that its only owner no longer applies, and a Deployment without the field has one pod. So the operator
//! hands the number over to another field manager before it stops sending it.

use api::my_app::Autoscaling;
use runtime::cache::Projection;
use runtime::plan::child::OwnedChild;
use runtime::plan::meta::Meta;
use runtime::plan::{Apply, ChildState};
use runtime::projections::Deployment;
use serde_json::json;

use super::{Observed, objects};

/// The desired number of pods: that of the spec or, within the autoscaler's bounds, that of the live Deployment, or of the deleted one.
pub(super) fn desired_replicas(observed: &Observed) -> i32 {
    let spec = &observed.app.spec;
    let before = replicas_before(observed);
    let live = observed.deployment.owned().map(|live| live.replicas);
    let live = live.or_else(|| observed.orphan.as_ref().map(|orphan| orphan.replicas)).or(before);
    spec.replicas.unwrap_or_else(|| spec.autoscaling.as_ref().map_or(live.unwrap_or(1), |bounds| within(bounds, live)))
}

/// The number of requested pods in the last status: the second number of `status.ready`, `2/3`. Not `status.replicas`, which counts surge
/// pods, and is 0 for a new MyApp.
fn replicas_before(observed: &Observed) -> Option<i32> {
    let (_, requested) = observed.app.status.ready.as_deref()?.split_once('/')?;
    requested.parse().ok().filter(|requested| *requested >= 0)
}

fn within(bounds: &Autoscaling, live: Option<i32>) -> i32 {
    // The schema requires min <= max; that of an earlier version may not.
    live.unwrap_or(0).min(bounds.max).max(bounds.least())
}

/// The apply that hands the number of pods over to another field manager, if the operator owns it and the spec no longer sets it, or if it
/// is outside of the autoscaler's bounds.
///
/// An autoscaler would correct the number itself, but half a minute later, and not if it is 0.
pub(super) fn hand_over(observed: &Observed, live: &OwnedChild<Deployment>) -> Option<Apply> {
    let app = &*observed.app;
    let number = match app.spec.replicas {
        Some(_) => None,
        None if has_desired_bounds(observed) && desired_replicas(observed) != live.replicas => {
            Some(desired_replicas(observed))
        }
        None => live.owns_replicas.then_some(live.replicas),
    };
    Some(handed_over(&live.meta, number?))
}

/// The same for a Deployment that an earlier MyApp has left, before the operator adopts it.
pub(super) fn hand_over_orphan(observed: &Observed) -> Option<Apply> {
    let orphan = observed.orphan.as_deref().filter(|_| observed.app.spec.replicas.is_none())?;
    Some(handed_over(&orphan.meta, orphan.replicas))
}

/// `apply` with the number of pods that the deleted Deployment had, if the spec does not set it: pods of the deleted Deployment may still
/// exist.
pub(super) fn with_previous_replicas(observed: &Observed, mut apply: Apply) -> Apply {
    let app = &observed.app;
    if app.spec.replicas.is_none() && replicas_before(observed).is_some() && observed.orphan.is_none() {
        apply.body["spec"]["replicas"] = json!(desired_replicas(observed));
    }
    apply
}

fn handed_over(meta: &Meta, number: i32) -> Apply {
    let replicas = json!({ "metadata": {}, "spec": { "replicas": number } });
    Apply::part(Deployment::KIND, meta, "hand-over", &replicas)
}

/// Whether the live autoscaler has the desired bounds. With other bounds, it and the operator would overwrite each other's number.
fn has_desired_bounds(observed: &Observed) -> bool {
    match (&observed.autoscaler, objects::autoscaler(&observed.app)) {
        (ChildState::Owned(live), Some(desired)) => live.fingerprint == desired.fingerprint(),
        _ => false,
    }
}
