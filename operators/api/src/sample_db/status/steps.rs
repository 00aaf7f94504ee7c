//! Progress of operations with several steps. The operator writes it before a step begins, so that it continues after a
//! crash.

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::super::known;

/// Progress of the initialization.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct InitializationStatus {
    /// Time when the operator first saw an initialized data directory: from then on an empty one is data loss, and
    /// never initialized again.
    #[serde(default, deserialize_with = "known", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>", extend("format" = crate::ISO_SECONDS))]
    pub data_created_at: Option<Timestamp>,
    /// Job that configures the database.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub job: Option<String>,
    /// SHA-256 of the SQL of `init.sqlFrom` that ran, from the record in the database, in hexadecimal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sql_digest: Option<String>,
    /// SHA-256 of the SQL that failed; the operator retries once it differs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed_digest: Option<String>,
    /// Time when the operator saw the database's own record of its completion; nothing of it runs again.
    #[serde(default, deserialize_with = "known", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>", extend("format" = crate::ISO_SECONDS))]
    pub completed_at: Option<Timestamp>,
}

/// Snapshot that the database was restored from. Latched when chosen.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RestoreStatus {
    /// Name of the SampleDBSnapshot.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub snapshot: Option<String>,
    /// UID of the SampleDBSnapshot.
    #[serde(default, rename = "snapshotUID", skip_serializing_if = "Option::is_none")]
    pub snapshot_uid: Option<String>,
    /// Job that restores it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub job: Option<String>,
    /// Completion time of the restore.
    #[serde(default, deserialize_with = "known", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>", extend("format" = crate::ISO_SECONDS))]
    pub completed_at: Option<Timestamp>,
}

/// Current or last upgrade.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct UpgradeStatus {
    /// Release before the upgrade.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// Release after the upgrade.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
    /// Current step: Check, Snapshot, Prepare, Copy, Switch, Roll, Finish or RollBack; absent once the upgrade has
    /// ended.
    #[serde(default, deserialize_with = "known", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub step: Option<UpgradeStep>,
    /// Start of that step.
    #[serde(default, deserialize_with = "known", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>", extend("format" = crate::ISO_SECONDS))]
    pub step_since: Option<Timestamp>,
    /// Job that carries it out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub job: Option<String>,
    /// PostgreSQL system identifier of the data before the upgrade, by which a rollback finds it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from_system_identifier: Option<String>,
    /// StatefulSet before the upgrade, to which a rollback returns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from_server: Option<String>,
    /// SampleDBSnapshot from before the upgrade.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pre_snapshot: Option<String>,
    /// PVC that the data is copied into.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claim: Option<String>,
    /// Start of the upgrade.
    #[serde(default, deserialize_with = "known", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>", extend("format" = crate::ISO_SECONDS))]
    pub started_at: Option<Timestamp>,
    /// Time when the operator blocked writers.
    #[serde(default, deserialize_with = "known", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>", extend("format" = crate::ISO_SECONDS))]
    pub shut_out_at: Option<Timestamp>,
    /// End of the upgrade, whatever its result.
    #[serde(default, deserialize_with = "known", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>", extend("format" = crate::ISO_SECONDS))]
    pub ended_at: Option<Timestamp>,
    /// Measured milliseconds that writers were blocked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub downtime_milliseconds: Option<i64>,
    /// Result: Completed, RolledBack or Failed.
    #[serde(default, deserialize_with = "known", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub result: Option<UpgradeResult>,
    /// Cause of the result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// What the last major upgrade did not or would not carry over; known before it begins.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not_covered: Vec<String>,
    /// Generation at which it failed: the operator retries once the spec has a later one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after_generation: Option<i64>,
}

/// Step of an upgrade. A minor one takes Check, Snapshot, Roll and Finish; a major one takes Prepare, Copy and Switch
/// instead of Roll. From Finish on there is no rollback, since writers are allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub enum UpgradeStep {
    /// A Job runs the new image, which reports its version, and what of the server would not be carried over.
    Check,
    /// The operator takes a snapshot.
    Snapshot,
    /// The operator starts a server of the new version on a new volume, next to the old one, which keeps serving.
    Prepare,
    /// The operator blocks writers, copies the data from the old server into the new one, and compares it.
    Copy,
    /// The Services select the new server; writers are still blocked.
    Switch,
    /// A pod of the new release replaces the old one.
    Roll,
    /// The operator allows writers, and does what the release needs afterward.
    Finish,
    /// The operator restores the old version.
    RollBack,
}

/// Result of an upgrade.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum UpgradeResult {
    /// The new version serves.
    Completed,
    /// The old version serves again.
    RolledBack,
    /// Neither: an administrator must act.
    Failed,
}

/// Progress of the deletion.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DeletionStatus {
    /// Time when the operator first saw the deletion.
    #[serde(default, deserialize_with = "known", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>", extend("format" = crate::ISO_SECONDS))]
    pub started_at: Option<Timestamp>,
    /// Current step: WaitForBackup, Snapshot, Verify, RemovePods, RemoveVolumes or Release.
    #[serde(default, deserialize_with = "known", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub step: Option<DeletionStep>,
    /// Final SampleDBSnapshot.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub final_snapshot: Option<String>,
    /// What the deletion waits for, or why there is no final snapshot.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

/// Step of a deletion.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum DeletionStep {
    /// The operator waits until a running snapshot ends.
    WaitForBackup,
    /// The operator takes the final snapshot.
    Snapshot,
    /// The operator verifies the final snapshot.
    Verify,
    /// The operator deletes StatefulSet and pods.
    RemovePods,
    /// The operator deletes the volumes.
    RemoveVolumes,
    /// The operator removes the finalizer.
    Release,
}
