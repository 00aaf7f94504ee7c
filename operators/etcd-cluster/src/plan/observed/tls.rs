//! Pure: what is known of the certificates of a cluster. Pure data.

use crate::plan::Explanation;

/// What is known of the Secrets of `spec.TLS`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ObservedTls {
    /// The part of `spec.TLS` that is refused. No pod is replaced for the spec meanwhile.
    pub refusal: Option<Explanation>,
    /// Why the Secrets cannot be used: no pod is created with them that need not be.
    pub unusable: Option<Explanation>,
    /// A fingerprint of the authorities that members verify others by; none while that is unknown. etcd reads them at its start
    /// only, and the certificates for each connection.
    pub authorities: Option<String>,
}
