//! The pod that the API server is asked about in a dry run. Pure.

use jiff::Timestamp;
use runtime::cache::View;
use runtime::plan::names::{LONGEST_LABEL, within};
use runtime::plan::{Apply, Create, Effect, Meta};
use runtime::views::{Deployment, Pod, Template};
use serde_json::json;

use super::Observed;
use super::decision::plan;

/// The pod to ask the API server about before a template with overrides is put into force; nothing if there is no such template,
/// or the pods have it already.
#[must_use]
pub fn trial(observed: &Observed, now: Timestamp) -> Option<Create> {
    observed.app.spec.pod_overrides.as_ref()?;
    let effects = plan(observed, now).effects;
    let mut applies = effects.iter().filter_map(|effect| match effect {
        Effect::Apply(apply) if apply.kind == Deployment::KIND && apply.hand_over.is_none() => Some(apply),
        _ => None,
    });
    let apply = applies.next_back()?;
    let wanted = Template::rendered(&apply.body);
    let is_in_force = observed.deployment.ours().is_some_and(|live| live.template.made.is_made_of(&wanted));
    (!is_in_force).then(|| pod(&observed.app.meta, apply))
}

/// A pod of that Deployment. As pods do, it has a controller, which some policies ask for.
fn pod(app: &Meta, apply: &Apply) -> Create {
    let name = within(&format!("{}-podoverrides", app.key.name), LONGEST_LABEL).into_owned();
    let mut pod = apply.body["spec"]["template"].clone();
    pod["metadata"]["ownerReferences"] =
        json!([{ "apiVersion": "apps/v1", "kind": "ReplicaSet", "name": name, "uid": app.uid, "controller": true }]);
    Create::new(Pod::KIND, app.key.sibling(&name), &pod)
}
