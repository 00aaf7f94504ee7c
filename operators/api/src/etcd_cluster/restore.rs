//! The snapshot that a new cluster begins with, and how a cluster begins again from one.

use jiff::Timestamp;
use kube::KubeSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::s3::S3Location;
use crate::store::{AbsLocation, GcsLocation, OssLocation, StoreLocation};

/// Snapshot that a new cluster begins with.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = Rule::new(
    "has(self.claimName) == has(self.file) && \
     [has(self.claimName), has(self.s3), has(self.abs), has(self.gcs), has(self.oss)].filter(one, one).size() == 1"
).message("set either one of restore.s3, restore.abs, restore.gcs and restore.oss, or restore.claimName and restore.file"))]
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

    /// Snapshot in Azure Blob Storage.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub abs: Option<AbsLocation>,

    /// Snapshot in Google Cloud Storage.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gcs: Option<GcsLocation>,

    /// Snapshot in Alibaba Cloud OSS.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub oss: Option<OssLocation>,

    /// SHA-256 that the file must have, in hexadecimal. Default: the one in the description next to a snapshot of an
    /// EtcdBackup; other snapshots are checked by etcd's own checksum only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 64))]
    #[x_kube(validation = Rule::new("self.matches('^[0-9a-f]{64}$')")
        .message("restore.sha256 must be 64 hexadecimal digits in lower case"))]
    pub sha256: Option<String>,
}

impl EtcdRestoreSource {
    /// Where the snapshot is, if it is in an object store.
    #[must_use]
    pub fn store(&self) -> Option<StoreLocation<'_>> {
        StoreLocation::of(self.s3.as_ref(), self.abs.as_ref(), self.gcs.as_ref(), self.oss.as_ref())
    }

    /// Bucket and key, if it is in an object store.
    pub(crate) fn path_mut(&mut self) -> Option<&mut String> {
        let (s3, abs) = (self.s3.as_mut().map(|at| &mut at.path), self.abs.as_mut().map(|at| &mut at.path));
        let (gcs, oss) = (self.gcs.as_mut().map(|at| &mut at.path), self.oss.as_mut().map(|at| &mut at.path));
        s3.or(abs).or(gcs).or(oss)
    }
}

/// The last EtcdRestore of the cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EtcdRestoreProgress {
    /// Name of the EtcdRestore.
    pub name: String,
    /// Its UID. The volumes of the members that were stopped have it in the label `multi-operator.example.com/replaced-by`.
    pub uid: String,
    /// etcd's ID of the cluster before, in hexadecimal.
    #[serde(default, rename = "previousClusterID", skip_serializing_if = "Option::is_none")]
    pub previous_cluster_id: Option<String>,
    /// How far it has come.
    #[serde(default)]
    pub stage: RestoreStage,
    /// When the operator began to stop the members.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>", extend("format" = crate::ISO_SECONDS))]
    pub started_at: Option<Timestamp>,
    /// When it ended; absent while it is under way.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>", extend("format" = crate::ISO_SECONDS))]
    pub ended_at: Option<Timestamp>,
    /// How it ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<RestoreOutcome>,
}

/// How far a restore has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum RestoreStage {
    /// The pods of all members are being deleted.
    #[default]
    Stopping,
    /// The volumes of the stopped members are being retired, so that no member starts on them.
    Keeping,
    /// A first member begins from the snapshot.
    Beginning,
}

/// How a restore ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum RestoreOutcome {
    /// The cluster began again from the snapshot.
    Restored,
    /// The EtcdRestore was deleted first, and the cluster returned to its earlier volumes.
    Canceled,
}
