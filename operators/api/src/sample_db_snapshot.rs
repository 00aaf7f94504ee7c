//! SampleDBSnapshot: one backup of a SampleDB, which outlives it.
//!
//! The operator creates them by schedule, before upgrades and on deletion; one that a user creates is a backup on
//! demand.

use jiff::Timestamp;
use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

mod reason;
mod status;

pub use reason::{SampleDBSnapshotEvent, SampleDBSnapshotReason};
pub use status::{
    SampleDBSnapshotStatus, SnapshotCopy, SnapshotLocation, SnapshotPhase, SnapshotVerification, SnapshotVolume,
    StoreReference, TransferPhase, VerificationPhase,
};

use crate::sample_db::{Method, SnapshotStore, WITH_OFFSET, unchanged};

/// The finalizer that keeps a SampleDBSnapshot until its files are removed or given up.
pub const SNAPSHOT_FILES: &str = "example.com/snapshot-files";

/// The annotation that requests another verification: one for each new value.
pub const VERIFY: &str = "example.com/verify";

/// The annotation that releases a snapshot that is kept only because no later one holds its database; its value must be
/// the snapshot's name.
pub const RELEASE_SNAPSHOT: &str = "example.com/release-snapshot";

/// Maximum length of a SampleDBSnapshot's name: its Jobs are `<name>-backup` and `<name>-verify`, of at most 63. A
/// SampleDB's name leaves 11 of them to the operator's suffix.
pub const LONGEST_SNAPSHOT_NAME: usize = 56;

/// Backup to take. Cannot be changed, except for `retainUntil`.
#[derive(CustomResource, KubeSchema, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[kube(
    group = "example.com",
    version = "v1alpha1",
    kind = "SampleDBSnapshot",
    plural = "sampledbsnapshots",
    singular = "sampledbsnapshot",
    shortname = "sdbsnap",
    category = "databases",
    namespaced,
    status = "SampleDBSnapshotStatus",
    printcolumn(name = "SampleDB", type_ = "string", json_path = ".spec.sampleDB"),
    printcolumn(name = "Reason", type_ = "string", json_path = ".spec.reason"),
    printcolumn(name = "Phase", type_ = "string", json_path = ".status.phase"),
    printcolumn(name = "Size", type_ = "string", json_path = ".status.size"),
    printcolumn(name = "Verified", type_ = "string", json_path = ".status.verification.phase"),
    printcolumn(name = "Store", type_ = "string", json_path = ".status.store.phase"),
    printcolumn(name = "Expires", type_ = "string", json_path = ".spec.retainUntil"),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp"),
    printcolumn(
        name = "Message",
        type_ = "string",
        json_path = ".status.conditions[?(@.type==\"Ready\")].message",
        priority = 1
    ),
    validation = Rule::new("self.metadata.name.matches('^[a-z]([-a-z0-9]{0,54}[a-z0-9])?$')").message(
        "metadata.name must be 1 to 56 lower-case letters, digits or '-', start with a letter and end with a letter or \
         digit: Jobs and pods are named after it"
    ),
    doc = "A SampleDBSnapshot is one backup of a SampleDB, which outlives it."
)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = Rule::new(unchanged_but_for_retention()).message(
    "a SampleDBSnapshot cannot be changed except for spec.retainUntil: create a new one"
))]
#[x_kube(validation = Rule::new(
    "!has(self.fromStore) || (!has(self.reason) || self.reason == 'Manual') && !has(self.sampleDBUID) && !has(self.method)"
).message("a snapshot with fromStore is imported as it was taken: omit reason, sampleDBUID and method"))]
pub struct SampleDBSnapshotSpec {
    /// Name of the SampleDB in the same namespace.
    #[serde(rename = "sampleDB")]
    #[schemars(length(max = 63))]
    #[x_kube(validation = Rule::new("self.matches('^[a-z]([-a-z0-9]{0,43}[a-z0-9])?$')").message(
        "spec.sampleDB must be the name of a SampleDB in the same namespace"
    ))]
    pub sample_db: String,

    /// UID of the SampleDB, to exclude another one of the same name. Default: any. The operator always sets it.
    #[serde(default, rename = "sampleDBUID", skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 64))]
    #[x_kube(validation = Rule::new("self.matches('^[-a-zA-Z0-9]+$')").message(
        "spec.sampleDBUID must be the metadata.uid of a SampleDB; omit it to use the SampleDB of that name"
    ))]
    pub sample_db_uid: Option<String>,

    /// Backup method: Logical or Physical. Default: the SampleDB's `backup.method`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub method: Option<Method>,

    /// Reason for the snapshot. Default: Manual.
    #[serde(default)]
    pub reason: SnapshotReason,

    /// Time until which the snapshot is kept at least, such as 2026-01-31T06:00:00Z; afterward the operator deletes it.
    /// Can be changed. Default: none. The SampleDB's `backup.retention` then decides on scheduled ones; others stay
    /// until a user deletes them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>", length(max = 40), regex(pattern = WITH_OFFSET), extend("format" = crate::ISO_SECONDS))]
    pub retain_until: Option<Timestamp>,

    /// Object store to import the snapshot from, instead of taking it: `s3.path` is the path of a snapshot, as `status.store.path`
    /// of the original names it, or the prefix of a database, of which the newest snapshot is chosen. Its files are downloaded to
    /// the volume of the snapshots of the SampleDB, which need not exist before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from_store: Option<SnapshotStore>,

    /// Handling of its files on deletion. Default: Retain for final snapshots, Delete for all others. Copies in an object store are
    /// handled like them; one that the snapshot was imported from always stays.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deletion_policy: Option<SnapshotDeletionPolicy>,
}

impl SampleDBSnapshotSpec {
    /// Handling of its files on deletion.
    #[must_use]
    pub fn deletion_policy(&self) -> SnapshotDeletionPolicy {
        let usual = match self.reason {
            SnapshotReason::Final => SnapshotDeletionPolicy::Retain,
            _ => SnapshotDeletionPolicy::Delete,
        };
        self.deletion_policy.unwrap_or(usual)
    }
}

fn unchanged_but_for_retention() -> String {
    let unset =
        [("sampleDB", "''"), ("sampleDBUID", "''"), ("method", "''"), ("reason", "'Manual'"), ("deletionPolicy", "''")];
    let texts = unset.map(|(field, unset)| unchanged(&[field], unset)).join(" && ");
    let same = "(!has(self.fromStore) || self.fromStore == oldSelf.fromStore)";
    format!("{texts} && has(self.fromStore) == has(oldSelf.fromStore) && {same}")
}

/// Reason for a snapshot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum SnapshotReason {
    /// The SampleDB's schedule, or its first snapshot.
    Scheduled,
    /// A user requested it.
    #[default]
    Manual,
    /// An upgrade follows.
    PreUpgrade,
    /// The SampleDB is being deleted.
    Final,
}

/// Handling of a snapshot's files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum SnapshotDeletionPolicy {
    /// The operator removes them.
    Delete,
    /// They stay on the volume.
    Retain,
}
