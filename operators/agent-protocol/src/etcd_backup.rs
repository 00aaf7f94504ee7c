//! The commands that take a backup of an etcd cluster, and restore one, and what they report.

use std::path::PathBuf;

use clap::Args;
use serde::{Deserialize, Serialize};

use crate::argv::{AgentCommand, Argv};
use crate::bucket::BucketArgs;
use crate::etcd::MemberArgs;
use crate::postgres::snapshot_path;
use crate::values::Seconds;

/// Takes a backup of an etcd cluster, verifies it, and removes older ones.
///
/// The agent asks all endpoints for their state, and takes the snapshot from a follower if one is up to date, so that the leader is
/// not slowed down; the next one serves if that fails. Then it restores the snapshot into a throwaway member in --scratch, and compares
/// the hash of all keys and values with that of the member that the snapshot is from. Only then is the backup complete: DIRECTORY/NAME.db,
/// the snapshot as etcdctl writes it, and DIRECTORY/NAME.json, which describes it.
///
/// With --bucket, the agent uploads both files once the backup is verified, reads the snapshot back, and compares its checksum before it
/// uploads the description. The objects are BUCKET/KEY and BUCKET/KEY.json; with --versioned, BUCKET/KEY_vREVISION_NAME and the same with
/// .json. It overwrites and removes no object that it has not written for the same --owner.
///
/// If a complete backup of that name exists and its checksum is right, the agent reports it and takes no other. It removes nothing
/// before a new backup is complete, and nothing of another --owner.
///
/// Uses etcdctl, etcdutl (from 3.5 on) and etcd, from PATH or /usr/local/bin.
///
/// Result: {"backup", "reused", "backups" (the newest 8), "count", "bytes" (of all), "removed"}, where a backup is {"name", "takenAt",
/// "revision", "bytes", "sha256", "version", "clusterID", "member", "verification", "path" (BUCKET/KEY)}
///
/// Reasons: ConnectionFailed AuthenticationFailed DataInUse Corrupt ChecksumMismatch CountMismatch RestoreFailed CannotStart NoSpace PermissionDenied
/// ToolFailed ToolMissing BadInput
#[derive(Args, Clone, Debug, Default, PartialEq, Eq)]
pub struct EtcdTakeBackup {
    /// A member of the cluster: http://host:port or https://host:port
    #[arg(long = "endpoint", value_name = "URL", required = true)]
    pub endpoints: Vec<String>,
    /// With https: directory with the certificate of the client, its key, and the authorities: etcd-client.crt, etcd-client.key and
    /// etcd-client-ca.crt, or tls.crt, tls.key and ca.crt
    #[arg(long, value_name = "DIRECTORY")]
    pub client_tls: Option<PathBuf>,
    /// If etcd requires users: directory with the file password, which has that of the user root
    #[arg(long, value_name = "DIRECTORY")]
    pub root_secret: Option<PathBuf>,
    /// Where the backup is stored; with --bucket, until it is uploaded
    #[arg(long, value_name = "DIRECTORY/NAME", value_parser = snapshot_path)]
    pub to: PathBuf,
    /// The bucket that it is uploaded to
    #[command(flatten)]
    pub bucket: BucketArgs,
    /// Append the revision and NAME to the key: there is more than one backup
    #[arg(long, requires = "bucket")]
    pub versioned: bool,
    /// Whose backups may be removed: those that were taken with the same value
    #[arg(long, value_name = "UID")]
    pub owner: String,
    /// Directory with space for a copy of the data; the agent removes what it creates there
    #[arg(long, value_name = "DIRECTORY")]
    pub scratch: PathBuf,
    /// How many complete backups to keep, with the new one (all)
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub keep: Option<u32>,
    /// For how many seconds to keep a complete backup; the newest one stays (forever)
    #[arg(long, value_name = "SECONDS")]
    pub keep_for: Option<u64>,
    /// How many seconds the transfer of the snapshot may take
    #[arg(long, value_name = "SECONDS", default_value_t)]
    pub timeout: Seconds<600>,
}

impl AgentCommand for EtcdTakeBackup {
    const NAME: &'static str = "etcd-backup";

    fn render(&self, argv: &mut Argv) {
        argv.values("endpoint", &self.endpoints);
        argv.values("client-tls", self.client_tls.as_ref().map(|directory| directory.display()));
        argv.values("root-secret", self.root_secret.as_ref().map(|directory| directory.display()));
        argv.value("to", self.to.display());
        self.bucket.render(argv);
        argv.switch("versioned", self.versioned);
        argv.value("owner", &self.owner);
        argv.value("scratch", self.scratch.display());
        argv.values("keep", self.keep);
        argv.values("keep-for", self.keep_for);
        argv.unless_default("timeout", &self.timeout);
    }
}

/// Restores a snapshot into the data directory of the first member of a new cluster: an init step of its pod.
///
/// Data that is there already stays as it is. Without data, --expect must be new, and etcd must not have run in this pod before: otherwise
/// the member has lost what it acknowledged, and that is DataMissing. The agent first checks the snapshot: by --sha256, or by the description next to it that
/// agent etcd-backup writes, or else by etcd's own checksum alone. With --bucket, it downloads the snapshot and its description to --from
/// before that. It restores into a directory next to --data-dir, which it renames at the
/// end.
///
/// Uses etcdutl, or etcdctl before 3.5, from PATH or /usr/local/bin.
///
/// Reasons: DataMissing SnapshotMissing ChecksumMismatch Corrupt RestoreFailed NoSpace PermissionDenied ToolFailed ToolMissing
/// ConnectionFailed AuthenticationFailed BadInput
#[derive(Args, Clone, Debug, Default, PartialEq, Eq)]
#[command(args_override_self = true)]
pub struct EtcdRestoreMember {
    /// The snapshot
    #[arg(long = "from", value_name = "FILE")]
    pub snapshot: PathBuf,
    /// The bucket that it is downloaded from
    #[command(flatten)]
    pub bucket: BucketArgs,
    /// The SHA-256 that it must have
    #[arg(long, value_name = "HEX")]
    pub sha256: Option<String>,
    /// The directory of etcd-run in which the start of etcd is recorded
    #[arg(long, value_name = "DIRECTORY")]
    pub state: PathBuf,
    /// Which member it is
    #[command(flatten)]
    pub member: MemberArgs,
    /// What makes the ID of the cluster unique
    #[arg(long, value_name = "TEXT")]
    pub token: String,
}

impl AgentCommand for EtcdRestoreMember {
    const NAME: &'static str = "etcd-restore";

    fn render(&self, argv: &mut Argv) {
        argv.value("from", self.snapshot.display());
        self.bucket.render(argv);
        argv.values("sha256", &self.sha256);
        argv.value("state", self.state.display());
        self.member.render(argv);
        argv.value("token", &self.token);
    }
}

/// Verifies a snapshot before a cluster begins again from it: restores it into a throwaway member in --scratch, which has to serve.
///
/// The agent first checks the snapshot as agent etcd-restore does, and downloads it in the same way.
///
/// Uses etcdctl, etcdutl (from 3.5 on) and etcd, from PATH or /usr/local/bin.
///
/// Result: {"revision", "bytes", "sha256"}
///
/// Reasons: SnapshotMissing ChecksumMismatch Corrupt RestoreFailed CannotStart NoSpace PermissionDenied ToolFailed ToolMissing
/// ConnectionFailed AuthenticationFailed BadInput
#[derive(Args, Clone, Debug, Default, PartialEq, Eq)]
pub struct EtcdVerifySnapshot {
    /// The snapshot
    #[arg(long = "from", value_name = "FILE")]
    pub snapshot: PathBuf,
    /// The bucket that it is downloaded from
    #[command(flatten)]
    pub bucket: BucketArgs,
    /// The SHA-256 that it must have
    #[arg(long, value_name = "HEX")]
    pub sha256: Option<String>,
    /// Directory with space for a copy of the data; the agent removes what it creates there
    #[arg(long, value_name = "DIRECTORY")]
    pub scratch: PathBuf,
}

impl AgentCommand for EtcdVerifySnapshot {
    const NAME: &'static str = "etcd-verify";

    fn render(&self, argv: &mut Argv) {
        argv.value("from", self.snapshot.display());
        self.bucket.render(argv);
        argv.values("sha256", &self.sha256);
        argv.value("scratch", self.scratch.display());
    }
}

/// What `etcd-verify` found.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct EtcdVerifyResult {
    /// The revision of the key space that the snapshot holds.
    pub revision: i64,
    /// Its size.
    pub bytes: i64,
    /// The SHA-256 of the file, in hexadecimal; empty if the agent did not write this.
    pub sha256: String,
}

/// How a backup was verified.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum RestoreProof {
    /// A member that was restored from it has the hash of the member that it is from, over all keys and values.
    HashCompared,
    /// A member that was restored from it serves it. The hashes could not be compared: the cluster compacted its history in between, or
    /// is older than 3.3.
    Restored,
    /// Not known: a newer agent wrote it.
    #[default]
    #[serde(other)]
    Unknown,
}

/// A complete backup.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct StoredBackup {
    /// Its name: the file is NAME.db.
    pub name: String,
    /// When it was begun, in seconds since 1970.
    pub taken_at: i64,
    /// The revision of the key space that it holds.
    pub revision: i64,
    /// Its size.
    pub bytes: i64,
    /// The SHA-256 of the file, in hexadecimal.
    pub sha256: String,
    /// The version of etcd that it was taken from.
    pub version: String,
    /// etcd's ID of the cluster, in hexadecimal.
    #[serde(rename = "clusterID")]
    pub cluster_id: String,
    /// The endpoint that it was taken from.
    pub member: String,
    /// How it was verified.
    pub verification: RestoreProof,
    /// Where it is in an object store: BUCKET/KEY.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
}

/// What `etcd-backup` did.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct EtcdBackupResult {
    /// The backup.
    pub backup: StoredBackup,
    /// Whether an earlier run had completed it.
    pub reused: bool,
    /// The newest complete backups of the same owner, the newest first; not all if they are many.
    pub backups: Vec<StoredBackup>,
    /// How many complete backups the owner has.
    pub count: i64,
    /// The size of all of them.
    pub bytes: i64,
    /// How many older ones were removed.
    pub removed: i64,
}
