//! Pure: what pods get by default, where the spec sets nothing else.

use runtime::plan::meta::DEFAULT_CONTAINER;
use serde_json::{Value, json};

use super::container::NAME;
use super::deployment::selector;
use crate::MyApp;

/// The label by which a Deployment distinguishes its revisions.
const REVISION: &str = "pod-template-hash";

/// Gives them to a pod template.
///
/// Pods are spread whatever the number of them: a template that depended on it would replace all pods when that number changes.
pub(in crate::plan) fn give_defaults(app: &MyApp, template: &mut Value) {
    let container = &mut template["metadata"]["annotations"][DEFAULT_CONTAINER];
    if container.is_null() {
        *container = json!(NAME);
    }
    // An empty list is a setting, too: none.
    let constraints = &mut template["spec"]["topologySpreadConstraints"];
    if constraints.is_null() {
        *constraints =
            ["topology.kubernetes.io/zone", "kubernetes.io/hostname"].map(|topology| spread(app, topology)).into();
    }
}

/// As evenly as can be had, each revision by itself.
fn spread(app: &MyApp, topology: &str) -> Value {
    json!({
        "maxSkew": 1,
        "topologyKey": topology,
        "whenUnsatisfiable": "ScheduleAnyway",
        "labelSelector": { "matchLabels": selector(app) },
        "matchLabelKeys": [REVISION],
    })
}
