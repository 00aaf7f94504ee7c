//! What no override changes: by what pods are found, who owns them, and what a MyApp's own fields and status tell of them.

use std::collections::BTreeSet;

use api::my_app::PodMetadata;
use runtime::plan::meta::{INSTANCE, MANAGED_BY, NAME, RESTARTED_AT};
use serde_json::Value;

use super::refusal::PATH;
use crate::plan::objects::CONTAINER;

/// Labels and annotations below it are the operator's.
const OURS: &str = "multi-operator.example.com/";

/// Fields of pods that a Deployment's cannot have, or that have to be said elsewhere: with what to do instead.
const FIELDS: [(&str, &str); 3] = [
    ("serviceAccount", "it is an older name of serviceAccountName; set that"),
    ("ephemeralContainers", "they are added to running pods alone (kubectl debug)"),
    ("activeDeadlineSeconds", "pods of a Deployment run without an end"),
];

/// Whether overrides leave that alone; else a sentence.
pub(super) fn check(metadata: &PodMetadata, spec: &Value) -> Result<(), String> {
    labels(metadata)?;
    if let Some((field, why)) = FIELDS.iter().find(|(field, _)| !spec[field].is_null()) {
        return Err(format!("{PATH}.spec.{field}: {why}"));
    }
    if spec.get("restartPolicy").is_some_and(|policy| policy != "Always") {
        return Err(format!("{PATH}.spec.restartPolicy: pods of a Deployment have Always alone"));
    }
    ["containers", "initContainers"].into_iter().try_for_each(|list| containers(spec, list))
}

fn labels(metadata: &PodMetadata) -> Result<(), String> {
    let ours = |key: &&String| key.starts_with(OURS) || [NAME, INSTANCE, MANAGED_BY].contains(&&***key);
    if let Some(key) = metadata.labels.keys().find(ours) {
        return Err(format!("{PATH}.metadata.labels.{key}: the operator finds the pods by it; take another name"));
    }
    let ours = |key: &&String| key.starts_with(OURS) || ***key == *RESTARTED_AT;
    if let Some(key) = metadata.annotations.keys().find(ours) {
        return Err(format!(
            "{PATH}.metadata.annotations.{key}: it is the operator's; to restart pods, annotate the MyApp with {RESTARTED_AT}"
        ));
    }
    Ok(())
}

/// Containers are merged by their names, so each has one; the application's image is the spec's.
fn containers(spec: &Value, list: &str) -> Result<(), String> {
    let mut names = BTreeSet::new();
    for (at, container) in spec[list].as_array().into_iter().flatten().enumerate() {
        let path = format!("{PATH}.spec.{list}[{at}]");
        let Some(name) = container["name"].as_str().filter(|name| !name.is_empty()) else {
            return Err(format!("{path}.name: Required value: the application's container is called {CONTAINER}"));
        };
        if names.contains(&name) || (list == "initContainers" && name == CONTAINER) {
            return Err(format!("{path}.name: another container is called {name}"));
        }
        let image = !container["image"].is_null();
        match name == CONTAINER {
            true if image => return Err(format!("{path}.image: the application's image is set by spec.image")),
            false if !image => return Err(format!("{path}.image: Required value: {name} is no container of ours")),
            _ => names.insert(name),
        };
    }
    Ok(())
}
