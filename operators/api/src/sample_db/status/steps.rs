//! How far what takes several steps has come. Written before a step is taken, so that it goes on after a crash.

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::super::known;

/// How far the first steps of the database have come.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct InitializationStatus {
    /// When the data folder was first seen initialised: from then on an empty one is lost data, and never initialised
    /// again.
    #[serde(default, deserialize_with = "known", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>", extend("format" = crate::ISO_SECONDS))]
    pub data_created_at: Option<Timestamp>,
    /// The Job that configures the database.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub job: Option<String>,
    /// The sha256 of the SQL of `init.sqlFrom` that ran, as the note in the database says; in hexadecimal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sql_digest: Option<String>,
    /// The sha256 of the SQL that failed: it runs again once it is another.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed_digest: Option<String>,
    /// When the database's own note of it was seen; nothing of it runs again.
    #[serde(default, deserialize_with = "known", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>", extend("format" = crate::ISO_SECONDS))]
    pub completed_at: Option<Timestamp>,
}

/// The snapshot that the database was filled from. Latched when it was chosen.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RestoreStatus {
    /// The SampleDBSnapshot.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub snapshot: Option<String>,
    /// Its uid.
    #[serde(default, rename = "snapshotUID", skip_serializing_if = "Option::is_none")]
    pub snapshot_uid: Option<String>,
    /// The Job that restores it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub job: Option<String>,
    /// When the restore was complete.
    #[serde(default, deserialize_with = "known", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>", extend("format" = crate::ISO_SECONDS))]
    pub completed_at: Option<Timestamp>,
}

/// The upgrade that runs, or the last one.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct UpgradeStatus {
    /// The release that ran before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// The release that it leads to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
    /// The step that is being taken; absent once it has ended: Check, Snapshot, Prepare, Copy, Switch, Roll, Finish or
    /// RollBack.
    #[serde(default, deserialize_with = "known", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub step: Option<UpgradeStep>,
    /// When that step began.
    #[serde(default, deserialize_with = "known", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>", extend("format" = crate::ISO_SECONDS))]
    pub step_since: Option<Timestamp>,
    /// The Job that carries it out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub job: Option<String>,
    /// PostgreSQL's identifier of the data of the release before, by which a way back finds them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from_system_identifier: Option<String>,
    /// The StatefulSet of the release before, which a way back leads to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from_server: Option<String>,
    /// The SampleDBSnapshot that was taken before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pre_snapshot: Option<String>,
    /// The claim that the data are copied into.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claim: Option<String>,
    /// When it began.
    #[serde(default, deserialize_with = "known", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>", extend("format" = crate::ISO_SECONDS))]
    pub started_at: Option<Timestamp>,
    /// When writers were shut out.
    #[serde(default, deserialize_with = "known", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>", extend("format" = crate::ISO_SECONDS))]
    pub shut_out_at: Option<Timestamp>,
    /// When it ended, one way or the other.
    #[serde(default, deserialize_with = "known", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>", extend("format" = crate::ISO_SECONDS))]
    pub ended_at: Option<Timestamp>,
    /// How many milliseconds writers were shut out, as measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub downtime_milliseconds: Option<i64>,
    /// How it ended: Completed, RolledBack or Failed.
    #[serde(default, deserialize_with = "known", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub result: Option<UpgradeResult>,
    /// Why, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// What the last major upgrade did not carry over, or would not, in sentences; known before anything of it begins.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not_covered: Vec<String>,
    /// The generation at which it failed: it is not tried again until the spec has a later one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after_generation: Option<i64>,
}

/// A step of an upgrade. A minor one takes Check, Snapshot, Roll and Finish; a major one takes Prepare, Copy and Switch
/// instead of Roll. From Finish on there is no way back, since writers are let in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub enum UpgradeStep {
    /// The new image is fetched, and says what it is, and what of the server would not be carried over.
    Check,
    /// A snapshot is taken.
    Snapshot,
    /// A server of the new version is started on a new volume, beside the old one, which goes on serving.
    Prepare,
    /// Writers are shut out, and the data are copied from the old server into the new one, and compared.
    Copy,
    /// The Services lead to the new server; writers are still shut out.
    Switch,
    /// The pod is replaced by one of the new release.
    Roll,
    /// Writers are let in, and what the release needs afterwards is done.
    Finish,
    /// The old version is brought back.
    RollBack,
}

/// How an upgrade ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum UpgradeResult {
    /// The new version serves.
    Completed,
    /// The old version serves again.
    RolledBack,
    /// Neither: a person is needed.
    Failed,
}

/// How far the deletion has come.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DeletionStatus {
    /// When the operator first saw the deletion.
    #[serde(default, deserialize_with = "known", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>", extend("format" = crate::ISO_SECONDS))]
    pub started_at: Option<Timestamp>,
    /// The step that is being taken: WaitForBackup, Snapshot, Verify, RemovePods, RemoveVolumes or Release.
    #[serde(default, deserialize_with = "known", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub step: Option<DeletionStep>,
    /// The SampleDBSnapshot that is taken last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub final_snapshot: Option<String>,
    /// What it waits for, or why it went without a snapshot, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

/// A step of a deletion.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum DeletionStep {
    /// A snapshot that is being taken comes to its end.
    WaitForBackup,
    /// The final snapshot is taken.
    Snapshot,
    /// The final snapshot is verified.
    Verify,
    /// StatefulSet and pods go.
    RemovePods,
    /// The volumes go.
    RemoveVolumes,
    /// The finalizer goes.
    Release,
}
