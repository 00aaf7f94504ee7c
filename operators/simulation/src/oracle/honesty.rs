//! No condition claims Ready for what is not: when a manager writes that a `MyApp` of a generation is Ready, its Deployment has run
//! that generation's image with as many ready pods, at some moment since that generation was written.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;

use crate::api_server::state::{AuditEntry, StoredState};
use crate::objects::claims_ready;

/// What is known of one `MyApp` at a moment.
#[derive(Default)]
struct Known {
    app: Option<Arc<Value>>,
    deployment: Option<Arc<Value>>,
    /// Whether the Deployment was as the present generation wants it, since that was written.
    fulfilled: bool,
}

/// The claims that were never true.
pub(super) fn violations(state: &StoredState) -> Vec<String> {
    let plural = |entry: &AuditEntry| state.kinds().get(entry.kind).map(|kind| kind.plural.as_str());
    let mut all: BTreeMap<&str, Known> = BTreeMap::new();
    let mut found = Vec::new();
    for entry in state.audit().iter().filter(|entry| entry.changed) {
        let known = all.entry(entry.key.1.as_str()).or_default();
        match plural(entry) {
            Some("deployments") => known.deployment.clone_from(&entry.after),
            Some("myapps") => {
                if generation(known.app.as_deref()) != generation(entry.after.as_deref()) {
                    known.fulfilled = false;
                }
                known.app.clone_from(&entry.after);
            }
            _ => continue,
        }
        known.fulfilled |= is_fulfilled(known);
        if plural(entry) == Some("myapps") && known.app.as_deref().is_some_and(claims_ready) && !known.fulfilled {
            found.push(format!("{} wrote that MyApp {} is Ready, and it never was", entry.user, entry.key.1));
        }
    }
    found
}

fn generation(object: Option<&Value>) -> Option<(&Value, &Value)> {
    object.map(|object| (&object["metadata"]["uid"], &object["metadata"]["generation"]))
}

fn is_fulfilled(known: &Known) -> bool {
    let (Some(app), Some(deployment)) = (&known.app, &known.deployment) else { return false };
    let wanted = app["spec"]["replicas"].as_i64().unwrap_or(1);
    let ready = deployment["status"]["readyReplicas"].as_i64().unwrap_or_default();
    // No pods are Ready at once (docs/decisions/005-ready-at-once-for-zero-replicas.md).
    let is_observed = wanted == 0 || deployment["status"]["observedGeneration"] == deployment["metadata"]["generation"];
    let image = &deployment["spec"]["template"]["spec"]["containers"][0]["image"];
    *image == app["spec"]["image"] && is_observed && ready >= wanted
}
