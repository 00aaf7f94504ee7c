//! EtcdRestore: begins an EtcdCluster again from a snapshot.
//!
//! The kind has the fields of the archived coreos/etcd-operator under their exact keys, as far as they are supported.

use kube::{CustomResource, KubeSchema};
use serde::{Deserialize, Serialize};

use crate::etcd_backup::{ClusterRef, StorageType};
use crate::etcd_cluster::EtcdRestoreSource;
use crate::s3::S3Location;
use crate::store::{AbsLocation, GcsLocation, OssLocation};

mod reason;
mod status;

pub use reason::EtcdRestoreReason;
pub use status::{EtcdRestorePhase, EtcdRestoreStatus, ResolvedBackup, VerifiedSnapshot};

/// A restore of an EtcdCluster from a snapshot.
#[derive(CustomResource, KubeSchema, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[kube(
    group = "etcd.database.coreos.com",
    version = "v1beta2",
    kind = "EtcdRestore",
    plural = "etcdrestores",
    namespaced,
    status = "EtcdRestoreStatus",
    printcolumn(name = "Cluster", type_ = "string", json_path = ".spec.etcdCluster.name"),
    printcolumn(name = "Phase", type_ = "string", json_path = ".status.phase"),
    printcolumn(name = "Ready", type_ = "string", json_path = ".status.conditions[?(@.type==\"Ready\")].status"),
    printcolumn(name = "Reason", type_ = "string", json_path = ".status.conditions[?(@.type==\"Ready\")].reason"),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp"),
    printcolumn(
        name = "Message",
        type_ = "string",
        json_path = ".status.conditions[?(@.type==\"Ready\")].message",
        priority = 1
    ),
    validation = Rule::new("self.metadata.name.matches('^[a-z]([-a-z0-9]{0,50}[a-z0-9])?$')").message(
        "metadata.name must be 1 to 52 lower-case letters, digits or '-', start with a letter and end with a letter or \
         digit: a Job is named after it"
    ),
    doc = "An EtcdRestore begins an EtcdCluster again from a snapshot, once the snapshot is verified."
)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = Rule::new(
    "has(self.etcdBackup) ? ![has(self.pvc), has(self.s3), has(self.abs), has(self.gcs), has(self.oss)].exists(one, one) && \
     self.?backupStorageType.orValue('PVC') == 'PVC' : \
     has(self.pvc) == (self.?backupStorageType.orValue('PVC') == 'PVC') && has(self.s3) == (self.?backupStorageType.orValue('') == 'S3') && \
     has(self.abs) == (self.?backupStorageType.orValue('') == 'ABS') && has(self.gcs) == (self.?backupStorageType.orValue('') == 'GCS') && \
     has(self.oss) == (self.?backupStorageType.orValue('') == 'OSS')"
).message(
    "set either spec.etcdBackup, or the field of spec.backupStorageType and no other: spec.pvc for PVC, which is the default, spec.s3 for \
     S3, and in the same way spec.abs, spec.gcs and spec.oss"
))]
#[x_kube(validation = Rule::new("self.etcdCluster == oldSelf.etcdCluster")
    .message("spec.etcdCluster cannot be changed: create another EtcdRestore"))]
pub struct EtcdRestoreSpec {
    /// EtcdCluster in the same namespace that begins again.
    pub etcd_cluster: ClusterRef,

    /// EtcdBackup in the same namespace that took the snapshot, in place of the fields that say where it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub etcd_backup: Option<BackupRef>,

    /// Where the snapshot is, unless etcdBackup says so: PVC, S3, ABS, GCS or OSS. Default: PVC.
    #[serde(default)]
    pub backup_storage_type: StorageType,

    /// Volume with the snapshot, for backupStorageType PVC.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pvc: Option<SnapshotFile>,

    /// Object store with the snapshot, for backupStorageType S3: `path` is the snapshot itself, as `status.backups[].path` of an
    /// EtcdBackup has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub s3: Option<S3Location>,

    /// Azure Blob Storage with the snapshot, for backupStorageType ABS.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub abs: Option<AbsLocation>,

    /// Google Cloud Storage with the snapshot, for backupStorageType GCS.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gcs: Option<GcsLocation>,

    /// Alibaba Cloud OSS with the snapshot, for backupStorageType OSS.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub oss: Option<OssLocation>,

    /// SHA-256 that the snapshot must have, in hexadecimal. Default: the one in the description next to a snapshot of an
    /// EtcdBackup.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 64))]
    #[x_kube(validation = Rule::new("self.matches('^[0-9a-f]{64}$')")
        .message("spec.sha256 must be 64 hexadecimal digits in lower case"))]
    pub sha256: Option<String>,

    /// Consent for a cluster that exists: its `status.clusterID`. Its members are stopped, and the cluster begins again from the
    /// snapshot, without what was written since. The volumes of the stopped members stay. Default: none, so only a cluster without
    /// data begins. The restored cluster has another ID, so nothing that creates this object again restores it again.
    #[serde(default, rename = "replaceClusterID", skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 16))]
    #[x_kube(validation = Rule::new("self.matches('^[0-9a-f]{1,16}$')")
        .message("spec.replaceClusterID must be the status.clusterID of the EtcdCluster that is to be replaced, in hexadecimal"))]
    pub replace_cluster_id: Option<String>,

    /// Resources of the container that verifies the snapshot. Default: requests of 50m CPU and 128Mi of memory, and no limits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resources: Option<crate::my_app::Resources>,
}

impl EtcdRestoreSpec {
    /// The snapshot, as the members' pods get it; none as long as the status of this generation does not say which backup it is.
    #[must_use]
    pub fn source(&self, status: &EtcdRestoreStatus, generation: i64) -> Option<EtcdRestoreSource> {
        if self.etcd_backup.is_some() {
            let resolved = status.backup.as_ref().filter(|backup| backup.generation == generation)?;
            return Some(resolved.source.clone());
        }
        Some(EtcdRestoreSource {
            claim_name: self.pvc.as_ref().map(|pvc| pvc.claim_name.clone()),
            file: self.pvc.as_ref().map(|pvc| pvc.file.clone()),
            s3: self.s3.clone(),
            abs: self.abs.clone(),
            gcs: self.gcs.clone(),
            oss: self.oss.clone(),
            sha256: self.sha256.clone(),
        })
    }
}

/// A backup of an EtcdBackup in the same namespace.
#[derive(KubeSchema, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BackupRef {
    /// Name of the EtcdBackup.
    #[schemars(length(min = 1, max = 46))]
    pub name: String,

    /// Which of its backups: one of `status.backups[].name`. Default: the newest one, at the time of the verification.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 253))]
    pub backup: Option<String>,
}

/// A snapshot on a volume.
#[derive(KubeSchema, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SnapshotFile {
    /// PVC in the same namespace.
    #[schemars(length(min = 1, max = 253))]
    #[x_kube(validation = Rule::new("self.matches('^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$')")
        .message("spec.pvc.claimName must be the name of a PersistentVolumeClaim in the same namespace"))]
    pub claim_name: String,

    /// Snapshot on that volume, such as `nightly/nightly-20261129-030000.db`.
    #[schemars(length(min = 1, max = 400))]
    #[x_kube(validation = Rule::new("self.matches('^[a-zA-Z0-9_][-a-zA-Z0-9_.]*(/[a-zA-Z0-9_][-a-zA-Z0-9_.]*)*$')").message(
        "spec.pvc.file must be the path of a file on the volume, such as nightly/nightly-20261129-030000.db: relative, and \
         no part begins with '.'"
    ))]
    pub file: String,
}
