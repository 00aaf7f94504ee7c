//! Pure: the placement that a pod was created with, as its annotation records it.

use api::sample_db::Scheduling;
use runtime::projections::Pod;
use serde_json::json;

use super::names::fingerprint;

/// Annotation of the server's pods with the scheduling and security context of the spec that they were created from; label of a
/// trial's pod with a fingerprint of it.
pub(crate) const PLACEMENT: &str = "multi-operator.example.com/placement";

/// The scheduling and security context of the server's pod, in one line.
#[must_use]
pub(crate) fn placement(scheduling: &Scheduling) -> String {
    json!(scheduling).to_string()
}

/// The placement that a server's pod was created with; none for pods of earlier managers.
#[must_use]
pub(crate) fn recorded_placement(pod: &Pod) -> Option<Scheduling> {
    serde_json::from_str(pod.details.as_deref()?.annotations.get(PLACEMENT)?).ok()
}

/// A placement as a label value.
#[must_use]
pub(crate) fn placement_label(placement: &str) -> String {
    format!("{:016x}", fingerprint(placement))
}
