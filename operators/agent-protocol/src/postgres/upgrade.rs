//! The commands for upgrades.

use clap::Args;
use clap::builder::NonEmptyStringValueParser;

use crate::argv::{AgentCommand, Argv};
use crate::values::{Jobs, RunDir, Seconds};

/// Copies all databases of a server into another server of a higher major version, which must be empty.
///
/// Run it in the image of that version.
///
/// While clients write: the agent rejects what cannot be copied, and tries all definitions in the new version. Then it closes
/// pg_hba.conf of the old server, makes its sessions read-only by default (ALTER SYSTEM), and terminates every session but its
/// own; from there to the end no client can write. The owners of definitions and rows load them, each in a session of its own.
/// The agent compares rows with their contents, objects with their owners, extensions, large objects and sequences, computes
/// approximate statistics (agent pg-finish --major computes the rest), and syncs everything to disk. A write by a superuser, whom
/// the rules allow and who overrides the default, is CountMismatch. The agent never allows clients again: the new server is to be
/// closed, and after a failure the operator reopens the old one and resets default_transaction_read_only. If it runs again, it
/// reports the existing copy (reused) if the old server has been closed ever since and has not been written to, or still holds
/// the same; a new server with anything else in it is ForeignData.
///
/// Environment: PGHOST, PGPORT (5432), PGUSER (postgres), PGPASSWORD: those of the superuser of the old and the new server.
///
/// Result: {"systemIdentifier", "fromSystemIdentifier", "version", "from", "databases", "tables", "rows", "closedAt", "copiedAt"
/// (milliseconds since 1970), "nextTransaction" (of the old server, when it was last compared), "reused", "seconds"}
///
/// A failure also has "closed" if the old server was reached: whether clients are, or may be, blocked.
///
/// Reasons: ExtensionMissing PreparedTransactions Unsupported NoSpace DatabaseMissing WrongMajor ForeignData RestoreFailed
/// SessionsLeft CountMismatch ConnectionFailed AuthenticationFailed PermissionDenied CannotInitialise CannotStart BadPassword
/// BadInput ToolFailed ToolMissing
#[derive(Args, Clone, Debug, Default, PartialEq, Eq)]
pub struct PgUpgrade {
    /// Address of the new server
    #[arg(long, value_name = "ADDRESS", value_parser = NonEmptyStringValueParser::new())]
    pub to: String,
    /// The new major version
    #[arg(long, value_name = "NUMBER")]
    pub major: u32,
    /// A database that must exist
    #[arg(long, value_name = "NAME")]
    pub database: Option<String>,
    /// Number of indexes to create concurrently
    #[arg(long, value_name = "N", default_value_t)]
    pub jobs: Jobs,
    /// Free space on the new server's volume. NoSpace if it is less than the databases take, plus the WAL of their copy (as much
    /// again, but no more than the new server's max_wal_size)
    #[arg(long, value_name = "BYTES")]
    pub room: Option<u64>,
    /// System identifier of the old data; another server is ForeignData
    #[arg(long, value_name = "ID")]
    pub from_system_identifier: Option<String>,
    /// Port of the new server (PGPORT)
    #[arg(long, value_name = "PORT")]
    pub to_port: Option<String>,
    /// Directory with space for a throwaway server that loads all definitions
    #[arg(long = "run-dir", value_name = "DIRECTORY", default_value_t)]
    pub run: RunDir,
    /// How many seconds to retry while a server does not answer
    #[arg(long, value_name = "SECONDS", default_value_t)]
    pub connect_timeout: Seconds<30>,
}

impl AgentCommand for PgUpgrade {
    const NAME: &'static str = "pg-upgrade";

    fn render(&self, argv: &mut Argv) {
        argv.value("to", &self.to);
        argv.value("major", self.major);
        argv.values("database", &self.database);
        argv.unless_default("jobs", &self.jobs);
        argv.values("room", self.room);
        argv.values("from-system-identifier", &self.from_system_identifier);
        argv.values("to-port", &self.to_port);
        argv.unless_default("run-dir", &self.run);
        argv.unless_default("connect-timeout", &self.connect_timeout);
    }
}

/// Reports what a major upgrade of a server would reject, and what it would not carry over. Changes nothing.
///
/// Rejected are prepared transactions, tablespaces, databases that accept no connections, enabled subscriptions, partitions and
/// children of another owner than their parent's, range types whose canonical function is not C, foreign-data wrappers and
/// languages whose validator is not C, functions and types that only a superuser can create and whose owner is not a superuser,
/// superusers' functions in such a language with a default of another role's type, foreign tables of file_fdw that are
/// partitions, hold such a type or have a trigger and whose owner may not name files, and more tables in a database than the
/// server can lock at once.
///
/// Environment: PGHOST, PGPORT (5432), PGUSER (postgres), PGPASSWORD: those of the superuser.
///
/// Result: {"version" (of the image), "from" (of the server), "databases", "notCovered" (messages, such as about replication
/// slots), "seconds"}
///
/// Reasons: Unsupported PreparedTransactions ConnectionFailed AuthenticationFailed PermissionDenied ToolFailed ToolMissing
#[derive(Args, Clone, Debug, Default, PartialEq, Eq)]
pub struct PgSurvey {
    /// How many seconds to retry while the server does not answer
    #[arg(long, value_name = "SECONDS", default_value_t)]
    pub connect_timeout: Seconds<30>,
}

impl AgentCommand for PgSurvey {
    const NAME: &'static str = "pg-survey";

    fn render(&self, argv: &mut Argv) {
        argv.unless_default("connect-timeout", &self.connect_timeout);
    }
}

/// Completes an upgrade while the server serves: updates extensions to the versions of the image.
///
/// The warnings list what cannot be done, and collations whose rules have another version than the indexes.
///
/// Environment: PGHOST, PGPORT (5432), PGUSER (postgres), PGPASSWORD: those of the superuser.
///
/// Result: {"extensions" (updated to another version), "analyzed" (databases), "warnings" (messages), "version", "seconds"}
///
/// Reasons: ConnectionFailed AuthenticationFailed PermissionDenied ToolFailed ToolMissing BadInput
#[derive(Args, Clone, Debug, Default, PartialEq, Eq)]
pub struct PgFinish {
    /// After an upgrade to another major version: also computes all statistics
    #[arg(long)]
    pub major: bool,
    /// Number of tables to analyze concurrently
    #[arg(long, value_name = "N", default_value_t)]
    pub jobs: Jobs,
    /// How many seconds to retry while the server does not answer
    #[arg(long, value_name = "SECONDS", default_value_t)]
    pub connect_timeout: Seconds<30>,
}

impl AgentCommand for PgFinish {
    const NAME: &'static str = "pg-finish";

    fn render(&self, argv: &mut Argv) {
        argv.switch("major", self.major);
        argv.unless_default("jobs", &self.jobs);
        argv.unless_default("connect-timeout", &self.connect_timeout);
    }
}
