//! Observed state of a snapshot.

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::s3::S3Location;
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
    /// Its copy in an object store.
    #[serde(default, skip_serializing_if = "is_default")]
    pub store: SnapshotCopy,
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

/// Copy of a snapshot in an object store: where it is uploaded to, or was imported from.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SnapshotCopy {
    /// Phase of the transfer: Pending, Running, Stored, Imported or Failed.
    #[serde(default, deserialize_with = "known", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub phase: Option<TransferPhase>,
    /// Path of the copy: the bucket, and the prefix of its objects.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// Store that the snapshot is uploaded to; latched when the backup began, or with the first upload.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub s3: Option<StoreReference>,
    /// End of the transfer, or of its last attempt.
    #[serde(default, deserialize_with = "known", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>", extend("format" = crate::ISO_SECONDS))]
    pub at: Option<Timestamp>,
    /// Number of attempts that have failed since the last success.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failures: Option<i32>,
    /// Cause of the last failure, or what the transfer waits for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

/// Phase of a transfer to or from an object store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum TransferPhase {
    /// The transfer has not begun.
    Pending,
    /// A Job transfers the files.
    Running,
    /// The store has all files, with the right checksums.
    Stored,
    /// The volume has all files, with the right checksums.
    Imported,
    /// The last attempt failed; the operator tries again.
    Failed,
}

/// Bucket with S3's API, as the SampleDB names it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StoreReference {
    /// Bucket and prefix.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub path: String,
    /// Secret with the credentials.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub aws_secret: String,
    /// URL of the store.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub endpoint: Option<String>,
    /// Whether requests name the bucket in their path.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub force_path_style: bool,
    /// Secret with the certificates of the store's authority.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ca_secret: Option<String>,
}

impl From<&S3Location> for StoreReference {
    fn from(location: &S3Location) -> Self {
        let S3Location { path, aws_secret, endpoint, force_path_style, ca_secret } = location.clone();
        Self { path, aws_secret, endpoint, force_path_style, ca_secret }
    }
}

impl From<&StoreReference> for S3Location {
    fn from(reference: &StoreReference) -> Self {
        let StoreReference { path, aws_secret, endpoint, force_path_style, ca_secret } = reference.clone();
        Self { path, aws_secret, endpoint, force_path_style, ca_secret }
    }
}

impl ObjectStatus for SampleDBSnapshotStatus {
    fn contract(&self) -> &Contract {
        &self.contract
    }
    fn contract_mut(&mut self) -> &mut Contract {
        &mut self.contract
    }
}
