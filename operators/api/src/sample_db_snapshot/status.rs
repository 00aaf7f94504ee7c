//! What is known of a snapshot.

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::sample_db::{Method, is_default, known};
use crate::{Contract, Status};

/// What is known of a snapshot. Written by the operator; see the SampleDB's status on words and on what is required.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SampleDBSnapshotStatus {
    /// Where it stands, in one word: Pending, Running, Ready, Failed or Expired.
    #[serde(default, deserialize_with = "known", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub phase: Option<SnapshotPhase>,
    /// The uid of the SampleDB; latched when the backup began.
    #[serde(default, rename = "sampleDBUID", skip_serializing_if = "Option::is_none")]
    pub sample_db_uid: Option<String>,
    /// PostgreSQL's identifier of the data that were backed up, as a decimal number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub system_identifier: Option<String>,
    /// How it is taken: Logical or Physical; latched when the backup began.
    #[serde(default, deserialize_with = "known", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub method: Option<Method>,
    /// The database that it holds, and its owner.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub database: Option<String>,
    /// The release of PostgreSQL that it was taken of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub engine_version: Option<String>,
    /// The image of that release.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image: Option<String>,
    /// The Job that takes or verifies it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub job: Option<String>,
    /// When the backup began.
    #[serde(default, deserialize_with = "known", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>", extend("format" = crate::ISO_SECONDS))]
    pub started_at: Option<Timestamp>,
    /// When the backup was complete.
    #[serde(default, deserialize_with = "known", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>", extend("format" = crate::ISO_SECONDS))]
    pub completed_at: Option<Timestamp>,
    /// The size of its files, in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<i64>,
    /// The same for people, for example `12.3Mi`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<String>,
    /// The sha256 over its files, in hexadecimal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sha256: Option<String>,
    /// The databases of the server that it holds, but for those that every server has as long as nothing is in them. If they
    /// are many, the last entry is `...` and a sum of all names. Absent: it is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub database_names: Option<Vec<String>>,
    /// What of the database it does not hold, in sentences; at most 5.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not_covered: Vec<String>,
    /// Where its files are.
    #[serde(default, skip_serializing_if = "is_default")]
    pub location: SnapshotLocation,
    /// How full that volume was when the Job that takes or verifies it had done its work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub volume: Option<SnapshotVolume>,
    /// Whether it was proved to be of use.
    #[serde(default, skip_serializing_if = "is_default")]
    pub verification: SnapshotVerification,
    /// Why it failed, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// The part that every kind shares.
    #[serde(flatten)]
    pub contract: Contract,
}

/// Where a snapshot stands, in one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum SnapshotPhase {
    /// It waits: the Ready condition says what for.
    Pending,
    /// It is being taken, or verified for the first time.
    Running,
    /// It can be restored.
    Ready,
    /// It could not be taken, its files are not what they were, or their volume is gone.
    Failed,
    /// Its time is over: its files are being removed.
    Expired,
}

/// Where a snapshot's files are.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SnapshotLocation {
    /// The claim of the volume.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claim: Option<String>,
    /// The uid of the claim on whose volume its files were seen last. If the claim of that name has another one, the operator
    /// verifies the snapshot again.
    #[serde(default, rename = "claimUID", skip_serializing_if = "Option::is_none")]
    pub claim_uid: Option<String>,
    /// The folder within the volume.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
}

/// How full the volume of snapshots was.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SnapshotVolume {
    /// When that was.
    #[serde(default, deserialize_with = "known", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>", extend("format" = crate::ISO_SECONDS))]
    pub at: Option<Timestamp>,
    /// What all files on it took, in bytes.
    #[serde(default)]
    pub used_bytes: i64,
    /// What its file system had free, in bytes.
    #[serde(default)]
    pub free_bytes: i64,
    /// How many percent of the inodes of its file system were in use; absent if that has no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inodes_used_percent: Option<i32>,
    /// The capacity of its claim, in bytes; absent if that is a claim of the user's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capacity_bytes: Option<i64>,
}

/// Whether a snapshot was proved to be of use.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SnapshotVerification {
    /// Where that stands: Pending, Running, Passed, Failed or Skipped.
    #[serde(default, deserialize_with = "known", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub phase: Option<VerificationPhase>,
    /// The value of the annotation `example.com/verify` that it was last carried out for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<String>,
    /// The uid of the claim whose volume it reads.
    #[serde(default, rename = "claimUID", skip_serializing_if = "Option::is_none")]
    pub claim_uid: Option<String>,
    /// When it began.
    #[serde(default, deserialize_with = "known", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>", extend("format" = crate::ISO_SECONDS))]
    pub started_at: Option<Timestamp>,
    /// When it ended.
    #[serde(default, deserialize_with = "known", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>", extend("format" = crate::ISO_SECONDS))]
    pub at: Option<Timestamp>,
    /// How many seconds it took.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seconds: Option<i64>,
    /// How many tables the restored database has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tables: Option<i64>,
    /// How many rows they have.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rows: Option<i64>,
    /// What did not hold, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

/// Where a verification stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum VerificationPhase {
    /// It is to come.
    Pending,
    /// It runs.
    Running,
    /// All held.
    Passed,
    /// Something did not hold: the snapshot is not to be trusted.
    Failed,
    /// It was not asked for.
    Skipped,
}

impl Status for SampleDBSnapshotStatus {
    fn contract(&self) -> &Contract {
        &self.contract
    }
    fn contract_mut(&mut self) -> &mut Contract {
        &mut self.contract
    }
}
