//! SampleDB: a PostgreSQL database that the operator deploys, initializes, backs up, verifies, restores and upgrades,
//! and of which it takes a final snapshot before it deletes anything.
//!
//! `spec: {}` gives a working database. What the operator decides at run time (the engine's version, the StorageClass)
//! stays unset in the spec and is latched in status; a method returns each fixed default.

use kube::{CustomResource, KubeSchema};
use serde::{Deserialize, Serialize};

mod absent;
mod backup;
mod bootstrap;
mod credentials;
mod deletion;
mod engine;
mod reason;
mod reserved;
mod scheduling;
mod service;
mod status;
mod storage;
mod store;
mod upgrade;

pub use crate::UNSAVED_DATA;
use absent::or_default;
pub(crate) use absent::{is_default, known};
pub use backup::{
    Backup, BackupStorage, DEFAULT_BACKUP_SIZE, DEFAULT_SCHEDULE, Method, Retention, VerificationCheck, Verify,
    VerifyMode,
};
pub(crate) use bootstrap::WITH_OFFSET;
pub use bootstrap::{Bootstrap, DEFAULT_DATABASE, FromSnapshot, Init, RESERVED_IDENTIFIERS, SqlKeyRef, SqlSource};
pub use credentials::{Credentials, SecretRef};
pub use deletion::{
    ACCEPT_FINAL_SNAPSHOT, ADOPT, Deletion, DeletionPolicy, FINAL_SNAPSHOT, OnSnapshotFailure, SKIP_FINAL_SNAPSHOT,
};
pub use engine::{DENIED_PARAMETERS, DENIED_PREFIXES, Engine, is_denied};
pub use reason::{SampleDBEvent, SampleDBReason};
use reserved::ALREADY_SET;
pub use reserved::Reserved;
pub use scheduling::Scheduling;
pub use service::{DEFAULT_PORT, DatabaseService};
pub use status::{
    BackupFailure, BackupStatus, BackupStored, BackupSuccess, BackupVerified, DatabaseStorageStatus, DeletionStatus,
    DeletionStep, EndpointsStatus, EngineStatus, InitializationStatus, RestoreStatus, SampleDBPhase, SampleDBStatus,
    UpgradeResult, UpgradeStatus, UpgradeStep, VolumeStatus, condition_type,
};
pub(crate) use storage::unchanged;
pub use storage::{DEFAULT_SIZE, DatabaseStorage};
pub use store::SnapshotStore;
pub use upgrade::{Upgrade, UpgradePolicy, UpgradeStrategy};

/// Maximum length of a SampleDB's name: the names of Jobs, pods and snapshots derive from it, and may have 63
/// characters.
pub const LONGEST_NAME: usize = 45;

/// Desired state of the database.
#[derive(CustomResource, KubeSchema, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[kube(
    group = "example.com",
    version = "v1alpha1",
    kind = "SampleDB",
    plural = "sampledbs",
    singular = "sampledb",
    shortname = "sdb",
    category = "databases",
    namespaced,
    status = "SampleDBStatus",
    printcolumn(name = "Version", type_ = "string", json_path = ".status.engine.running"),
    printcolumn(name = "Ready", type_ = "string", json_path = ".status.ready"),
    printcolumn(name = "Phase", type_ = "string", json_path = ".status.phase"),
    printcolumn(name = "Primary", type_ = "string", json_path = ".status.primary"),
    printcolumn(name = "Last-Backup", type_ = "date", json_path = ".status.backup.lastSuccessful.time"),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp"),
    printcolumn(name = "Verified", type_ = "date", json_path = ".status.backup.lastVerified.time", priority = 1),
    printcolumn(name = "Endpoint", type_ = "string", json_path = ".status.endpoints.readWrite", priority = 1),
    printcolumn(name = "Target", type_ = "string", json_path = ".status.engine.target", priority = 1),
    printcolumn(
        name = "Message",
        type_ = "string",
        json_path = ".status.conditions[?(@.type=='Ready')].message",
        priority = 1
    ),
    validation = Rule::new("self.metadata.name.matches('^[a-z]([-a-z0-9]{0,43}[a-z0-9])?$')").message(
        "metadata.name must be 1 to 45 lower-case letters, digits or '-', start with a letter and end with a letter or \
         digit: Services, pods, Jobs and snapshots are named after it"
    ),
    doc = "A SampleDB is a PostgreSQL database with its storage, backups, upgrades and a final snapshot on deletion."
)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = Rule::new(storage::unchanged(&["storage", "storageClassName"], "''")).message(
    "storage.storageClassName cannot be changed, added or removed: the database keeps its volume; create a new \
     SampleDB with bootstrap.fromSnapshot"
))]
#[x_kube(validation = Rule::new(backup::storage_keeps_class()).message(
    "backup.storage.storageClassName cannot be changed, added or removed: snapshots keep their volume; name another \
     PVC in existingClaim"
))]
#[x_kube(validation = Rule::new(bootstrap::same_database()).message(
    "bootstrap.database cannot be changed (default: app): the operator created the database with the SampleDB; \
     create a new SampleDB with bootstrap.fromSnapshot"
))]
#[x_kube(validation = Rule::new(bootstrap::same_source()).message(
    "bootstrap.fromSnapshot cannot be changed, added or removed: a database is filled once, at its creation; create \
     a new SampleDB"
))]
pub struct SampleDBSpec {
    /// PostgreSQL release and parameters.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "is_default")]
    pub engine: Engine,

    /// Number of PostgreSQL servers. Default: 1, the only supported value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[x_kube(validation = Rule::new("self == 1").message(
        "replicas other than 1 are not supported yet, neither read replicas nor 0 to hibernate: omit the field or \
         set 1"
    ))]
    pub replicas: Option<i32>,

    /// Volume of the database's data.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "is_default")]
    pub storage: DatabaseStorage,

    /// Initial content of the database. Cannot be changed.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "is_default")]
    pub bootstrap: Bootstrap,

    /// SQL that runs once in a new database, before it is Ready for the first time.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "is_default")]
    pub init: Init,

    /// User name and password of applications.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "is_default")]
    pub credentials: Credentials,

    /// Schedule, storage, retention and verification of snapshots.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "is_default")]
    pub backup: Backup,

    /// Upgrades of the PostgreSQL version.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "is_default")]
    pub upgrade: Upgrade,

    /// Service through which applications reach the database.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "is_default")]
    pub service: DatabaseService,

    /// Handling of the data when the SampleDB is deleted.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "is_default")]
    pub deletion: Deletion,

    /// Pauses reconciliation: while this is true, the operator creates, changes, backs up and upgrades nothing.
    /// Default: false.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub paused: bool,

    /// Resources and placement of the server's pod.
    #[serde(flatten)]
    pub scheduling: Scheduling,

    /// Ordered schema migrations. Not supported yet: rejected.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[x_kube(validation = Rule::new(ALREADY_SET).optional_old_self(true).message(
        "spec.migrations is not supported yet: omit it; init.sqlFrom runs SQL once, in a new database"
    ))]
    pub migrations: Option<Reserved>,

    /// Failover to another server. Not supported yet: rejected.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[x_kube(validation = Rule::new(ALREADY_SET).optional_old_self(true).message(
        "spec.failover is not supported yet: omit it; a database has one server"
    ))]
    pub failover: Option<Reserved>,

    /// Deliberate failures. Not supported yet: rejected.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[x_kube(validation = Rule::new("size(self) == 0").message(
        "spec.drills are not supported yet: omit the list or leave it empty"
    ))]
    pub drills: Vec<Reserved>,

    /// TLS between applications and the database. Not supported yet: rejected.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[x_kube(validation = Rule::new(ALREADY_SET).optional_old_self(true).message(
        "spec.tls is not supported yet: omit it; connections are not encrypted, so keep them within the cluster"
    ))]
    pub tls: Option<Reserved>,
}
