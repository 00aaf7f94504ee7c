//! Pure: whether the administrator permits the overrides of a MyApp.

use api::my_app::{MyAppReason, PodMetadata};
use serde_json::{Map, Value};

use super::limit::OverrideLimit;
use super::rejection::{PATH, Rejection};

/// The fields of pods that the scheduler uses to place them, and the one that selects a container runtime of the cluster. None changes
/// what a container may do.
const PLACEMENT: [&str; 7] = [
    "affinity",
    "nodeSelector",
    "tolerations",
    "topologySpreadConstraints",
    "priorityClassName",
    "runtimeClassName",
    "schedulerName",
];

/// Prefixes of annotations with which Kubernetes reduces the isolation of a container.
const ISOLATION: [&str; 2] =
    ["container.apparmor.security.beta.kubernetes.io/", "seccomp.security.alpha.kubernetes.io/"];

/// Rejects all overrides if the limit is `None`.
pub(super) fn check_enabled(limit: OverrideLimit) -> Result<(), Rejection> {
    match limit {
        OverrideLimit::All | OverrideLimit::Placement => Ok(()),
        OverrideLimit::None => Err(forbidden(PATH, "the manager allows no overrides (--pod-overrides=none)")),
    }
}

/// Rejects overrides beyond the limit, by the names of their fields. The limit `None` is the subject of [`check_enabled`].
pub(super) fn check_fields(
    metadata: &PodMetadata,
    fields: &Map<String, Value>,
    limit: OverrideLimit,
) -> Result<(), Rejection> {
    if limit != OverrideLimit::Placement {
        return Ok(());
    }
    let field = fields.keys().find(|field| !PLACEMENT.contains(&&***field));
    let changes_isolation = |key: &&String| ISOLATION.iter().any(|prefix| key.starts_with(prefix));
    let annotation = metadata.annotations.keys().find(changes_isolation);
    let path = match (field, annotation) {
        (Some(field), _) => format!("{PATH}.spec.{field}"),
        (None, Some(key)) => format!("{PATH}.metadata.annotations.{key}"),
        (None, None) => return Ok(()),
    };
    let permitted = format!("the manager allows only {} (--pod-overrides=placement)", PLACEMENT.join(", "));
    Err(forbidden(&path, &permitted))
}

fn forbidden(path: &str, permitted: &str) -> Rejection {
    let message = format!("{path} is not allowed: {permitted}; remove it, or ask the administrator of the manager");
    Rejection { reason: MyAppReason::PodOverridesNotAllowed, message }
}
