//! What of pods the administrator lets MyApps override.

use api::my_app::PodMetadata;
use serde_json::Value;

use super::{Limit, PATH, Refusal};

/// The fields of pods by which the scheduler places them, and by which a node's runtime is chosen among those that the cluster
/// offers. None changes what a container may do.
const PLACEMENT: [&str; 7] = [
    "affinity",
    "nodeSelector",
    "tolerations",
    "topologySpreadConstraints",
    "priorityClassName",
    "runtimeClassName",
    "schedulerName",
];

/// By these annotations Kubernetes itself loosens what confines a container.
const CONFINING: [&str; 2] =
    ["container.apparmor.security.beta.kubernetes.io/", "seccomp.security.alpha.kubernetes.io/"];

/// Whether all of these overrides are within the limit; else a sentence.
pub(super) fn check(metadata: &PodMetadata, spec: &Value, limit: Limit) -> Result<(), Refusal> {
    let forbidden = |path: String, taken: String| {
        Err(Refusal {
            reason: "PodOverridesNotAllowed",
            message: format!("{path} is not allowed: {taken}; ask whoever runs the manager, or leave it out"),
        })
    };
    match limit {
        Limit::All => Ok(()),
        Limit::None => forbidden(PATH.to_owned(), "this manager takes none (--pod-overrides=none)".to_owned()),
        Limit::Placement => {
            let mut fields = spec.as_object().into_iter().flat_map(|fields| fields.keys());
            let field = fields.find(|field| !PLACEMENT.contains(&&***field));
            let confines = |key: &&String| CONFINING.iter().any(|prefix| key.starts_with(prefix));
            let annotation = metadata.annotations.keys().find(confines);
            let path = match (field, annotation) {
                (Some(field), _) => format!("{PATH}.spec.{field}"),
                (None, Some(key)) => format!("{PATH}.metadata.annotations.{key}"),
                (None, None) => return Ok(()),
            };
            let taken = format!(
                "of the fields of a pod, this manager takes {} (--pod-overrides=placement)",
                PLACEMENT.join(", ")
            );
            forbidden(path, taken)
        }
    }
}
