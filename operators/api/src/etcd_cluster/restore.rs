//! The snapshot that a new cluster begins with.

use kube::KubeSchema;
use serde::{Deserialize, Serialize};

use crate::s3::S3Location;

/// Snapshot that a new cluster begins with.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = Rule::new("has(self.s3) ? !has(self.claimName) && !has(self.file) : has(self.claimName) && has(self.file)")
    .message("set either restore.s3, or restore.claimName and restore.file"))]
pub struct EtcdRestoreSource {
    /// PVC with the snapshot, in the same namespace. The first member mounts it, read-only, until the cluster exists.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 253))]
    #[x_kube(validation = Rule::new("self.matches('^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$')")
        .message("restore.claimName must be the name of a PersistentVolumeClaim in the same namespace"))]
    pub claim_name: Option<String>,

    /// Snapshot on that volume, as `etcdctl snapshot save` or an EtcdBackup writes it, such as
    /// `nightly/nightly-20261129-030000.db`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 400))]
    #[x_kube(validation = Rule::new("self.matches('^[a-zA-Z0-9_][-a-zA-Z0-9_.]*(/[a-zA-Z0-9_][-a-zA-Z0-9_.]*)*$')").message(
        "restore.file must be the path of a file on the volume, such as nightly/nightly-20261129-030000.db: relative, and \
         no part begins with '.'"
    ))]
    pub file: Option<String>,

    /// Object store with the snapshot: `path` is the snapshot itself, as `status.backups[].path` of an EtcdBackup has it. The first
    /// member downloads it to an emptyDir volume.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub s3: Option<S3Location>,

    /// SHA-256 that the file must have, in hexadecimal. Default: the one in the description next to a snapshot of an
    /// EtcdBackup; other snapshots are checked by etcd's own checksum only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 64))]
    #[x_kube(validation = Rule::new("self.matches('^[0-9a-f]{64}$')")
        .message("restore.sha256 must be 64 hexadecimal digits in lower case"))]
    pub sha256: Option<String>,
}
