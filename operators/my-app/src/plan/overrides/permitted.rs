//! Pure: what of pods the administrator lets MyApps override.

use api::my_app::{MyAppReason, PodMetadata};
use serde_json::{Map, Value};

use super::limit::Limit;
use super::rejection::{PATH, Rejection};

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

/// Refuses all overrides if the limit is `None`.
pub(super) fn check_enabled(limit: Limit) -> Result<(), Rejection> {
    match limit {
        Limit::All | Limit::Placement => Ok(()),
        Limit::None => Err(forbidden(PATH, "the manager allows no overrides (--pod-overrides=none)")),
    }
}

/// Refuses overrides that are not within the limit, by the names of their fields; of `None`, [`check_enabled`] has refused them all.
pub(super) fn check_fields(metadata: &PodMetadata, fields: &Map<String, Value>, limit: Limit) -> Result<(), Rejection> {
    if limit != Limit::Placement {
        return Ok(());
    }
    let field = fields.keys().find(|field| !PLACEMENT.contains(&&***field));
    let confines = |key: &&String| CONFINING.iter().any(|prefix| key.starts_with(prefix));
    let annotation = metadata.annotations.keys().find(confines);
    let path = match (field, annotation) {
        (Some(field), _) => format!("{PATH}.spec.{field}"),
        (None, Some(key)) => format!("{PATH}.metadata.annotations.{key}"),
        (None, None) => return Ok(()),
    };
    let taken = format!("the manager allows only {} (--pod-overrides=placement)", PLACEMENT.join(", "));
    Err(forbidden(&path, &taken))
}

fn forbidden(path: &str, taken: &str) -> Rejection {
    let message = format!("{path} is not allowed: {taken}; remove it, or ask the administrator of the manager");
    Rejection { reason: MyAppReason::PodOverridesNotAllowed, message }
}
