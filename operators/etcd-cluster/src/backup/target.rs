//! Pure: what a backup is taken of, and with which programs.

use api::etcd_backup::EtcdBackupReason;
use api::etcd_cluster::{DEFAULT_REPOSITORY, DEFAULT_VERSION};

use super::observed::BackupObserved;
use crate::EtcdCluster;
use crate::plan::{names, tls};
use crate::referenced::Referenced;

/// The members that are backed up, and the image with etcd's programs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct BackupTarget {
    /// The client URLs of the members.
    pub(super) endpoints: Vec<String>,
    /// The image.
    pub(super) image: String,
    /// The Secret with the client certificate, with TLS.
    pub(super) client_secret: Option<String>,
    /// The Secret with the password of root, if the cluster has one.
    pub(super) root_secret: Option<String>,
}

/// Why no backup can begin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct NoTarget {
    pub(super) reason: EtcdBackupReason,
    pub(super) message: String,
    /// Whether an administrator has to act.
    pub(super) stalled: bool,
}

/// The target of the next backup.
pub(super) fn of(observed: &BackupObserved) -> Result<BackupTarget, NoTarget> {
    let spec = &observed.backup.spec;
    let name = spec.cluster_ref.as_ref().map_or("", |of| of.name.as_str());
    let cluster = match &observed.cluster {
        Referenced::Nothing => None,
        Referenced::Found(cluster) => Some(&**cluster),
        Referenced::Missing => {
            let message = format!("the EtcdCluster {name} does not exist; the backup is taken once it does");
            return Err(NoTarget { reason: EtcdBackupReason::ClusterMissing, message, stalled: true });
        }
        Referenced::Unreadable(error) => {
            let message = format!("the EtcdCluster {name} cannot be read: {error}");
            return Err(NoTarget { reason: EtcdBackupReason::ClusterUnreadable, message, stalled: true });
        }
    };
    let endpoints = cluster.map_or_else(|| spec.etcd_endpoints.clone(), ready_members);
    if endpoints.is_empty() {
        let ready = cluster.and_then(|cluster| cluster.status.contract.condition(api::condition_type::READY));
        let why = ready.map_or_else(String::new, |ready| format!(": {}", ready.message));
        let message = format!("waiting until the EtcdCluster {name} has a ready member{why}");
        return Err(NoTarget { reason: EtcdBackupReason::ClusterNotReady, message, stalled: false });
    }
    let repository = spec.repository.as_deref().or(cluster.and_then(|cluster| cluster.spec.repository.as_deref()));
    let version = spec.version.as_deref().or(cluster.and_then(version));
    let (repository, version) = (repository.unwrap_or(DEFAULT_REPOSITORY), version.unwrap_or(DEFAULT_VERSION));
    let image = format!("{repository}:v{}", version.trim_start_matches('v'));
    let operator = || cluster.filter(|of| tls::server_secret(of).is_some()).and_then(tls::operator_secret);
    let client_secret = spec.client_tls_secret.as_deref().filter(|name| !name.is_empty()).or_else(operator);
    let root_secret = cluster.and_then(|of| of.spec.authentication.as_ref()).map(|of| of.root_secret.clone());
    Ok(BackupTarget { endpoints, image, client_secret: client_secret.map(str::to_owned), root_secret })
}

/// The version that all members have run: programs of a later one might write what the others cannot read.
fn version(cluster: &EtcdCluster) -> Option<&str> {
    cluster.status.current_version.as_deref().or(cluster.spec.version.as_deref())
}

fn ready_members(cluster: &EtcdCluster) -> Vec<String> {
    let mut members: Vec<&String> = cluster.status.members.ready.iter().collect();
    members.sort();
    members.into_iter().map(|member| names::client_url(cluster, member)).collect()
}
