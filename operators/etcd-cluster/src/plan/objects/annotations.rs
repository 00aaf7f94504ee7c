//! Pure: the annotations of members' pods.

/// Annotation with the version that a member should run, as in the archived operator.
pub(in crate::plan) const VERSION: &str = "etcd.version";
/// Annotation with a fingerprint of the spec, without the version, for which the pod was created.
pub(in crate::plan) const TEMPLATE: &str = "multi-operator.example.com/template";
/// Annotation with a fingerprint of the parts of `spec.pod` that decide whether a pod starts.
pub(in crate::plan) const PLACEMENT: &str = "multi-operator.example.com/placement";
/// Annotation of pods of members that are about to be removed, so that the operator finishes the removal even after a restart.
/// Also a label of their PVCs: see [`crate::plan::list_of_one`].
pub(in crate::plan) const RETIRING: &str = "multi-operator.example.com/retiring";
/// Annotation with the number of restarts of etcd up to and including its last image change. Later ones are crashes.
pub(in crate::plan) const RESTARTS: &str = "multi-operator.example.com/restarts";
/// Annotation with the size of the member's volume for which its pod, and its limits, were created, in bytes.
pub(in crate::plan) const VOLUME: &str = "multi-operator.example.com/volume";
/// Annotation that earlier managers set instead: the quota of the member's database, in bytes, if it follows from the volume.
pub(in crate::plan) const QUOTA: &str = "multi-operator.example.com/quota";
