//! How a world ends, whatever has happened: each object of a user is Ready, and its children are what its spec says.

use serde_json::Value;

use crate::api_server::state::StoredState;
use crate::objects::{has_ready, is_status_current, objects};
use crate::scenario::Scenario;

/// What is not so.
pub(super) fn violations(state: &StoredState, scenario: &Scenario) -> Vec<String> {
    let mut found = Vec::new();
    for plural in scenario.roots {
        for (name, root) in objects(state, plural) {
            let about = format!("{plural} {name}");
            if !is_status_current(root) {
                found.push(format!("at the end, the status of {about} is not that of its generation"));
            }
            if !has_ready(root) {
                found.push(format!("at the end, {about} is not Ready: {}", root["status"]["conditions"]));
            }
            found.extend((scenario.children_differ)(state, name, root));
        }
    }
    for plural in scenario.children {
        found.extend(objects(state, plural).filter_map(|(name, child)| unowned(state, scenario, plural, name, child)));
    }
    found
}

/// A child whose controller is none of the objects of users.
fn unowned(state: &StoredState, scenario: &Scenario, plural: &str, name: &str, child: &Value) -> Option<String> {
    let owners = child["metadata"]["ownerReferences"].as_array().map(Vec::as_slice).unwrap_or_default();
    let uids: Vec<&Value> =
        owners.iter().filter(|owner| owner["controller"] == true).map(|owner| &owner["uid"]).collect();
    let mut roots = scenario.roots.iter().flat_map(|plural| objects(state, plural));
    let owned = roots.any(|(_, root)| uids.contains(&&root["metadata"]["uid"]));
    (!owned).then(|| format!("at the end, {plural} {name} has no controller"))
}
