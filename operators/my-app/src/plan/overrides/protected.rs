//! Pure: what no override may change: the labels that select pods, their owners, and what a MyApp's own fields set.

use std::collections::BTreeSet;

use api::my_app::PodMetadata;
use runtime::plan::meta::{INSTANCE, MANAGED_BY, NAME, RESTARTED_AT};
use serde_json::Value;

use super::rejection::PATH;
use crate::plan::objects::CONTAINER;

/// The prefix of the operator's labels and annotations.
const RESERVED_PREFIX: &str = "multi-operator.example.com/";

/// Fields that pods of a Deployment cannot have, or that are set elsewhere, and what to do instead.
const FIELDS: [(&str, &str); 3] = [
    ("serviceAccount", "deprecated alias; set serviceAccountName instead"),
    ("ephemeralContainers", "can only be added to running pods (kubectl debug); remove it"),
    ("activeDeadlineSeconds", "not supported for pods of a Deployment; remove it"),
];

/// Checks that overrides change none of these; otherwise returns a message.
pub(super) fn check(metadata: &PodMetadata, spec: &Value) -> Result<(), String> {
    labels(metadata)?;
    if let Some((field, why)) = FIELDS.iter().find(|(field, _)| !spec[field].is_null()) {
        return Err(format!("{PATH}.spec.{field}: {why}"));
    }
    if spec.get("restartPolicy").is_some_and(|policy| policy != "Always") {
        return Err(format!("{PATH}.spec.restartPolicy: pods of a Deployment support only Always; remove it"));
    }
    ["containers", "initContainers"].into_iter().try_for_each(|list| containers(spec, list))
}

fn labels(metadata: &PodMetadata) -> Result<(), String> {
    let reserved = |key: &&String| key.starts_with(RESERVED_PREFIX) || [NAME, INSTANCE, MANAGED_BY].contains(&&***key);
    if let Some(key) = metadata.labels.keys().find(reserved) {
        return Err(format!(
            "{PATH}.metadata.labels.{key}: reserved: the operator selects the pods by it; use another key"
        ));
    }
    let reserved = |key: &&String| key.starts_with(RESERVED_PREFIX) || ***key == *RESTARTED_AT;
    if let Some(key) = metadata.annotations.keys().find(reserved) {
        return Err(format!(
            "{PATH}.metadata.annotations.{key}: reserved for the operator; to restart pods, annotate the MyApp with {RESTARTED_AT}"
        ));
    }
    Ok(())
}

/// Checks containers: each needs a unique name, by which it is merged, and `spec.image` sets the application's image.
fn containers(spec: &Value, list: &str) -> Result<(), String> {
    let mut names = BTreeSet::new();
    for (at, container) in spec[list].as_array().into_iter().flatten().enumerate() {
        let path = format!("{PATH}.spec.{list}[{at}]");
        let Some(name) = container["name"].as_str().filter(|name| !name.is_empty()) else {
            return Err(format!("{path}.name: Required value: the application's container is named {CONTAINER}"));
        };
        if names.contains(&name) || (list == "initContainers" && name == CONTAINER) {
            return Err(format!("{path}.name: another container is named {name}"));
        }
        let image = !container["image"].is_null();
        match name == CONTAINER {
            true if image => return Err(format!("{path}.image: set the application's image in spec.image")),
            false if !image => return Err(format!("{path}.image: Required value: set the image of container {name}")),
            _ => names.insert(name),
        };
    }
    Ok(())
}
