//! Pure: the pod for a dry run.

use jiff::Timestamp;
use runtime::cache::Projection;
use runtime::names::{LONGEST_LABEL, within};
use runtime::plan::{Apply, Create, Effect, Meta};
use runtime::projections::{Deployment, Pod, Template};
use serde_json::json;

use super::Observed;
use super::decision::plan;

/// The pod to create in a dry run before a template with overrides is applied; `None` if there is no such template, or the pods already
/// have it.
#[must_use]
pub fn dry_run_pod(observed: &Observed, now: Timestamp) -> Option<Create> {
    observed.app.spec.pod_overrides.as_ref()?;
    let effects = plan(observed, now).effects;
    let mut applies = effects.iter().filter_map(|effect| match effect {
        Effect::Apply(apply) if apply.kind == Deployment::KIND && apply.manager_prefix.is_none() => Some(apply),
        _ => None,
    });
    let apply = applies.next_back()?;
    let desired = Template::rendered(&apply.body);
    let is_current = observed.deployment.owned().is_some_and(|live| live.template.created.is_created_from(&desired));
    (!is_current).then(|| pod(&observed.app.meta, apply))
}

/// A pod of that Deployment. It has a controller, which some admission policies require, as the other pods do.
fn pod(app: &Meta, apply: &Apply) -> Create {
    let name = within(&format!("{}-podoverrides", app.key.name), LONGEST_LABEL).into_owned();
    let mut pod = apply.body["spec"]["template"].clone();
    pod["metadata"]["ownerReferences"] =
        json!([{ "apiVersion": "apps/v1", "kind": "ReplicaSet", "name": name, "uid": app.uid, "controller": true }]);
    Create::new(Pod::KIND, app.key.sibling(&name), &pod)
}
