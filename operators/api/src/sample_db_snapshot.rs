//! SampleDBSnapshot: one backup of a SampleDB, which outlives it.
//!
//! The operator makes them by schedule, before upgrades and on deletion; one that a person makes is a backup on demand.

use jiff::Timestamp;
use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

mod reason;
mod status;

pub use reason::{SampleDBSnapshotEvent, SampleDBSnapshotReason};
pub use status::{
    SampleDBSnapshotStatus, SnapshotLocation, SnapshotPhase, SnapshotVerification, SnapshotVolume, VerificationPhase,
};

use crate::sample_db::{Method, WITH_OFFSET, unchanged};

/// The finalizer that holds a SampleDBSnapshot until its files are removed or let go.
pub const SNAPSHOT_FILES: &str = "example.com/snapshot-files";

/// The annotation by which a snapshot is verified again: each new value once.
pub const VERIFY: &str = "example.com/verify";

/// The annotation that lets a snapshot go which is kept only since it holds a database that no later one holds; its value must
/// be the snapshot's name.
pub const RELEASE_SNAPSHOT: &str = "example.com/release-snapshot";

/// The most characters of a SampleDBSnapshot's name: its Jobs are `<name>-backup` and `<name>-verify`, and end at 63. A
/// SampleDB's name leaves 11 of them to what the operator adds.
pub const LONGEST_SNAPSHOT_NAME: usize = 56;

/// What to back up. Cannot be changed, but for `retainUntil`.
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
    "a SampleDBSnapshot cannot be changed, but for spec.retainUntil: make a new one"
))]
pub struct SampleDBSnapshotSpec {
    /// The SampleDB of the same namespace.
    #[serde(rename = "sampleDB")]
    #[schemars(length(max = 63))]
    #[x_kube(validation = Rule::new("self.matches('^[a-z]([-a-z0-9]{0,43}[a-z0-9])?$')").message(
        "spec.sampleDB must be the name of a SampleDB of the same namespace"
    ))]
    pub sample_db: String,

    /// Its uid, if none of the same name but another uid will do. The operator always gives it.
    #[serde(default, rename = "sampleDBUID", skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 64))]
    #[x_kube(validation = Rule::new("self.matches('^[-a-zA-Z0-9]+$')").message(
        "spec.sampleDBUID must be the metadata.uid of a SampleDB; leave it out to take the one of that name"
    ))]
    pub sample_db_uid: Option<String>,

    /// How it is taken. Unset: as the SampleDB's `backup.method` says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub method: Option<Method>,

    /// Why it is taken.
    #[serde(default)]
    pub reason: SnapshotReason,

    /// Until when it is kept at least, such as 2026-01-31T06:00:00Z; afterwards the operator deletes it. Unset: those
    /// by schedule go as the SampleDB's `backup.retention` says, others stay until somebody deletes them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>", length(max = 40), regex(pattern = WITH_OFFSET), extend("format" = crate::ISO_SECONDS))]
    pub retain_until: Option<Timestamp>,

    /// What becomes of its files when it is deleted. Unset: Retain for final ones, Delete for all others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deletion_policy: Option<SnapshotDeletionPolicy>,
}

impl SampleDBSnapshotSpec {
    /// What becomes of its files when it is deleted.
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
    unset.map(|(field, unset)| unchanged(&[field], unset)).join(" && ")
}

/// Why a snapshot is taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum SnapshotReason {
    /// The SampleDB's schedule, or its first snapshot at once.
    Scheduled,
    /// Somebody asked for it.
    #[default]
    Manual,
    /// An upgrade follows.
    PreUpgrade,
    /// The SampleDB is being deleted.
    Final,
}

/// What becomes of a snapshot's files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum SnapshotDeletionPolicy {
    /// They are removed.
    Delete,
    /// They stay on the volume.
    Retain,
}
