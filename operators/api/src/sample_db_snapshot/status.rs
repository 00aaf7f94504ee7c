//! Observed state of a snapshot.

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::sample_db::{Method, is_default, known};
use crate::{Contract, ObjectStatus};

/// Observed state of a snapshot. The operator writes it; the SampleDB's status explains enum values and why nothing is
/// required.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SampleDBSnapshotStatus {
    /// Phase of the snapshot: Pending, Running, Ready, Failed or Expired.
    #[serde(default, deserialize_with = "known", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub phase: Option<SnapshotPhase>,
    /// UID of the SampleDB; latched when the backup began.
    #[serde(default, rename = "sampleDBUID", skip_serializing_if = "Option::is_none")]
    pub sample_db_uid: Option<String>,
    /// PostgreSQL system identifier of the data, as a decimal number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub system_identifier: Option<String>,
    /// Backup method: Logical or Physical; latched when the backup began.
    #[serde(default, deserialize_with = "known", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub method: Option<Method>,
    /// Name of the database that it holds, and of its owner.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub database: Option<String>,
    /// PostgreSQL release of the backup.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub engine_version: Option<String>,
    /// Image of that release.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image: Option<String>,
    /// Job that takes or verifies it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub job: Option<String>,
    /// Start of the backup.
    #[serde(default, deserialize_with = "known", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>", extend("format" = crate::ISO_SECONDS))]
    pub started_at: Option<Timestamp>,
    /// Completion time of the backup.
    #[serde(default, deserialize_with = "known", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>", extend("format" = crate::ISO_SECONDS))]
    pub completed_at: Option<Timestamp>,
    /// Size of its files, in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<i64>,
    /// Human-readable size, such as `12.3Mi`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<String>,
    /// SHA-256 of its files, in hexadecimal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sha256: Option<String>,
    /// Databases that it holds, except for those that every server has and that are empty. If there are many, the last
    /// entry is `...` and a checksum of all names. Absent if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub database_names: Option<Vec<String>>,
    /// What the snapshot does not cover, at most 5 messages.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not_covered: Vec<String>,
    /// Location of its files.
    #[serde(default, skip_serializing_if = "is_default")]
    pub location: SnapshotLocation,
    /// Usage of that volume when the Job that takes or verifies the snapshot had done its work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub volume: Option<SnapshotVolume>,
    /// State of its verification.
    #[serde(default, skip_serializing_if = "is_default")]
    pub verification: SnapshotVerification,
    /// Cause of the failure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Fields that every kind has.
    #[serde(flatten)]
    pub contract: Contract,
}

/// Phase of a snapshot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum SnapshotPhase {
    /// The snapshot waits: the Ready condition says for what.
    Pending,
    /// A Job takes it, or verifies it for the first time.
    Running,
    /// It can be restored.
    Ready,
    /// The backup failed, its files have changed or are missing, or their volume is lost.
    Failed,
    /// Its retention time has passed: the operator removes its files.
    Expired,
}

/// Location of a snapshot's files.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SnapshotLocation {
    /// PVC of the volume.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claim: Option<String>,
    /// UID of the PVC on whose volume its files were last seen. If the PVC of that name has another one, the operator
    /// verifies the snapshot again.
    #[serde(default, rename = "claimUID", skip_serializing_if = "Option::is_none")]
    pub claim_uid: Option<String>,
    /// Directory within the volume.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
}

/// Usage of the volume of snapshots.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SnapshotVolume {
    /// Time of the measurement.
    #[serde(default, deserialize_with = "known", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>", extend("format" = crate::ISO_SECONDS))]
    pub at: Option<Timestamp>,
    /// Space that all files on it use, in bytes.
    #[serde(default)]
    pub used_bytes: i64,
    /// Free space of its file system, in bytes.
    #[serde(default)]
    pub free_bytes: i64,
    /// Used inodes of its file system, in percent; absent if it has no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inodes_used_percent: Option<i32>,
    /// Capacity of its PVC, in bytes; absent for a user's own PVC.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capacity_bytes: Option<i64>,
}

/// Verification of a snapshot.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SnapshotVerification {
    /// Phase of the verification: Pending, Running, Passed, Failed or Skipped.
    #[serde(default, deserialize_with = "known", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub phase: Option<VerificationPhase>,
    /// Value of the annotation `example.com/verify` that the last verification was for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<String>,
    /// UID of the PVC that it reads.
    #[serde(default, rename = "claimUID", skip_serializing_if = "Option::is_none")]
    pub claim_uid: Option<String>,
    /// Start of the verification.
    #[serde(default, deserialize_with = "known", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>", extend("format" = crate::ISO_SECONDS))]
    pub started_at: Option<Timestamp>,
    /// End of the verification.
    #[serde(default, deserialize_with = "known", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>", extend("format" = crate::ISO_SECONDS))]
    pub at: Option<Timestamp>,
    /// Duration in seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seconds: Option<i64>,
    /// Number of tables in the restored database.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tables: Option<i64>,
    /// Number of rows in those tables.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rows: Option<i64>,
    /// Cause of the failure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

/// Phase of a verification.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum VerificationPhase {
    /// The verification has not begun.
    Pending,
    /// The verification runs.
    Running,
    /// The snapshot passed.
    Passed,
    /// The snapshot failed: do not rely on it.
    Failed,
    /// No verification was requested.
    Skipped,
}

impl ObjectStatus for SampleDBSnapshotStatus {
    fn contract(&self) -> &Contract {
        &self.contract
    }
    fn contract_mut(&mut self) -> &mut Contract {
        &mut self.contract
    }
}
