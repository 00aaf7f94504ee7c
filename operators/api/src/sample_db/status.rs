//! What is known of a SampleDB.
//!
//! All of it is written by the operator. Words are plain strings in the schema, and one that a manager does not know is
//! none to it, so that managers and definitions of different age get along. Nothing is required: what another field
//! manager leaves behind of a part must not make the operator's own writes invalid.

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

mod backup;
mod steps;

pub use backup::{BackupFailure, BackupStatus, BackupSuccess, BackupVerified};
pub use steps::{
    DeletionStatus, DeletionStep, InitializationStatus, RestoreStatus, UpgradeResult, UpgradeStatus, UpgradeStep,
};

use super::{is_default, known};
use crate::{Contract, Status};

/// Condition types of a SampleDB, beside those that every kind has.
pub mod condition_type {
    /// The spec is one that can be carried out; rules of the API are asked again here.
    pub const SPEC_VALID: &str = "SpecValid";
    /// The database has been made, filled and configured for the first time.
    pub const INITIALIZED: &str = "Initialized";
    /// The version that runs is the one to run.
    pub const UP_TO_DATE: &str = "UpToDate";
    /// The last snapshot that was due has been taken.
    pub const BACKUP_HEALTHY: &str = "BackupHealthy";
    /// The last snapshot that was looked at can be restored.
    pub const BACKUP_VERIFIED: &str = "BackupVerified";
    /// The volumes are there, of the size asked for, and not full.
    pub const STORAGE_HEALTHY: &str = "StorageHealthy";
    /// The final snapshot has been taken and verified; only while the SampleDB is being deleted.
    pub const FINAL_SNAPSHOT: &str = "FinalSnapshot";
    /// The deletion waits for a person; only while it does.
    pub const DELETION_BLOCKED: &str = "DeletionBlocked";
}

/// What is known of a SampleDB.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SampleDBStatus {
    /// Where the database stands, in one word: Pending, Provisioning, Initializing, Restoring, Running, Upgrading,
    /// RollingBack, Deleting or Failed.
    #[serde(default, deserialize_with = "known", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub phase: Option<Phase>,
    /// Ready servers of those asked for, for example `1/1`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ready: Option<String>,
    /// Servers that exist.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replicas: Option<i32>,
    /// Servers that are ready.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ready_replicas: Option<i32>,
    /// The pod whose server takes writes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub primary: Option<String>,
    /// The StatefulSet of the server: the database's name, and since a major upgrade `<name>-<major>`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    /// PostgreSQL's identifier of the data, as a decimal number; latched when they are first seen, and again when an
    /// upgrade or restore has switched to other data. A server that answers with another one is a stranger.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub system_identifier: Option<String>,
    /// Which PostgreSQL runs and is to run.
    #[serde(default, skip_serializing_if = "is_default")]
    pub engine: EngineStatus,
    /// Where the data are; decided at creation.
    #[serde(default, skip_serializing_if = "is_default")]
    pub storage: StorageStatus,
    /// Counts changes of what is latched here. The claims of the data bear a record of it with the same number, from which a
    /// status that was lost, or is older, is restored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revision: Option<i64>,
    /// The volumes, as they are.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    pub volumes: Vec<VolumeStatus>,
    /// How far the first steps of the database have come.
    #[serde(default, skip_serializing_if = "is_default")]
    pub initialization: InitializationStatus,
    /// The snapshot that the database was filled from, if it was.
    #[serde(default, skip_serializing_if = "is_default")]
    pub restore: RestoreStatus,
    /// Where applications find the database.
    #[serde(default, skip_serializing_if = "is_default")]
    pub endpoints: EndpointsStatus,
    /// The Secret with the applications' user name and password: yours, or `<name>-app`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub credentials_secret: Option<String>,
    /// The ConfigMap with the connection details.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub connection_config_map: Option<String>,
    /// How snapshots fare.
    #[serde(default, skip_serializing_if = "is_default")]
    pub backup: BackupStatus,
    /// The upgrade that runs, or the last one.
    #[serde(default, skip_serializing_if = "is_default")]
    pub upgrade: UpgradeStatus,
    /// How far the deletion has come.
    #[serde(default, skip_serializing_if = "is_default")]
    pub deletion: DeletionStatus,
    /// The part that every kind shares, and beside Ready, Reconciling and Stalled: SpecValid, Initialized, UpToDate,
    /// BackupHealthy, BackupVerified, StorageHealthy, and on deletion FinalSnapshot and DeletionBlocked.
    #[serde(flatten)]
    pub contract: Contract,
}

/// Where the database stands, in one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Phase {
    /// Nothing has been made yet: the Ready condition says why.
    Pending,
    /// Volume, Secrets, Services and server are being made.
    Provisioning,
    /// The new database is being configured for the first time.
    Initializing,
    /// A snapshot is being restored into the new database.
    Restoring,
    /// It serves.
    Running,
    /// It is being brought to another version.
    Upgrading,
    /// An upgrade has failed, and the old version is being brought back.
    RollingBack,
    /// It is being deleted: `deletion.step` says how far that is.
    Deleting,
    /// A person is needed: the Stalled condition says what for.
    Failed,
}

/// Which PostgreSQL runs and is to run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EngineStatus {
    /// The release that the server says it is, for example `17.5`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub running: Option<String>,
    /// The release that was chosen for this database: latched at creation, moved by upgrades only. Absent with an image
    /// of yours, until its server has said what it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// The image of that release; latched with it, so that no pod restarts because the catalog or the manager changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image: Option<String>,
    /// The release to upgrade to; absent if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
    /// The image of that release.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target_image: Option<String>,
    /// The release before the last upgrade.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub previous: Option<String>,
    /// The image of that release, as long as its volume is kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub previous_image: Option<String>,
}

/// Where the data are. Latched: a claim of that name with another uid is not the database's.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StorageStatus {
    /// The claim that the server's pod mounts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claim: Option<String>,
    /// Its uid.
    #[serde(default, rename = "claimUID", skip_serializing_if = "Option::is_none")]
    pub claim_uid: Option<String>,
    /// The StorageClass that it got at creation; absent if there was none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub storage_class_name: Option<String>,
    /// The size that it was last asked to have, as a quantity of bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<String>,
    /// The claim with the data of before the last major upgrade, as long as it is kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub previous_claim: Option<String>,
    /// Until when that one is kept.
    #[serde(default, deserialize_with = "known", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>", extend("format" = crate::ISO_SECONDS))]
    pub previous_claim_until: Option<Timestamp>,
    /// The claim that snapshots are written to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub snapshot_claim: Option<String>,
    /// The uids of earlier SampleDBs of the name whose volumes and Secrets this one has taken over.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    pub adopted_from: Vec<String>,
}

/// A volume, as it is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct VolumeStatus {
    /// Its claim.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claim: Option<String>,
    /// Its size, as a quantity of bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capacity: Option<String>,
    /// How full it is, in percent, moved in steps of 5.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub used_percent: Option<i32>,
    /// Whether it is growing.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub resizing: bool,
}

/// Where applications find the database.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EndpointsStatus {
    /// Host and port for reading and writing, within the cluster.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_write: Option<String>,
    /// Hosts and ports outside the cluster: a load balancer's, or `:<port>` of any node.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    pub external: Vec<String>,
}

impl Status for SampleDBStatus {
    fn contract(&self) -> &Contract {
        &self.contract
    }
    fn contract_mut(&mut self) -> &mut Contract {
        &mut self.contract
    }
}
