//! What happens to the data when the SampleDB is deleted.

use kube::KubeSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::time::SPAN;

/// The finalizer that holds a SampleDB until its data are saved or let go.
pub const FINAL_SNAPSHOT: &str = "example.com/final-snapshot";
/// The annotation that lets a SampleDB go without its final snapshot; its value must be the SampleDB's name.
pub const SKIP_FINAL_SNAPSHOT: &str = "example.com/skip-final-snapshot";
/// The annotation that lets a SampleDB go although its final snapshot does not contain everything; its value must be the name
/// of that SampleDBSnapshot.
pub const ACCEPT_FINAL_SNAPSHOT: &str = "example.com/accept-final-snapshot";
/// The annotation by which a new SampleDB takes over the volume that one of its name left; its value must be the uid of
/// the old one.
pub const ADOPT: &str = "example.com/adopt";

/// What happens to the data when the SampleDB is deleted.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct Deletion {
    /// What is done with the data. Default: Snapshot.
    #[serde(default, skip_serializing_if = "super::is_default")]
    pub policy: DeletionPolicy,

    /// Whether a deletion waits, with the condition DeletionBlocked, until this is false again.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub protection: bool,

    /// What happens if the final snapshot cannot be taken in time. Default: Block.
    #[serde(default, skip_serializing_if = "super::is_default")]
    pub on_snapshot_failure: OnSnapshotFailure,

    /// How many seconds the final snapshot and its verification may take. Default: 1800.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 10, max = 604_800))]
    pub timeout_seconds: Option<i64>,

    /// How long the final snapshot is kept, for example `90d`; afterwards the operator deletes it with its files. Unset: until
    /// somebody deletes it. Its files are kept even if the SampleDBSnapshot is deleted before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 16))]
    #[x_kube(validation = Rule::new(SPAN).message(
        "deletion.keepFinalSnapshotFor must be a whole number of at most 5 digits and a unit (s, m, h, d or w), such as 90d"
    ))]
    pub keep_final_snapshot_for: Option<String>,
}

impl Deletion {
    /// How many seconds the final snapshot may take.
    #[must_use]
    pub fn timeout_seconds(&self) -> i64 {
        self.timeout_seconds.unwrap_or(1800)
    }
    /// How long the final snapshot is kept, if not until somebody deletes it.
    #[must_use]
    pub fn keep_final_snapshot_for(&self) -> Option<&str> {
        self.keep_final_snapshot_for.as_deref()
    }
}

/// What is done with the data of a SampleDB that is deleted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum DeletionPolicy {
    /// A final snapshot is taken and verified; then the volume is deleted.
    #[default]
    Snapshot,
    /// The volume and the Secrets stay as they are.
    Retain,
    /// The volume is deleted without a snapshot.
    Delete,
}

/// What happens if the final snapshot cannot be taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum OnSnapshotFailure {
    /// The SampleDB stays until a snapshot succeeds, or the annotation `example.com/skip-final-snapshot` lets it go.
    #[default]
    Block,
    /// The SampleDB and its data go without one.
    Proceed,
}
