//! What the commands report in the termination message when they succeed.
//!
//! A reader may meet the message of an older agent, which lacks fields, or of a newer one, which has more: so each field has a
//! default, and what a reader must tell from that is optional. Numbers are those of status, 64 bits with a sign.

use serde::{Deserialize, Serialize};

/// A number as it is reported: the largest one in place of what does not fit.
#[must_use]
pub fn count<N: TryInto<i64>>(number: N) -> i64 {
    number.try_into().unwrap_or(i64::MAX)
}

/// What `pg-prepare` reports.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PgPrepareResult {
    /// PostgreSQL's identifier of the data.
    pub system_identifier: Option<String>,
    /// The release of the image.
    pub version: Option<String>,
    /// Whether the data was created.
    pub initialised: bool,
    /// Who may connect: `open` or `closed`.
    pub access: String,
    /// Whether the superuser's password differed.
    pub password_set: bool,
    /// How much of the volume is free, in bytes.
    pub free_bytes: Option<i64>,
    /// How large the volume's file system is, in bytes.
    pub volume_bytes: Option<i64>,
    /// How many files it can have.
    pub inodes: Option<i64>,
    /// How many more of these.
    pub free_inodes: Option<i64>,
}

/// How full the volume of the snapshots is; nothing where it cannot be measured.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Measurement {
    /// How much of the volume is free, in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub free_bytes: Option<i64>,
    /// How large its file system is, in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub volume_bytes: Option<i64>,
    /// How many files it can have.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub inodes: Option<i64>,
    /// How many more of these.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub free_inodes: Option<i64>,
    /// What all files on it take, in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub used_bytes: Option<i64>,
}

/// What `pg-dump` and `pg-basebackup` report.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PgDumpResult {
    /// The name of the snapshot.
    pub name: String,
    /// Whether it is logical or physical.
    pub kind: String,
    /// Its size, in bytes.
    pub bytes: Option<i64>,
    /// How many files it has.
    pub files: i64,
    /// The SHA-256 of its manifest.
    pub sha256: Option<String>,
    /// The release of the server.
    pub engine_version: Option<String>,
    /// PostgreSQL's identifier of the server's data.
    pub system_identifier: Option<String>,
    /// The version of the application's schema, if it records one.
    pub schema_version: Option<String>,
    /// How many databases it holds.
    pub databases: i64,
    /// Those that are not empty.
    pub database_names: Option<Vec<String>>,
    /// What it does not hold, as messages.
    pub not_covered: Vec<String>,
    /// What else is to be known of it, as messages.
    pub remarks: Vec<String>,
    /// How many tables it holds; 0 of a physical one.
    pub tables: Option<i64>,
    /// How many rows it holds; 0 of a physical one.
    pub rows: Option<i64>,
    /// When it was completed, in seconds since 1970.
    pub completed_at: Option<i64>,
    /// Whether an earlier run completed it, of which nothing is known but what its files say.
    pub reused: bool,
    /// How long this run took.
    pub seconds: f64,
    /// The volume that it is on.
    #[serde(flatten)]
    pub volume: Measurement,
}

/// What `pg-verify` reports.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PgVerifyResult {
    /// `Restore` or `Checksum`.
    pub mode: String,
    /// Whether the snapshot is logical or physical.
    pub kind: String,
    /// Its size, in bytes.
    pub bytes: i64,
    /// The SHA-256 of its manifest.
    pub sha256: String,
    /// The release of the server that it is of.
    pub engine_version: String,
    /// PostgreSQL's identifier of that server's data.
    pub system_identifier: Option<String>,
    /// How many tables were found.
    pub tables: Option<i64>,
    /// How many rows were found.
    pub rows: Option<i64>,
    /// How many of the user's checks passed, if it was restored.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub checks: Option<i64>,
    /// How long it took.
    pub seconds: f64,
    /// The volume that the snapshot is on.
    #[serde(flatten)]
    pub volume: Measurement,
}

/// What `pg-restore` reports.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PgRestoreResult {
    /// How many databases were restored by this run.
    pub databases: i64,
    /// How many tables these have.
    pub tables: i64,
    /// How many rows these have.
    pub rows: i64,
    /// The release of the server.
    pub engine_version: String,
    /// The release that the snapshot is of.
    pub from: String,
    /// Whether earlier runs had restored all.
    pub reused: bool,
    /// What the server remarked, as messages.
    pub warnings: Vec<String>,
    /// How long it took.
    pub seconds: f64,
}

/// What `pg-init` created.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct CreatedByInit {
    /// The application's role.
    pub role: bool,
    /// Its database.
    pub database: bool,
}

/// What `pg-init` reports.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PgInitResult {
    /// Whether this run ran the SQL.
    pub ran: bool,
    /// How many statements that has.
    pub statements: i64,
    /// What did not exist before.
    pub created: CreatedByInit,
    /// How long it took.
    pub seconds: f64,
}

/// What `pg-prune` reports.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PgPruneResult {
    /// How many snapshots were removed.
    pub removed: i64,
    /// How many did not exist.
    pub absent: i64,
    /// How many unfinished ones were removed.
    pub leftovers: i64,
}

/// What `pg-upgrade` reports; it leaves the same in the new data, until that is served.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PgUpgradeResult {
    /// PostgreSQL's identifier of the new data.
    pub system_identifier: Option<String>,
    /// That of the data that was copied.
    pub from_system_identifier: Option<String>,
    /// The release of the new server.
    pub version: String,
    /// The release of the old server.
    pub from: String,
    /// How many databases were copied.
    pub databases: i64,
    /// How many tables were copied.
    pub tables: i64,
    /// How many rows were copied.
    pub rows: i64,
    /// When clients were blocked, in milliseconds since 1970.
    pub closed_at: Option<i64>,
    /// When the copy was complete, in milliseconds since 1970.
    pub copied_at: Option<i64>,
    /// The next transaction of the old server when it was last compared.
    pub next_transaction: Option<i64>,
    /// Whether an earlier run made the copy.
    pub reused: bool,
    /// What the copy lacks, as messages.
    pub not_covered: Vec<String>,
    /// How long this run took.
    pub seconds: f64,
}

/// What `pg-survey` reports.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PgSurveyResult {
    /// The release of the image.
    pub version: Option<String>,
    /// The release of the server.
    pub from: String,
    /// How many databases it has.
    pub databases: i64,
    /// What a copy would lack, as messages.
    pub not_covered: Vec<String>,
    /// How long it took.
    pub seconds: f64,
}

/// What `pg-finish` reports.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PgFinishResult {
    /// How many extensions were updated to another version.
    pub extensions: i64,
    /// Of how many databases the statistics were computed.
    pub analyzed: i64,
    /// What could not be done, as messages.
    pub warnings: Vec<String>,
    /// The release of the server.
    pub version: String,
    /// How long it took.
    pub seconds: f64,
}

/// What `pg-version` reports.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct PgVersionResult {
    /// The release of the image.
    pub version: Option<String>,
}
