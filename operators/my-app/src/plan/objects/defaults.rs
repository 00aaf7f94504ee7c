//! Pure: the defaults of pods, for fields that the spec does not set.

use runtime::plan::meta::DEFAULT_CONTAINER;
use serde_json::{Value, json};

use super::container::NAME;
use super::deployment::selector;
use crate::MyApp;

/// The label by which a Deployment distinguishes its revisions.
const REVISION: &str = "pod-template-hash";

/// Adds the defaults to a pod template.
///
/// They do not depend on the number of pods: otherwise a change of that number would replace all pods.
pub(in crate::plan) fn add_defaults(app: &MyApp, template: &mut Value) {
    let container = &mut template["metadata"]["annotations"][DEFAULT_CONTAINER];
    if container.is_null() {
        *container = json!(NAME);
    }
    // An empty list counts as set.
    let constraints = &mut template["spec"]["topologySpreadConstraints"];
    if constraints.is_null() {
        *constraints =
            ["topology.kubernetes.io/zone", "kubernetes.io/hostname"].map(|topology| spread(app, topology)).into();
    }
}

/// A constraint to spread pods as evenly as possible, separately for each revision.
fn spread(app: &MyApp, topology: &str) -> Value {
    json!({
        "maxSkew": 1,
        "topologyKey": topology,
        "whenUnsatisfiable": "ScheduleAnyway",
        "labelSelector": { "matchLabels": selector(app) },
        "matchLabelKeys": [REVISION],
    })
}
