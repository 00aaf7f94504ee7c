//! Observed state of a SampleDB.
//!
//! The operator writes all of it. Enum values are plain strings in the schema, and a manager ignores one that it does
//! not know, so that managers and CRDs of different versions work together. Nothing is required: parts that another
//! field manager leaves must not make the operator's own writes invalid.

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

mod backup;
mod steps;

pub use backup::{BackupFailure, BackupStatus, BackupStored, BackupSuccess, BackupVerified};
pub use steps::{
    DeletionStatus, DeletionStep, InitializationStatus, RestoreStatus, UpgradeResult, UpgradeStatus, UpgradeStep,
};

use super::{is_default, known};
use crate::{Contract, ObjectStatus};

/// Condition types of a SampleDB, in addition to those of every kind.
pub mod condition_type {
    /// The operator can carry out the spec; it evaluates the rules of the API again here.
    pub const SPEC_VALID: &str = "SpecValid";
    /// The database is created, filled and configured for the first time.
    pub const INITIALIZED: &str = "Initialized";
    /// The desired version runs.
    pub const UP_TO_DATE: &str = "UpToDate";
    /// The last snapshot that was due is complete.
    pub const BACKUP_HEALTHY: &str = "BackupHealthy";
    /// The last snapshot with a verification can be restored.
    pub const BACKUP_VERIFIED: &str = "BackupVerified";
    /// The volumes exist, have the requested size, and are not full.
    pub const STORAGE_HEALTHY: &str = "StorageHealthy";
    /// The final snapshot is complete and verified; only during deletion.
    pub const FINAL_SNAPSHOT: &str = "FinalSnapshot";
    /// The deletion waits for an administrator; only while it does.
    pub const DELETION_BLOCKED: &str = "DeletionBlocked";
}

/// Observed state of a SampleDB.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SampleDBStatus {
    /// Phase of the database: Pending, Provisioning, Initializing, Restoring, Running, Upgrading, RollingBack, Deleting
    /// or Failed.
    #[serde(default, deserialize_with = "known", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub phase: Option<SampleDBPhase>,
    /// Ready servers of the desired ones, such as `1/1`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ready: Option<String>,
    /// Number of servers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replicas: Option<i32>,
    /// Number of ready servers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ready_replicas: Option<i32>,
    /// Pod whose server accepts writes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub primary: Option<String>,
    /// StatefulSet of the server: the database's name, and since a major upgrade `<name>-<major>`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    /// PostgreSQL system identifier of the data, as a decimal number; latched when first observed, and again when an
    /// upgrade or restore replaces the data. A server with another one is foreign.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub system_identifier: Option<String>,
    /// Running and desired PostgreSQL release.
    #[serde(default, skip_serializing_if = "is_default")]
    pub engine: EngineStatus,
    /// PVCs of the data and snapshots; decided at creation.
    #[serde(default, skip_serializing_if = "is_default")]
    pub storage: DatabaseStorageStatus,
    /// Number of changes of what is latched here. The data's PVCs carry a record of it with the same number, from which
    /// the operator restores a lost or older status.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revision: Option<i64>,
    /// Observed volumes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    pub volumes: Vec<VolumeStatus>,
    /// Progress of the initialization.
    #[serde(default, skip_serializing_if = "is_default")]
    pub initialization: InitializationStatus,
    /// Snapshot that the database was restored from, if any.
    #[serde(default, skip_serializing_if = "is_default")]
    pub restore: RestoreStatus,
    /// Addresses of the database.
    #[serde(default, skip_serializing_if = "is_default")]
    pub endpoints: EndpointsStatus,
    /// Secret with the applications' user name and password: yours, or `<name>-app`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub credentials_secret: Option<String>,
    /// ConfigMap with the connection details.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub connection_config_map: Option<String>,
    /// State of the snapshots.
    #[serde(default, skip_serializing_if = "is_default")]
    pub backup: BackupStatus,
    /// Current or last upgrade.
    #[serde(default, skip_serializing_if = "is_default")]
    pub upgrade: UpgradeStatus,
    /// Progress of the deletion.
    #[serde(default, skip_serializing_if = "is_default")]
    pub deletion: DeletionStatus,
    /// Fields that every kind has. Conditions, in addition to Ready, Reconciling and Stalled: SpecValid, Initialized,
    /// UpToDate, BackupHealthy, BackupVerified, StorageHealthy, and on deletion FinalSnapshot and DeletionBlocked.
    #[serde(flatten)]
    pub contract: Contract,
}

/// Phase of the database.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum SampleDBPhase {
    /// The operator has created nothing yet: the Ready condition says why.
    Pending,
    /// The operator creates volume, Secrets, Services and server.
    Provisioning,
    /// The operator configures the new database.
    Initializing,
    /// A Job restores a snapshot into the new database.
    Restoring,
    /// The database serves.
    Running,
    /// The operator upgrades the database.
    Upgrading,
    /// An upgrade failed, and the operator restores the old version.
    RollingBack,
    /// The SampleDB is being deleted: `deletion.step` has the progress.
    Deleting,
    /// An administrator must act: the Stalled condition says how.
    Failed,
}

/// Running and desired PostgreSQL release.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EngineStatus {
    /// Release that the server reports, such as `17.5`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub running: Option<String>,
    /// Release of this database: latched at creation, changed by upgrades only. Absent with your own image, until its
    /// server reports one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// Image of that release; latched with it, so that no pod restarts because the catalog or the manager changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image: Option<String>,
    /// Release to upgrade to, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
    /// Image of that release.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target_image: Option<String>,
    /// Release before the last upgrade.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub previous: Option<String>,
    /// Image of that release, while its volume is kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub previous_image: Option<String>,
}

/// PVCs of the data and snapshots. Latched: a PVC of that name with another uid is foreign.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DatabaseStorageStatus {
    /// PVC that the server's pod mounts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claim: Option<String>,
    /// UID of that PVC.
    #[serde(default, rename = "claimUID", skip_serializing_if = "Option::is_none")]
    pub claim_uid: Option<String>,
    /// StorageClass of that PVC at creation, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub storage_class_name: Option<String>,
    /// Last requested size of that PVC, as a quantity of bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<String>,
    /// PVC with the data from before the last major upgrade, while it is kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub previous_claim: Option<String>,
    /// Time until which that PVC is kept.
    #[serde(default, deserialize_with = "known", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>", extend("format" = crate::ISO_SECONDS))]
    pub previous_claim_until: Option<Timestamp>,
    /// PVC of the snapshots.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub snapshot_claim: Option<String>,
    /// UIDs of earlier SampleDBs of the name whose volumes and Secrets this one has adopted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    pub adopted_from: Vec<String>,
}

/// Observed volume.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct VolumeStatus {
    /// PVC of the volume.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claim: Option<String>,
    /// Size of the volume, as a quantity of bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capacity: Option<String>,
    /// Used space in percent, in steps of 5.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub used_percent: Option<i32>,
    /// Whether the volume is growing.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub resizing: bool,
}

/// Addresses of the database.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EndpointsStatus {
    /// Host and port for reads and writes within the cluster.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_write: Option<String>,
    /// Hosts and ports for clients outside the cluster: a load balancer's, or `:<port>` of any node.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    pub external: Vec<String>,
}

impl ObjectStatus for SampleDBStatus {
    fn contract(&self) -> &Contract {
        &self.contract
    }
    fn contract_mut(&mut self) -> &mut Contract {
        &mut self.contract
    }
}
