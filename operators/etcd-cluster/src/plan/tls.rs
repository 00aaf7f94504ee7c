//! Pure: what a spec says about TLS.

use api::etcd_cluster::TlsPolicy;

use crate::EtcdCluster;

/// The Secret with the certificate for other members.
pub(crate) fn peer_secret(cluster: &EtcdCluster) -> Option<&str> {
    cluster.spec.tls.as_ref()?.peer_secret()
}

/// The Secret with the certificate for clients.
pub(crate) fn server_secret(cluster: &EtcdCluster) -> Option<&str> {
    cluster.spec.tls.as_ref()?.server_secret()
}

/// The Secret with the client certificate of the operator.
pub(crate) fn operator_secret(cluster: &EtcdCluster) -> Option<&str> {
    cluster.spec.tls.as_ref()?.operator_secret()
}

/// Whether members also serve clients without TLS.
pub(crate) fn allows_plaintext(cluster: &EtcdCluster) -> bool {
    cluster.spec.tls.as_ref().is_some_and(|tls| tls.allow_plaintext)
}

/// The policy, if it asks for TLS at all.
pub(super) fn policy(cluster: &EtcdCluster) -> Option<&TlsPolicy> {
    let asks = peer_secret(cluster).is_some() || server_secret(cluster).is_some();
    cluster.spec.tls.as_ref().filter(|_| asks)
}
