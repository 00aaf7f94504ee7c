//! Observed state of backups of an etcd cluster.

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Contract, ObjectStatus};

/// Observed state of backups of an etcd cluster.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EtcdBackupStatus {
    /// Whether the last attempt succeeded.
    #[serde(default)]
    pub succeeded: bool,
    /// Why the last attempt failed.
    #[serde(default, rename = "Reason", skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Version of etcd of the newest backup.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub etcd_version: Option<String>,
    /// Revision of etcd of the newest backup.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub etcd_revision: Option<i64>,
    /// Time at which the newest backup was begun.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>", extend("format" = crate::ISO_SECONDS))]
    pub last_success_date: Option<Timestamp>,

    /// Backup that a Job takes; absent otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub running: Option<EtcdBackupRun>,
    /// Time of the schedule or interval that the last complete backup was for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>", extend("format" = crate::ISO_SECONDS))]
    pub last_scheduled: Option<Timestamp>,
    /// Value of the annotation `example.com/backup-now` that the last complete backup on request was for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_request: Option<String>,
    /// Name of the backup that the last successful Job took or found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_completed: Option<String>,
    /// How many attempts in a row have failed.
    #[serde(default)]
    pub failures: i32,
    /// Time of the last failure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>", extend("format" = crate::ISO_SECONDS))]
    pub last_failure: Option<Timestamp>,
    /// Generation of the spec that the last failed attempt followed: after an edit, the next attempt is immediate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed_generation: Option<i64>,
    /// Number of complete backups in the store.
    #[serde(default)]
    pub count: i64,
    /// Size of all of them, in bytes.
    #[serde(default)]
    pub bytes: i64,
    /// Newest complete backups, the newest first, at most 8: fewer if their names are long.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub backups: Vec<EtcdBackupEntry>,
    /// The part that all kinds share.
    #[serde(flatten)]
    pub contract: Contract,
}

/// A backup that a Job takes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EtcdBackupRun {
    /// Name of the backup and of the Job.
    pub name: String,
    /// Start of this attempt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>", extend("format" = crate::ISO_SECONDS))]
    pub started_at: Option<Timestamp>,
    /// Time of the schedule or interval that it is for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>", extend("format" = crate::ISO_SECONDS))]
    pub scheduled: Option<Timestamp>,
    /// Value of the annotation that requested it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<String>,
}

/// A complete backup.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EtcdBackupEntry {
    /// Name of the backup: on a volume, the snapshot is `<name>.db`, and `<name>.json` describes it.
    pub name: String,
    /// Start of the backup.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>", extend("format" = crate::ISO_SECONDS))]
    pub taken_at: Option<Timestamp>,
    /// Revision of etcd that it holds.
    #[serde(default)]
    pub revision: i64,
    /// Size of the snapshot, in bytes.
    #[serde(default)]
    pub bytes: i64,
    /// SHA-256 of the snapshot, in hexadecimal.
    #[serde(default)]
    pub sha256: String,
    /// Version of etcd of the member.
    #[serde(default)]
    pub version: String,
    /// etcd's ID of the cluster, in hexadecimal.
    #[serde(default, rename = "clusterID")]
    pub cluster_id: String,
    /// Client URL of the member that the snapshot is from.
    #[serde(default)]
    pub member: String,
    /// How it was verified: HashCompared (a restored member has the same hash of all keys and values as the member that the
    /// snapshot is from) or Restored (a restored member serves it; the hashes could not be compared).
    #[serde(default)]
    #[schemars(with = "Option<String>")]
    pub verification: BackupVerification,
    /// Where the snapshot is in an object store, as `spec.restore.s3.path` of an EtcdCluster takes it: bucket and key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
}

/// How a backup was verified.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum BackupVerification {
    /// The hashes of all keys and values are equal.
    HashCompared,
    /// A restored member serves it.
    Restored,
    /// A newer release wrote it.
    #[default]
    #[serde(other)]
    Unknown,
}

impl ObjectStatus for EtcdBackupStatus {
    fn contract(&self) -> &Contract {
        &self.contract
    }
    fn contract_mut(&mut self) -> &mut Contract {
        &mut self.contract
    }
}
