//! EtcdBackup: backups of an etcd cluster, once or by a schedule.
//!
//! The kind has the fields of the archived coreos/etcd-operator under their exact keys, as far as they are supported.

use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::etcd_cluster::EtcdRestoreSource;
use crate::s3::S3Location;
use crate::store::{AbsLocation, GcsLocation, OssLocation, StoreLocation};

mod reason;
mod status;

pub use reason::EtcdBackupReason;
pub use status::{BackupVerification, EtcdBackupEntry, EtcdBackupRun, EtcdBackupStatus};

/// The annotation that requests a backup now: one for each new value.
pub const BACKUP_NOW: &str = "example.com/backup-now";

/// The default of `backupPolicy.timeoutInSecond`.
pub const DEFAULT_TIMEOUT_SECONDS: i64 = 600;

/// Backups to take.
#[derive(CustomResource, KubeSchema, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[kube(
    group = "etcd.database.coreos.com",
    version = "v1beta2",
    kind = "EtcdBackup",
    plural = "etcdbackups",
    namespaced,
    status = "EtcdBackupStatus",
    printcolumn(name = "Cluster", type_ = "string", json_path = ".spec.clusterRef.name"),
    printcolumn(name = "Schedule", type_ = "string", json_path = ".spec.schedule"),
    printcolumn(name = "Backups", type_ = "integer", json_path = ".status.count"),
    printcolumn(name = "Last success", type_ = "date", json_path = ".status.lastSuccessDate"),
    printcolumn(name = "Ready", type_ = "string", json_path = ".status.conditions[?(@.type==\"Ready\")].status"),
    printcolumn(name = "Reason", type_ = "string", json_path = ".status.conditions[?(@.type==\"Ready\")].reason"),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp"),
    printcolumn(
        name = "Message",
        type_ = "string",
        json_path = ".status.conditions[?(@.type==\"Ready\")].message",
        priority = 1
    ),
    validation = Rule::new("self.metadata.name.matches('^[a-z]([-a-z0-9]{0,44}[a-z0-9])?$')").message(
        "metadata.name must be 1 to 46 lower-case letters, digits or '-', start with a letter and end with a letter or \
         digit: Jobs and backups are named after it"
    ),
    doc = "An EtcdBackup takes backups of an etcd cluster, once or by a schedule, and verifies each by restoring it."
)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = Rule::new(
    "has(self.clusterRef) != (has(self.etcdEndpoints) && size(self.etcdEndpoints) > 0)"
).message("set either spec.clusterRef, an EtcdCluster in the same namespace, or spec.etcdEndpoints"))]
#[x_kube(validation = Rule::new(
    "!has(self.schedule) || !has(self.backupPolicy) || self.backupPolicy.?backupIntervalInSecond.orValue(0) <= 0"
).message("spec.schedule and spec.backupPolicy.backupIntervalInSecond both say when: set one of them"))]
#[x_kube(validation = Rule::new(
    "has(self.pvc) == (self.?storageType.orValue('PVC') == 'PVC') && has(self.s3) == (self.?storageType.orValue('') == 'S3') && \
     has(self.abs) == (self.?storageType.orValue('') == 'ABS') && has(self.gcs) == (self.?storageType.orValue('') == 'GCS') && \
     has(self.oss) == (self.?storageType.orValue('') == 'OSS')"
).message(
    "set the field of spec.storageType and no other: spec.pvc for PVC, which is the default, spec.s3 for S3, and in the same way \
     spec.abs, spec.gcs and spec.oss"
))]
#[x_kube(validation = Rule::new(
    "!has(self.etcdEndpoints) || !self.etcdEndpoints.exists(u, u.startsWith('https://')) || self.?clientTLSSecret.orValue('') != ''"
).message("spec.etcdEndpoints with https:// need spec.clientTLSSecret, the Secret with the client certificate"))]
#[x_kube(validation = Rule::new("!has(self.timeZone) || has(self.schedule)")
    .message("spec.timeZone needs spec.schedule"))]
pub struct EtcdBackupSpec {
    /// EtcdCluster to back up. The operator finds its members, and uses the image of its version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster_ref: Option<ClusterRef>,

    /// Client URLs of the members of a cluster that is no EtcdCluster, such as `https://etcd-0.etcd:2379`. One that does not
    /// answer does no harm.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 16), inner(length(max = 512)))]
    #[x_kube(validation = Rule::new("self.all(u, u.matches('^https?://[-a-zA-Z0-9.:\\\\[\\\\]]+$'))").message(
        "spec.etcdEndpoints must be URLs like http://etcd-0.etcd:2379 or https://etcd-0.etcd:2379"
    ))]
    pub etcd_endpoints: Vec<String>,

    /// Secret with the client certificate for members with TLS: etcd-client.crt, etcd-client.key and etcd-client-ca.crt, or
    /// tls.crt, tls.key and ca.crt. Default: the operatorSecret of the EtcdCluster.
    #[serde(default, rename = "clientTLSSecret", skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 253))]
    pub client_tls_secret: Option<String>,

    /// Version of etcd whose programs take and restore the backup, such as `3.5.35`: that of the cluster. Default: the
    /// version of the EtcdCluster; with `etcdEndpoints`, a current one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 64))]
    #[x_kube(validation = Rule::new(crate::etcd_cluster::VERSION).message(
        "version must be a full etcd version, such as 3.6.16, v3.6.16 or 3.7.0-rc.0"
    ))]
    pub version: Option<String>,

    /// Image of etcd without its tag, which is `v<version>`. Default: that of the EtcdCluster; with `etcdEndpoints`,
    /// quay.io/coreos/etcd.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 384))]
    #[x_kube(validation = Rule::new(crate::etcd_cluster::REPOSITORY).message(
        "repository must be an image's name without tag or digest, such as quay.io/coreos/etcd: the tag is v<version>"
    ))]
    pub repository: Option<String>,

    /// Where backups are stored: PVC, S3, ABS, GCS or OSS. Default: PVC.
    #[serde(default)]
    pub storage_type: StorageType,

    /// Volume with the backups, for storageType PVC.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pvc: Option<PvcTarget>,

    /// Object store with the backups, for storageType S3. A single backup is the object of `path` itself; the others have
    /// `_v<revision>_<name>` appended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub s3: Option<S3Location>,

    /// Azure Blob Storage with the backups, for storageType ABS: objects as in s3.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub abs: Option<AbsLocation>,

    /// Google Cloud Storage with the backups, for storageType GCS: objects as in s3.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gcs: Option<GcsLocation>,

    /// Alibaba Cloud OSS with the backups, for storageType OSS: objects as in s3.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub oss: Option<OssLocation>,

    /// When to take backups: five cron fields, such as `0 3 * * *`. Default: one backup, now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 9, max = 100))]
    pub schedule: Option<String>,

    /// Time zone of the schedule, such as `Europe/Berlin`. Default: Etc/UTC.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 64))]
    pub time_zone: Option<String>,

    /// Whether no further backup begins. Default: false.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub suspend: bool,

    /// When to take backups in other ways, how many to keep, and how long one may take.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backup_policy: Option<BackupPolicy>,

    /// Resources of the Job's containers. Default: requests of 50m CPU and 128Mi of memory, and no limits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resources: Option<crate::my_app::Resources>,
}

impl EtcdBackupSpec {
    /// Where the backups are, if they are in an object store.
    #[must_use]
    pub fn store(&self) -> Option<StoreLocation<'_>> {
        StoreLocation::of(self.s3.as_ref(), self.abs.as_ref(), self.gcs.as_ref(), self.oss.as_ref())
    }

    /// The snapshot of a backup that the EtcdBackup of this name took, as a cluster begins with it; none if the status does not say
    /// where it is.
    #[must_use]
    pub fn source_of(&self, name: &str, backup: &EtcdBackupEntry) -> Option<EtcdRestoreSource> {
        let mut source = EtcdRestoreSource {
            s3: self.s3.clone(),
            abs: self.abs.clone(),
            gcs: self.gcs.clone(),
            oss: self.oss.clone(),
            sha256: Some(backup.sha256.clone()).filter(|sum| !sum.is_empty()),
            ..EtcdRestoreSource::default()
        };
        if let Some(pvc) = &self.pvc {
            source.claim_name = Some(pvc.claim_name.clone());
            source.file = Some(format!("{}/{}.db", pvc.path.as_deref().unwrap_or(name), backup.name));
            return Some(source);
        }
        source.path_mut()?.clone_from(backup.path.as_ref()?);
        Some(source)
    }

    /// How many seconds the transfer of a snapshot may take.
    #[must_use]
    pub fn timeout_seconds(&self) -> i64 {
        let given = self.backup_policy.as_ref().map_or(0, |policy| policy.timeout_in_second);
        if given > 0 { given } else { DEFAULT_TIMEOUT_SECONDS }
    }

    /// The seconds between two backups, if they are taken by interval.
    #[must_use]
    pub fn interval_seconds(&self) -> Option<i64> {
        self.backup_policy.as_ref().map(|policy| policy.backup_interval_in_second).filter(|seconds| *seconds > 0)
    }

    /// How many backups to keep, if that is limited.
    #[must_use]
    pub fn max_backups(&self) -> Option<u32> {
        let most = self.backup_policy.as_ref().map_or(0, |policy| policy.max_backups);
        u32::try_from(most).ok().filter(|most| *most > 0)
    }

    /// For how many seconds to keep backups, if that is limited.
    #[must_use]
    pub fn max_age_seconds(&self) -> Option<u64> {
        let age = self.backup_policy.as_ref().map_or(0, |policy| policy.max_age_in_second);
        u64::try_from(age).ok().filter(|age| *age > 0)
    }
}

/// An EtcdCluster in the same namespace.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ClusterRef {
    /// Name of the EtcdCluster.
    #[schemars(length(min = 1, max = 52))]
    pub name: String,
}

/// Where backups are stored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum StorageType {
    /// A PersistentVolumeClaim.
    #[default]
    #[serde(rename = "PVC")]
    Pvc,
    /// A bucket of an object store with S3's API.
    S3,
    /// A container of Azure Blob Storage.
    #[serde(rename = "ABS")]
    Abs,
    /// A bucket of Google Cloud Storage.
    #[serde(rename = "GCS")]
    Gcs,
    /// A bucket of Alibaba Cloud OSS.
    #[serde(rename = "OSS")]
    Oss,
}

/// A volume with backups.
#[derive(KubeSchema, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PvcTarget {
    /// PVC in the same namespace, which the user creates.
    #[schemars(length(min = 1, max = 253))]
    #[x_kube(validation = Rule::new("self.matches('^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$')")
        .message("spec.pvc.claimName must be the name of a PersistentVolumeClaim in the same namespace"))]
    pub claim_name: String,

    /// Directory within the volume. Default: the name of the EtcdBackup.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 200))]
    #[x_kube(validation = Rule::new("self.matches('^[a-zA-Z0-9_][-a-zA-Z0-9_.]*(/[a-zA-Z0-9_][-a-zA-Z0-9_.]*)*$')").message(
        "spec.pvc.path must be a relative directory, such as etcd/backups: no part begins with '.'"
    ))]
    pub path: Option<String>,
}

/// When to take backups, how many to keep, and how long one may take.
#[derive(KubeSchema, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BackupPolicy {
    /// How many seconds the transfer of the snapshot may take. Default: 600.
    #[serde(default, skip_serializing_if = "is_zero")]
    #[schemars(range(min = 0, max = 86_400))]
    pub timeout_in_second: i64,

    /// Seconds between two backups, at least 30. Default: 0, which is one backup, now.
    #[serde(default, skip_serializing_if = "is_zero")]
    #[schemars(range(min = 0, max = 31_536_000))]
    #[x_kube(validation = Rule::new("self == 0 || self >= 30")
        .message("backupIntervalInSecond must be 0 or at least 30: each backup is verified before the next one begins"))]
    pub backup_interval_in_second: i64,

    /// How many backups to keep; the operator removes older ones once a new one is verified. Default: 0, which is all.
    #[serde(default, skip_serializing_if = "is_zero")]
    #[schemars(range(min = 0, max = 10_000))]
    pub max_backups: i64,

    /// For how many seconds to keep a backup; the newest one stays. Default: 0, which is forever.
    #[serde(default, skip_serializing_if = "is_zero")]
    #[schemars(range(min = 0, max = 3_153_600_000_i64))]
    pub max_age_in_second: i64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde's signature")]
fn is_zero(number: &i64) -> bool {
    *number == 0
}
