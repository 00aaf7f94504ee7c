//! Pure: who decides on the number of pods.
//!
//! A number of the spec is sent with the Deployment. Without one, another client sets it: an autoscaler, owned or foreign. A field
//! that its only owner no longer applies is removed, and a Deployment without the field has one pod; so the number goes to another
//! field manager before we stop sending it.

use api::my_app::Autoscaling;
use runtime::cache::Projection;
use runtime::plan::child::OwnedChild;
use runtime::plan::meta::Meta;
use runtime::plan::{Apply, ChildState};
use runtime::projections::Deployment;
use serde_json::json;

use super::{Observed, objects};

/// The desired number of pods: by the spec or, within its bounds, by the live Deployment, or by the one before it was deleted.
pub(super) fn wanted(observed: &Observed) -> i32 {
    let spec = &observed.app.spec;
    let before = before(observed);
    let there = observed.deployment.owned().map(|live| live.replicas);
    let live = there.or_else(|| observed.orphan.as_ref().map(|orphan| orphan.replicas)).or(before);
    spec.replicas.unwrap_or_else(|| spec.autoscaling.as_ref().map_or(live.unwrap_or(1), |bounds| within(bounds, live)))
}

/// How many pods were requested when the status was written last: the second number of `status.ready`, `2/3`. Not `status.replicas`,
/// which counts surge pods, and is 0 for a new MyApp.
fn before(observed: &Observed) -> Option<i32> {
    let (_, asked) = observed.app.status.ready.as_deref()?.split_once('/')?;
    asked.parse().ok().filter(|asked| *asked >= 0)
}

fn within(bounds: &Autoscaling, live: Option<i32>) -> i32 {
    // The schema has the one below the other; an older one may not.
    live.unwrap_or(0).min(bounds.max).max(bounds.least())
}

/// Hands the number of pods over to another field manager, if the operator owns it and the spec does not set it any more, or if it is out
/// of the autoscaler's bounds.
///
/// An autoscaler brings it into its bounds by itself, but half a minute later, and from none not at all.
pub(super) fn hand_over(observed: &Observed, live: &OwnedChild<Deployment>) -> Option<Apply> {
    let app = &*observed.app;
    let number = match app.spec.replicas {
        Some(_) => None,
        None if bounded(observed) && wanted(observed) != live.replicas => Some(wanted(observed)),
        None => live.owns_replicas.then_some(live.replicas),
    };
    Some(handed_over(&live.meta, number?))
}

/// The same for a Deployment that an earlier MyApp has left, before it is taken over.
pub(super) fn of_orphan(observed: &Observed) -> Option<Apply> {
    let orphan = observed.orphan.as_deref().filter(|_| observed.app.spec.replicas.is_none())?;
    Some(handed_over(&orphan.meta, orphan.replicas))
}

/// A deleted Deployment is recreated with as many pods as it had, if the spec leaves the number to others: pods of the
/// earlier one may be there still.
pub(super) fn with_previous_number(observed: &Observed, mut apply: Apply) -> Apply {
    let app = &observed.app;
    if app.spec.replicas.is_none() && before(observed).is_some() && observed.orphan.is_none() {
        apply.body["spec"]["replicas"] = json!(wanted(observed));
    }
    apply
}

fn handed_over(meta: &Meta, number: i32) -> Apply {
    let replicas = json!({ "metadata": {}, "spec": { "replicas": number } });
    Apply::part(Deployment::KIND, meta, "hand-over", &replicas)
}

/// Whether the autoscaler has the specified bounds: with one that has others, the operator would compete for the number.
fn bounded(observed: &Observed) -> bool {
    let wanted = objects::autoscaler(&observed.app);
    match (&observed.autoscaler, wanted) {
        (ChildState::Owned(live), Some(wanted)) => live.fingerprint == wanted.fingerprint(),
        _ => false,
    }
}
