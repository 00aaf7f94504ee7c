//! The snapshot that a new cluster begins with.

use kube::KubeSchema;
use serde::{Deserialize, Serialize};

/// Snapshot that a new cluster begins with.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct EtcdRestoreSource {
    /// PVC with the snapshot, in the same namespace. The first member mounts it, read-only, until the cluster exists.
    #[schemars(length(min = 1, max = 253))]
    #[x_kube(validation = Rule::new("self.matches('^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$')")
        .message("restore.claimName must be the name of a PersistentVolumeClaim in the same namespace"))]
    pub claim_name: String,

    /// Snapshot on that volume, as `etcdctl snapshot save` or an EtcdBackup writes it, such as
    /// `nightly/nightly-20261129-030000.db`.
    #[schemars(length(min = 1, max = 400))]
    #[x_kube(validation = Rule::new("self.matches('^[a-zA-Z0-9_][-a-zA-Z0-9_.]*(/[a-zA-Z0-9_][-a-zA-Z0-9_.]*)*$')").message(
        "restore.file must be the path of a file on the volume, such as nightly/nightly-20261129-030000.db: relative, and \
         no part begins with '.'"
    ))]
    pub file: String,

    /// SHA-256 that the file must have, in hexadecimal. Default: the one in the description next to a snapshot of an
    /// EtcdBackup; other snapshots are checked by etcd's own checksum only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 64))]
    #[x_kube(validation = Rule::new("self.matches('^[0-9a-f]{64}$')")
        .message("restore.sha256 must be 64 hexadecimal digits in lower case"))]
    pub sha256: Option<String>,
}
