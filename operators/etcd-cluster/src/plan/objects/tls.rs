//! Pure: the volumes with the certificates of a member's pod, and where etcd listens.

use k8s_openapi::api::core::v1::{Volume, VolumeMount};
use runtime::pod::{optional_secret_volume, read_only_mount, secret_volume};

use super::ports::{CLIENT_PORT, PEER_PORT};
use crate::EtcdCluster;
use crate::plan::tls::{allows_plaintext, peer_secret, server_secret};

/// The directories, as in the archived operator.
const PEER_DIR: &str = "/etc/etcdtls/member/peer-tls";
const SERVER_DIR: &str = "/etc/etcdtls/member/server-tls";
const CLIENT_DIR: &str = "/etc/etcdtls/operator/etcd-tls";
/// The volumes, as in the archived operator.
const PEER_VOLUME: &str = "member-peer-tls";
const SERVER_VOLUME: &str = "member-server-tls";
const CLIENT_VOLUME: &str = "etcd-client-tls";

/// The directory with the certificate for other members.
pub(super) fn peer_dir(cluster: &EtcdCluster) -> Option<&'static str> {
    peer_secret(cluster).map(|_| PEER_DIR)
}

/// The directory with the certificate for clients.
pub(super) fn server_dir(cluster: &EtcdCluster) -> Option<&'static str> {
    server_secret(cluster).map(|_| SERVER_DIR)
}

/// etcd's flags for its listeners. At one port, etcd tells requests with TLS from those without.
pub(super) fn listeners(cluster: &EtcdCluster) -> [String; 2] {
    let peers = if peer_secret(cluster).is_some() { "https" } else { "http" };
    let clients: &[&str] = match (server_secret(cluster), allows_plaintext(cluster)) {
        (None, _) => &["http"],
        (Some(_), false) => &["https"],
        (Some(_), true) => &["https", "http"],
    };
    let clients: Vec<String> = clients.iter().map(|scheme| format!("{scheme}://0.0.0.0:{CLIENT_PORT}")).collect();
    [format!("--listen-peer-urls={peers}://0.0.0.0:{PEER_PORT}"), format!("--listen-client-urls={}", clients.join(","))]
}

/// The volumes.
pub(super) fn volumes(cluster: &EtcdCluster) -> Vec<Volume> {
    let peer = peer_secret(cluster).map(|secret| secret_volume(PEER_VOLUME, secret));
    let server = server_secret(cluster).map(|secret| secret_volume(SERVER_VOLUME, secret));
    peer.into_iter().chain(server).collect()
}

/// The mounts.
pub(super) fn mounts(cluster: &EtcdCluster) -> Vec<VolumeMount> {
    let peer = peer_dir(cluster).map(|directory| read_only_mount(PEER_VOLUME, directory));
    peer.into_iter().chain(server_dir(cluster).map(|directory| read_only_mount(SERVER_VOLUME, directory))).collect()
}

/// The volume with the certificate of a client, its mount, and the directory.
pub(crate) fn client_tls(secret: &str) -> (Volume, VolumeMount, &'static str) {
    (optional_secret_volume(CLIENT_VOLUME, secret, &[]), read_only_mount(CLIENT_VOLUME, CLIENT_DIR), CLIENT_DIR)
}
