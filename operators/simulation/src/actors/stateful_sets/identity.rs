//! The identity of a StatefulSet's pods: names, ordinals and revisions (kubernetes: `stateful_set_utils.go`).

use serde_json::Value;

use super::super::object::{name, namespace, number, text};

/// The API version and the kind of what owns the pods.
pub(super) const OWNER: (&str, &str) = ("apps/v1", "StatefulSet");
/// The label with the name of the pod.
pub(super) const POD_NAME: &str = "statefulset.kubernetes.io/pod-name";
/// The label with the ordinal of the pod.
pub(super) const POD_INDEX: &str = "apps.kubernetes.io/pod-index";
/// The label with the revision of the pod.
pub(super) const REVISION: &str = "controller-revision-hash";

/// The ordinal of a pod whose name is one of the set's, in its namespace.
pub(super) fn ordinal(set: &Value, pod: &Value) -> Option<i64> {
    let digits = name(pod).strip_prefix(name(set))?.strip_prefix('-')?;
    let is_number = !digits.is_empty() && digits.bytes().all(|digit| digit.is_ascii_digit());
    digits.parse().ok().filter(|_| is_number && namespace(pod) == namespace(set))
}

/// The name of the pod of an ordinal.
pub(super) fn pod_name(set: &Value, ordinal: i64) -> String {
    format!("{}-{ordinal}", name(set))
}

/// The ordinal of the first pod, and that after the last one.
pub(super) fn range(set: &Value) -> std::ops::Range<i64> {
    let start = number(&set["spec"]["ordinals"]["start"]);
    start..start + number(&set["spec"]["replicas"])
}

/// The revision of a pod.
pub(super) fn revision(pod: &Value) -> &str {
    text(&pod["metadata"]["labels"][REVISION])
}
