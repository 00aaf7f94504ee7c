//! SampleDB: a PostgreSQL database that is deployed, initialised, backed up, verified, restored, upgraded, and saved
//! once more before anything of it is deleted.
//!
//! `spec: {}` gives a working database. What is decided at run time (the engine's version, the StorageClass) stays
//! unset in the spec and is latched in status; what has a fixed default has a method that tells it.

use kube::{CustomResource, KubeSchema};
use serde::de::value::StringDeserializer;
use serde::{Deserialize, Deserializer, Serialize};

mod backup;
mod bootstrap;
mod credentials;
mod deletion;
mod engine;
mod later;
mod reason;
mod scheduling;
mod service;
mod status;
mod storage;
mod time;
mod upgrade;

pub use crate::UNSAVED_DATA;
pub use backup::{
    Backup, BackupStorage, Check, DEFAULT_BACKUP_SIZE, DEFAULT_SCHEDULE, DEFAULT_TIME_ZONE, Method, Retention, Verify,
    VerifyMode,
};
pub(crate) use bootstrap::WITH_OFFSET;
pub use bootstrap::{Bootstrap, DEFAULT_DATABASE, FromSnapshot, Init, KeyRef, RESERVED_IDENTIFIERS, SqlSource};
pub use credentials::{Credentials, SecretRef};
pub use deletion::{
    ACCEPT_FINAL_SNAPSHOT, ADOPT, Deletion, DeletionPolicy, FINAL_SNAPSHOT, OnSnapshotFailure, SKIP_FINAL_SNAPSHOT,
};
pub use engine::{DENIED_PARAMETERS, DENIED_PREFIXES, Engine, is_denied};
use later::ADDED_BEFORE;
pub use later::NotBuilt;
pub use reason::{SampleDBEvent, SampleDBReason};
pub use scheduling::Scheduling;
pub use service::{DEFAULT_PORT, DatabaseService, ServiceType};
pub use status::{
    BackupFailure, BackupStatus, BackupSuccess, BackupVerified, DeletionStatus, DeletionStep, EndpointsStatus,
    EngineStatus, InitializationStatus, Phase, RestoreStatus, SampleDBStatus, StorageStatus, UpgradeResult,
    UpgradeStatus, UpgradeStep, VolumeStatus, condition_type,
};
pub(crate) use storage::unchanged;
pub use storage::{DEFAULT_SIZE, Storage};
pub use time::span;
pub use upgrade::{Strategy, Upgrade, UpgradePolicy};

/// The most characters of a SampleDB's name: names of Jobs, pods and snapshots are made from it, and end at 63.
pub const LONGEST_NAME: usize = 45;

/// What database to run.
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
    doc = "A SampleDB is a PostgreSQL database with its storage, backups, upgrades and a last snapshot on deletion."
)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = Rule::new(storage::unchanged(&["storage", "storageClassName"], "''")).message(
    "storage.storageClassName cannot be changed, named later or taken away: the database keeps its volume; make a new \
     SampleDB with bootstrap.fromSnapshot"
))]
#[x_kube(validation = Rule::new(backup::storage_keeps_class()).message(
    "backup.storage.storageClassName cannot be changed, named later or taken away: snapshots keep their volume; name \
     another volume with existingClaim"
))]
#[x_kube(validation = Rule::new(bootstrap::same_database()).message(
    "bootstrap.database cannot be changed (unset, it is app): it was made when the SampleDB was; make a new SampleDB \
     with bootstrap.fromSnapshot"
))]
#[x_kube(validation = Rule::new(bootstrap::same_source()).message(
    "bootstrap.fromSnapshot cannot be changed, added or taken away: a database is filled once, when it is made; make a \
     new SampleDB"
))]
pub struct SampleDBSpec {
    /// Which PostgreSQL runs, and with which parameters.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "is_default")]
    pub engine: Engine,

    /// How many servers run. Only 1 is built; 1 is also what it is unset.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[x_kube(validation = Rule::new("self == 1").message(
        "replicas other than 1 are not built yet, neither replicas to read from nor 0 to rest: leave it out or give 1"
    ))]
    pub replicas: Option<i32>,

    /// Where the database keeps its data.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "is_default")]
    pub storage: Storage,

    /// What the database holds when it is made. Cannot be changed.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "is_default")]
    pub bootstrap: Bootstrap,

    /// What runs once in a new database, before the first Ready.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "is_default")]
    pub init: Init,

    /// Whose name and password applications use.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "is_default")]
    pub credentials: Credentials,

    /// When and how snapshots are taken, kept and proved.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "is_default")]
    pub backup: Backup,

    /// How the database gets from one version of PostgreSQL to another.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "is_default")]
    pub upgrade: Upgrade,

    /// How applications reach the database.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "is_default")]
    pub service: DatabaseService,

    /// What happens to the data when the SampleDB is deleted.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "is_default")]
    pub deletion: Deletion,

    /// Whether to leave everything as it is: nothing is created, changed, backed up or upgraded until this is false
    /// again.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub paused: bool,

    /// What the server's pod asks for, and where it may run.
    #[serde(flatten)]
    pub scheduling: Scheduling,

    /// Ordered changes of the schema. Not built yet: refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[x_kube(validation = Rule::new(ADDED_BEFORE).optional_old_self(true).message(
        "spec.migrations is not built yet: leave it out; init.sqlFrom runs SQL once, in a new database"
    ))]
    pub migrations: Option<NotBuilt>,

    /// When another server takes over. Not built yet: refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[x_kube(validation = Rule::new(ADDED_BEFORE).optional_old_self(true).message(
        "spec.failover is not built yet: leave it out; it comes with replicas, of which there is one now"
    ))]
    pub failover: Option<NotBuilt>,

    /// Failures on purpose. Not built yet: refused.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[x_kube(validation = Rule::new("size(self) == 0").message("spec.drills are not built yet: leave the list out or empty"))]
    pub drills: Vec<NotBuilt>,

    /// TLS between applications and the database. Not built yet: refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[x_kube(validation = Rule::new(ADDED_BEFORE).optional_old_self(true).message(
        "spec.tls is not built yet: leave it out; connections are not encrypted, so keep them within the cluster"
    ))]
    pub tls: Option<NotBuilt>,
}

/// Whether a value is what it would be if nobody had given it.
pub(crate) fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// Reads a part of the spec; null is what a server-side apply leaves of one that it empties.
fn or_default<'de, D: Deserializer<'de>, T: Deserialize<'de> + Default>(from: D) -> Result<T, D::Error> {
    Ok(Option::deserialize(from)?.unwrap_or_default())
}

/// Reads a text, of which an empty one says as little as none.
fn non_empty<'de, D: Deserializer<'de>>(from: D) -> Result<Option<String>, D::Error> {
    Ok(Option::<String>::deserialize(from)?.filter(|text| !text.is_empty()))
}

/// Reads a word or time of status; one that this program does not know (a later manager may have written it) is none.
pub(crate) fn known<'de, D: Deserializer<'de>, T: Deserialize<'de>>(from: D) -> Result<Option<T>, D::Error> {
    let word = Option::<String>::deserialize(from)?;
    Ok(word.and_then(|word| T::deserialize(StringDeserializer::<serde::de::value::Error>::new(word)).ok()))
}
