//! Pure: where a pod was meant to run, as its annotation records it.

use api::sample_db::Scheduling;
use runtime::projections::Pod;
use serde_json::json;

use super::names::fingerprint;

/// Annotation of the server's pods with where the spec had them run, and as what; and label of a trial's, with a fingerprint of it.
pub(crate) const PLACEMENT: &str = "multi-operator.example.com/placement";

/// Where the server's pod is to run, and as what, in one line.
#[must_use]
pub(crate) fn placement(scheduling: &Scheduling) -> String {
    json!(scheduling).to_string()
}

/// Where a pod of the server's was to run, and as what; nothing of those that earlier managers have made.
#[must_use]
pub(crate) fn placed(pod: &Pod) -> Option<Scheduling> {
    serde_json::from_str(pod.running.as_deref()?.annotations.get(PLACEMENT)?).ok()
}

/// A placement as the value of a label.
#[must_use]
pub(crate) fn mark(placement: &str) -> String {
    format!("{:016x}", fingerprint(placement))
}
