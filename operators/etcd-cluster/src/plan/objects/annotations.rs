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
/// Annotation of members that use TLS among themselves, on pods and PVCs: the Secret with their certificate.
pub(in crate::plan) const PEER_SECRET: &str = "multi-operator.example.com/peer-secret";
/// Annotation of pods that serve clients with TLS: the Secret with the operator's client certificate.
pub(in crate::plan) const CLIENT_TLS: &str = "multi-operator.example.com/client-tls";
/// Annotation of such pods with a fingerprint of the authorities that they verify others by.
pub(in crate::plan) const AUTHORITIES: &str = "multi-operator.example.com/authorities";
/// Annotation that earlier managers set instead: the quota of the member's database, in bytes, if it follows from the volume.
pub(in crate::plan) const QUOTA: &str = "multi-operator.example.com/quota";
