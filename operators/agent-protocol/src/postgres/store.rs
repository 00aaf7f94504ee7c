//! The commands that copy snapshots to an object store, and from one.

use std::path::PathBuf;

use clap::Args;
use serde::{Deserialize, Serialize};

use super::PgDumpResult;
use super::snapshot::snapshot_path;
use crate::argv::{AgentCommand, Argv};
use crate::bucket::BucketArgs;

/// Uploads a snapshot to BUCKET/KEY/NAME in an object store.
///
/// Each file is an object, which the agent reads back and compares with the checksum in the snapshot's manifest. Files that the store
/// has already, with the right checksum, are not uploaded again. The object BUCKET/KEY/NAME.json comes last: it describes the snapshot,
/// and without it the snapshot does not count.
///
/// The prefix BUCKET/KEY belongs to one database, which the object BUCKET/KEY/owner.json names. The agent writes nothing below the
/// prefix of another one.
///
/// Result: {"path" (BUCKET/KEY/NAME), "files", "bytes", "uploaded" (files of this run), "seconds"}
///
/// Reasons: SnapshotMissing Corrupt FileMissing Truncated ChecksumMismatch ConnectionFailed AuthenticationFailed NoSpace
/// PermissionDenied ToolFailed BadInput
#[derive(Args, Clone, Debug, Default, PartialEq, Eq)]
pub struct PgUpload {
    /// The snapshot
    #[arg(long, value_name = "DIRECTORY/NAME", value_parser = snapshot_path)]
    pub snapshot: PathBuf,
    /// The SHA-256 that its manifest.json must have
    #[arg(long, value_name = "HEX")]
    pub sha256: Option<String>,
    /// The bucket, and the prefix of the database's snapshots in it
    #[command(flatten)]
    pub bucket: BucketArgs,
    /// UID of the SampleDB
    #[arg(long, value_name = "UID")]
    pub owner: String,
    /// An earlier UID of the SampleDB, whose volume it has adopted
    #[arg(long = "earlier-owner", value_name = "UID")]
    pub earlier_owners: Vec<String>,
    /// Namespace and name of the SampleDB
    #[arg(long, value_name = "NAMESPACE/NAME")]
    pub owner_name: String,
    /// The application's database
    #[arg(long, value_name = "NAME")]
    pub database: String,
    /// The snapshot was restored into a throwaway server without an error
    #[arg(long)]
    pub verified: bool,
}

impl AgentCommand for PgUpload {
    const NAME: &'static str = "pg-upload";

    fn render(&self, argv: &mut Argv) {
        argv.value("snapshot", self.snapshot.display());
        argv.values("sha256", &self.sha256);
        self.bucket.render(argv);
        argv.value("owner", &self.owner);
        argv.values("earlier-owner", &self.earlier_owners);
        argv.value("owner-name", &self.owner_name);
        argv.value("database", &self.database);
        argv.switch("verified", self.verified);
    }
}

/// Downloads a snapshot from an object store.
///
/// BUCKET/KEY is the path of a snapshot that pg-upload has uploaded, or the prefix of a database: then the agent downloads its newest
/// snapshot. The files are checked by the checksums in the snapshot's manifest before the directory gets its name. A run that is
/// repeated downloads only what is missing.
///
/// Result: that of pg-dump, and {"from" (BUCKET/KEY of the snapshot), "database", "verified"}
///
/// Reasons: SnapshotMissing Corrupt FileMissing ChecksumMismatch ConnectionFailed AuthenticationFailed NoSpace PermissionDenied
/// DataInUse ToolFailed BadInput
#[derive(Args, Clone, Debug, Default, PartialEq, Eq)]
pub struct PgDownload {
    /// Where the snapshot is stored; the agent creates it in DIRECTORY/NAME.partial
    #[arg(long, value_name = "DIRECTORY/NAME", value_parser = snapshot_path)]
    pub to: PathBuf,
    /// The bucket, and the snapshot or the prefix in it
    #[command(flatten)]
    pub bucket: BucketArgs,
}

impl AgentCommand for PgDownload {
    const NAME: &'static str = "pg-download";

    fn render(&self, argv: &mut Argv) {
        argv.value("to", self.to.display());
        self.bucket.render(argv);
    }
}

/// What `pg-upload` reports.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PgUploadResult {
    /// The bucket, and the prefix of the snapshot's objects.
    pub path: String,
    /// How many files it has.
    pub files: i64,
    /// Their size, in bytes.
    pub bytes: i64,
    /// How many of them this run uploaded.
    pub uploaded: i64,
    /// How long it took.
    pub seconds: f64,
}

/// What `pg-download` reports.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PgDownloadResult {
    /// The snapshot.
    #[serde(flatten)]
    pub snapshot: PgDumpResult,
    /// The bucket, and the prefix of the objects that it was downloaded from.
    pub from: String,
    /// The application's database.
    pub database: String,
    /// Whether it was restored into a throwaway server before it was uploaded.
    pub verified: bool,
}
