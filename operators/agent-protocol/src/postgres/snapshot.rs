//! The commands for snapshots: take, verify, restore and remove them.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use crate::argv::{AgentCommand, Argv};
use crate::bucket::BucketArgs;
use crate::values::{Jobs, RunDir, Seconds};

/// Whether a snapshot may have this name: it is one directory, and none of the agent's own.
#[must_use]
pub fn is_snapshot_name(name: &str) -> bool {
    let allowed = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    let own = [".partial", ".removed"].iter().any(|suffix| name.ends_with(suffix));
    !name.is_empty() && !name.starts_with('.') && name.chars().all(allowed) && !own
}

/// Where a snapshot is, or is to be stored.
pub(crate) fn snapshot_path(text: &str) -> Result<PathBuf, &'static str> {
    let path = PathBuf::from(text);
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let fits = path.is_absolute() && is_snapshot_name(&name);
    fits.then_some(path).ok_or("it must be /directory/name, with letters, digits, - _ and . in the name")
}

/// A setting of a server that the agent starts. Names are checked here, because they go into a file as they are.
fn parameter(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or("it must be name=value")?;
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '.';
    if name.is_empty() || !name.chars().all(plain) || value.contains(['\n', '\r', '\0']) {
        return Err(format!("{name:?} is no name of a setting"));
    }
    Ok((name.to_owned(), value.to_owned()))
}

/// Takes a logical snapshot: a pg_dump of databases, all roles, and a manifest.
///
/// The manifest has checksums, and the rows counted at the same moment. If an intact snapshot already exists, it is reported and
/// not recreated.
///
/// Environment: PGUSER (postgres), and without --offline PGHOST, PGPORT (5432), PGPASSWORD: those of the superuser.
///
/// Result: {"name", "kind", "bytes", "files", "sha256" (of manifest.json), "engineVersion", "systemIdentifier", "schemaVersion",
/// "databases", "databaseNames" (of those that are not empty; "..." and a checksum of all if they do not fit the message),
/// "notCovered" (messages), "tables", "rows", "completedAt" (seconds since 1970), "reused", "seconds"}
///
/// Unsupported: a minor release that cannot be dumped safely while clients are connected (CVE-2024-7348).
///
/// Reasons: ConnectionFailed Unsupported AuthenticationFailed PermissionDenied DatabaseMissing NoSpace DataInUse DataMissing
/// ForeignData WrongMajor DataCorrupt CannotStart ToolFailed ToolMissing BadInput
#[derive(Args, Clone, Debug, Default, PartialEq, Eq)]
pub struct PgDump {
    /// Where the snapshot is stored; the agent creates it in DIRECTORY/NAME.partial
    #[arg(long, value_name = "DIRECTORY/NAME", value_parser = snapshot_path)]
    pub to: PathBuf,
    /// One of the databases to dump (all, including templates and those that accept no connections)
    #[arg(long = "database", value_name = "NAME")]
    pub databases: Vec<String>,
    /// Number of tables to dump concurrently
    #[arg(long, value_name = "N", default_value_t)]
    pub jobs: Jobs,
    /// Level of gzip, 0 to 9; pg_dump's own default is 6
    #[arg(long, value_name = "LEVEL", value_parser = clap::value_parser!(u8).range(0..=9))]
    pub compression: Option<u8>,
    /// How many seconds to retry while the server does not answer
    #[arg(long, value_name = "SECONDS", default_value_t)]
    pub connect_timeout: Seconds<30>,
    /// A data directory to dump without its server
    #[command(flatten)]
    pub offline: Option<Offline>,
}

impl AgentCommand for PgDump {
    const NAME: &'static str = "pg-dump";

    fn render(&self, argv: &mut Argv) {
        argv.value("to", self.to.display());
        argv.values("database", &self.databases);
        argv.unless_default("jobs", &self.jobs);
        argv.values("compression", self.compression);
        argv.unless_default("connect-timeout", &self.connect_timeout);
        if let Some(offline) = &self.offline {
            argv.value("offline", offline.data.display());
            argv.values("system-identifier", &offline.system_identifier);
            argv.unless_default("run-dir", &offline.run);
            argv.values("parameter", offline.parameters.iter().map(|(name, value)| format!("{name}={value}")));
            argv.unless_default("lock-timeout", &offline.lock_timeout);
        }
    }
}

/// A data directory without a server.
#[derive(Args, Clone, Debug, Default, PartialEq, Eq)]
pub struct Offline {
    /// Starts a server on this data directory that no client can reach, and stops it cleanly
    #[arg(long = "offline", value_name = "PGDATA", required = false)]
    pub data: PathBuf,
    /// With --offline: system identifier of the data; other data is ForeignData
    #[arg(long, value_name = "ID", requires = "data")]
    pub system_identifier: Option<String>,
    /// With --offline: directory with space for the server's socket
    #[arg(long = "run-dir", value_name = "DIRECTORY", default_value_t, requires = "data")]
    pub run: RunDir,
    /// With --offline: a setting of that server
    #[arg(long = "parameter", value_name = "NAME=VALUE", value_parser = parameter, requires = "data")]
    pub parameters: Vec<(String, String)>,
    /// With --offline: how many seconds to wait until no other server uses the data; then DataInUse
    #[arg(long, value_name = "SECONDS", default_value_t, requires = "data")]
    pub lock_timeout: Seconds<30>,
}

/// Takes a physical snapshot: pg_basebackup, checked with pg_verifybackup.
///
/// Environment: PGHOST, PGPORT (5432), PGUSER (postgres), PGPASSWORD: those of the superuser.
///
/// Result and reasons: as for agent pg-dump; tables and rows are 0, because they are not counted. Corrupt if verification fails.
#[derive(Args, Clone, Debug, Default, PartialEq, Eq)]
pub struct PgBasebackup {
    /// Where the snapshot is stored; the agent creates it in DIRECTORY/NAME.partial
    #[arg(long, value_name = "DIRECTORY/NAME", value_parser = snapshot_path)]
    pub to: PathBuf,
    /// How many seconds to retry while the server does not answer
    #[arg(long, value_name = "SECONDS", default_value_t)]
    pub connect_timeout: Seconds<30>,
}

impl AgentCommand for PgBasebackup {
    const NAME: &'static str = "pg-basebackup";

    fn render(&self, argv: &mut Argv) {
        argv.value("to", self.to.display());
        argv.unless_default("connect-timeout", &self.connect_timeout);
    }
}

/// How thoroughly a snapshot is verified.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum VerificationMode {
    /// Loaded by the owners of its objects into a throwaway server, it also has the rows, contents, objects, owners and
    /// extensions that the manifest lists; of a physical one, every row can be read
    #[default]
    Restore,
    /// Every file is as it was written
    Checksum,
}

/// Verifies a snapshot, by its checksums or by restoring it into a throwaway server.
///
/// The checks are a JSON list of {"sql", "expect", "database"}: the owner of the database runs them, who can write nothing.
/// expect is the output of psql, lines of values with | between; without it the SQL must succeed.
///
/// Result: {"mode", "kind", "bytes", "sha256", "engineVersion", "systemIdentifier", "tables", "rows", "checks", "seconds"}
///
/// Reasons: SnapshotMissing Corrupt FileMissing Truncated ChecksumMismatch RestoreFailed CountMismatch CheckFailed NoSpace
/// NewerSnapshot WrongMajor BadInput CannotInitialise CannotStart ToolFailed ToolMissing
#[derive(Args, Clone, Debug, Default, PartialEq, Eq)]
pub struct PgVerify {
    /// The snapshot, which is only read
    #[arg(long, value_name = "DIRECTORY/NAME", value_parser = snapshot_path)]
    pub snapshot: PathBuf,
    /// How thoroughly
    #[arg(long, value_enum, default_value_t)]
    pub mode: VerificationMode,
    /// Directory with space for the data, for --mode restore; the agent removes what it creates there
    #[arg(long, value_name = "DIRECTORY")]
    pub scratch: Option<PathBuf>,
    /// The SHA-256 that its manifest.json must have
    #[arg(long, value_name = "HEX")]
    pub sha256: Option<String>,
    /// File with the user's checks
    #[arg(long, value_name = "FILE")]
    pub checks: Option<PathBuf>,
    /// Directory with space for a socket
    #[arg(long = "run-dir", value_name = "DIRECTORY", default_value_t)]
    pub run: RunDir,
    /// Number of tables to restore concurrently
    #[arg(long, value_name = "N", default_value_t)]
    pub jobs: Jobs,
    /// A setting of that server
    #[arg(long = "parameter", value_name = "NAME=VALUE", value_parser = parameter)]
    pub parameters: Vec<(String, String)>,
}

impl PgVerify {
    pub(crate) fn conflict(&self) -> Option<&'static str> {
        let missing = self.mode == VerificationMode::Restore && self.scratch.is_none();
        missing.then_some("--mode restore needs --scratch: a directory with space for the data")
    }
}

impl AgentCommand for PgVerify {
    const NAME: &'static str = "pg-verify";

    fn render(&self, argv: &mut Argv) {
        argv.value("snapshot", self.snapshot.display());
        argv.value("mode", if self.mode == VerificationMode::Checksum { "checksum" } else { "restore" });
        argv.values("scratch", self.scratch.iter().map(|scratch| scratch.display()));
        argv.values("sha256", &self.sha256);
        argv.values("checks", self.checks.iter().map(|checks| checks.display()));
        argv.unless_default("run-dir", &self.run);
        argv.unless_default("jobs", &self.jobs);
        argv.values("parameter", self.parameters.iter().map(|(name, value)| format!("{name}={value}")));
    }
}

/// Restores a logical snapshot into a server of the same or a higher major version, compares the rows, and analyzes.
///
/// The owner of each object loads it, in a session of its own; a load that changes the permissions of roles is RestoreFailed.
/// Existing roles keep their passwords and attributes; the others come from the snapshot, except for the superuser. The agent
/// replaces an existing database only if it is empty, or if an earlier run left it unfinished; else TargetNotEmpty. It leaves
/// alone what was restored from the same snapshot before.
///
/// Environment: PGHOST, PGPORT (5432), PGUSER (postgres), PGPASSWORD: those of the superuser.
///
/// Result: {"databases", "tables", "rows", "engineVersion", "from", "reused", "warnings", "seconds"}
///
/// Reasons: SnapshotMissing Corrupt FileMissing Truncated ChecksumMismatch NewerSnapshot TargetNotEmpty RestoreFailed
/// CountMismatch DatabaseMissing NoSpace ConnectionFailed AuthenticationFailed ToolFailed ToolMissing BadInput
#[derive(Args, Clone, Debug, Default, PartialEq, Eq)]
pub struct PgRestore {
    /// The snapshot
    #[arg(long, value_name = "DIRECTORY/NAME", value_parser = snapshot_path)]
    pub snapshot: PathBuf,
    /// The SHA-256 that its manifest.json must have
    #[arg(long, value_name = "HEX")]
    pub sha256: Option<String>,
    /// One of the databases to restore (all that are not empty)
    #[arg(long = "database", value_name = "NAME")]
    pub databases: Vec<String>,
    /// The new name of the one database; its owner and its content stay the same
    #[arg(long = "as", value_name = "NAME")]
    pub name: Option<String>,
    /// Number of tables to restore concurrently
    #[arg(long, value_name = "N", default_value_t)]
    pub jobs: Jobs,
    /// How many seconds to retry while the server does not answer
    #[arg(long, value_name = "SECONDS", default_value_t)]
    pub connect_timeout: Seconds<30>,
}

impl AgentCommand for PgRestore {
    const NAME: &'static str = "pg-restore";

    fn render(&self, argv: &mut Argv) {
        argv.value("snapshot", self.snapshot.display());
        argv.values("sha256", &self.sha256);
        argv.values("database", &self.databases);
        argv.values("as", &self.name);
        argv.unless_default("jobs", &self.jobs);
        argv.unless_default("connect-timeout", &self.connect_timeout);
    }
}

/// Removes snapshots. A snapshot that does not exist counts as removed.
///
/// With --bucket, the agent then removes the copies that pg-upload has written: BUCKET/KEY/NAME.json, and all below BUCKET/KEY/NAME/.
///
/// Result: {"removed", "absent", "leftovers"}: numbers, without those of copies
///
/// Reasons: BadInput DataInUse PermissionDenied ConnectionFailed AuthenticationFailed ToolFailed
#[derive(Args, Clone, Debug, Default, PartialEq, Eq)]
pub struct PgPrune {
    /// Directory of the snapshots
    #[arg(long = "dir", value_name = "DIRECTORY")]
    pub directory: PathBuf,
    /// A snapshot to remove: a name, not a path
    #[arg(long = "name", value_name = "NAME")]
    pub names: Vec<String>,
    /// The bucket with copies of them, and the prefix of the database's snapshots in it
    #[command(flatten)]
    pub bucket: BucketArgs,
    /// Also removes unfinished snapshots to which nothing was written for so many seconds, and that no process uses
    #[arg(long, value_name = "SECONDS")]
    pub partial_older_than: Option<u64>,
}

impl AgentCommand for PgPrune {
    const NAME: &'static str = "pg-prune";

    fn render(&self, argv: &mut Argv) {
        argv.value("dir", self.directory.display());
        argv.values("name", &self.names);
        self.bucket.render(argv);
        argv.values("partial-older-than", self.partial_older_than);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_one_line() {
        assert_eq!(parameter("a.b=c=d"), Ok(("a.b".into(), "c=d".into())));
        for wrong in ["a", "=b", "a b=c", "a=b\nc"] {
            assert!(parameter(wrong).is_err(), "{wrong}");
        }
    }
}
