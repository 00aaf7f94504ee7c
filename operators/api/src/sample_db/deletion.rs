//! Handling of the data when the SampleDB is deleted.

use kube::KubeSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::time::SPAN;

/// The finalizer that keeps a SampleDB until its data is saved or given up.
pub const FINAL_SNAPSHOT: &str = "example.com/final-snapshot";
/// The annotation that permits deletion without a final snapshot; its value must be the SampleDB's name.
pub const SKIP_FINAL_SNAPSHOT: &str = "example.com/skip-final-snapshot";
/// The annotation that permits deletion although the final snapshot is incomplete; its value must be the name of that
/// SampleDBSnapshot.
pub const ACCEPT_FINAL_SNAPSHOT: &str = "example.com/accept-final-snapshot";
/// The annotation by which a new SampleDB adopts the volume of an earlier one of its name; its value must be the uid of
/// the old one.
pub const ADOPT: &str = "example.com/adopt";

/// Handling of the data when the SampleDB is deleted.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct Deletion {
    /// Handling of the data: Snapshot, Retain or Delete. Default: Snapshot.
    #[serde(default, skip_serializing_if = "super::is_default")]
    pub policy: DeletionPolicy,

    /// Blocks deletion, with the condition DeletionBlocked, until this is false. Default: false.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub protection: bool,

    /// Action if the final snapshot fails or times out. Default: Block.
    #[serde(default, skip_serializing_if = "super::is_default")]
    pub on_snapshot_failure: OnSnapshotFailure,

    /// Seconds that the final snapshot may take, and its verification, 10 to 604800. Default: 1800.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 10, max = 604_800))]
    pub timeout_seconds: Option<i64>,

    /// Retention time of the final snapshot, such as `90d`; afterward the operator deletes it with its files. Default:
    /// none, until a user deletes it. If a user deletes the SampleDBSnapshot earlier, its files stay.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 16))]
    #[x_kube(validation = Rule::new(SPAN).message(
        "deletion.keepFinalSnapshotFor must be a whole number of at most 5 digits and a unit (s, m, h, d or w), such as 90d"
    ))]
    pub keep_final_snapshot_for: Option<String>,
}

impl Deletion {
    /// Seconds that the final snapshot may take.
    #[must_use]
    pub fn timeout_seconds(&self) -> i64 {
        self.timeout_seconds.unwrap_or(1800)
    }
    /// Retention time of the final snapshot, if it is limited.
    #[must_use]
    pub fn keep_final_snapshot_for(&self) -> Option<&str> {
        self.keep_final_snapshot_for.as_deref()
    }
}

/// Handling of the data of a deleted SampleDB.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum DeletionPolicy {
    /// The operator takes and verifies a final snapshot, then deletes the volume.
    #[default]
    Snapshot,
    /// The volume and the Secrets stay as they are.
    Retain,
    /// The operator deletes the volume without a snapshot.
    Delete,
}

/// Action if the final snapshot fails.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum OnSnapshotFailure {
    /// The SampleDB stays until a snapshot succeeds, or the annotation `example.com/skip-final-snapshot` permits
    /// deletion.
    #[default]
    Block,
    /// The operator deletes the SampleDB and its data without one.
    Proceed,
}
