//! Pure: the annotations of members' pods.

/// Annotation with the version that a member should run, as the old operator set it.
pub(in crate::plan) const VERSION: &str = "etcd.version";
/// Annotation with a fingerprint of what the spec said of pods when this one was made, its version apart.
pub(in crate::plan) const TEMPLATE: &str = "multi-operator.example.com/template";
/// Annotation with a fingerprint of what the spec said of pods alone, by which a pod starts or does not.
pub(in crate::plan) const PLACEMENT: &str = "multi-operator.example.com/placement";
/// Annotation of pods of members that are about to be removed: so the removal is carried through, whatever comes between. Also a label
/// of their claims: see [`crate::plan::anew`].
pub(in crate::plan) const RETIRING: &str = "multi-operator.example.com/retiring";
/// Annotation with how often etcd had been started again when its image was changed, that change included: what comes
/// beyond it are crashes.
pub(in crate::plan) const RESTARTS: &str = "multi-operator.example.com/restarts";
/// Annotation with how large the member's volume was when its pod was made, in bytes: what its limits were planned by.
pub(in crate::plan) const VOLUME: &str = "multi-operator.example.com/volume";
/// Annotation that earlier managers set in its stead: how large the member's database may grow, in bytes, where its volume
/// decides that.
pub(in crate::plan) const QUOTA: &str = "multi-operator.example.com/quota";
