//! The commands for a data directory: check or create it, serve it, ask its server.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::snapshot::snapshot_path;
use crate::argv::{AgentCommand, Argv};
use crate::values::{RunDir, Seconds};

/// Who may connect.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum AccessRules {
    /// As pg_hba.conf has it now; new data is open, and a file that does not say is closed
    #[default]
    Keep,
    /// Every role, by its password
    Open,
    /// The superuser alone
    Closed,
}

/// Checks PostgreSQL's data directory, or creates it, and writes who may connect: the init container of a database's pod.
///
/// Environment: PGUSER (postgres) and PGPASSWORD, those of the superuser; the agent reads the password only when it creates data,
/// or for --reset-password. It empties postgresql.auto.conf: what ALTER SYSTEM changed holds until the next start, except for
/// default_transaction_read_only while pg_hba.conf is closed. To replace pg_hba.conf while the server runs, use pg_hba.open.conf
/// or pg_hba.closed.conf in the data directory.
///
/// Result: {"systemIdentifier", "version", "initialised", "access", "passwordSet" (the password differed), "freeBytes",
/// "volumeBytes", "inodes", "freeInodes" (on the volume, if the image has df)}
///
/// Reasons: DataMissing (exit code 3) ForeignData WrongMajor DataCorrupt DataUnreadable DataInUse NoSpace CannotInitialise
/// CannotStart BadPassword PermissionDenied ToolMissing; with --from those of agent pg-verify --mode checksum too
#[derive(Args, Clone, Debug, Default, PartialEq, Eq)]
pub struct PgPrepare {
    /// The data directory: a directory in the volume, not the volume's root
    #[arg(long = "pgdata", value_name = "DIRECTORY")]
    pub data: PathBuf,
    /// Where the operator's *.conf are mounted; they take precedence over postgresql.conf
    #[arg(long, value_name = "DIRECTORY")]
    pub configuration: PathBuf,
    /// The major version that the data must have
    #[arg(long, value_name = "NUMBER")]
    pub major: u32,
    /// Recorded in data that the agent creates; without --system-identifier, data with another record or none is ForeignData
    #[arg(long, value_name = "WORD", value_parser = word)]
    pub owner: Option<String>,
    /// System identifier of the data; other data is ForeignData
    #[arg(long, value_name = "ID")]
    pub system_identifier: Option<String>,
    /// Creates the data if there is none, which without this flag is DataMissing. Overwrites nothing
    #[arg(long)]
    pub initialise: bool,
    /// Who may connect
    #[arg(long, value_enum, default_value_t)]
    pub access: AccessRules,
    /// Short for --access closed
    #[arg(long)]
    pub closed: bool,
    /// Creates the data from this physical snapshot, instead of with initdb
    #[arg(long, value_name = "DIRECTORY/NAME", value_parser = snapshot_path)]
    pub from: Option<PathBuf>,
    /// The SHA-256 that the manifest.json of the snapshot must have
    #[arg(long, value_name = "HEX")]
    pub sha256: Option<String>,
    /// Sets the superuser's password in existing data to that of the environment, if it differs
    #[arg(long)]
    pub reset_password: bool,
    /// Directory with space for a socket, for --from
    #[arg(long = "run-dir", value_name = "DIRECTORY", default_value_t)]
    pub run: RunDir,
    /// Writes a passwd file in which the current user is called postgres
    #[arg(long, value_name = "FILE")]
    pub passwd: Option<PathBuf>,
    /// First does what agent install does
    #[arg(long, value_name = "DIRECTORY")]
    pub install: Option<PathBuf>,
    /// How many seconds to wait until no other server uses the data; then DataInUse
    #[arg(long, value_name = "SECONDS", default_value_t)]
    pub lock_timeout: Seconds<30>,
}

impl PgPrepare {
    /// Who may connect, by the one flag or the other.
    #[must_use]
    pub fn rules(&self) -> AccessRules {
        if self.closed { AccessRules::Closed } else { self.access }
    }

    pub(crate) fn conflict(&self) -> Option<&'static str> {
        let both = self.closed && self.access == AccessRules::Open;
        both.then_some("--access open: it must be keep or closed with --closed, which is short for that")
    }

    /// The owner in an argv that an operator of any release rendered.
    pub fn owner_in<'a>(argv: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
        argv.into_iter().find_map(|word| word.strip_prefix("--owner="))
    }
}

impl AgentCommand for PgPrepare {
    const NAME: &'static str = "pg-prepare";

    fn render(&self, argv: &mut Argv) {
        argv.pair("pgdata", self.data.display());
        argv.pair("configuration", self.configuration.display());
        argv.value("major", self.major);
        argv.values("owner", &self.owner);
        argv.values("system-identifier", &self.system_identifier);
        argv.switch("initialise", self.initialise);
        match self.access {
            AccessRules::Keep => {}
            AccessRules::Open => argv.value("access", "open"),
            AccessRules::Closed => argv.value("access", "closed"),
        }
        argv.switch("closed", self.closed);
        argv.values("from", self.from.iter().map(|from| from.display()));
        argv.values("sha256", &self.sha256);
        argv.switch("reset-password", self.reset_password);
        argv.unless_default("run-dir", &self.run);
        argv.values("passwd", self.passwd.iter().map(|passwd| passwd.display()));
        argv.values("install", self.install.iter().map(|install| install.display()));
        argv.unless_default("lock-timeout", &self.lock_timeout);
    }
}

/// The record of whose data it is must fit a line of a file.
fn word(text: &str) -> Result<String, &'static str> {
    let is_word = !text.is_empty() && text.trim() == text && !text.contains('\n');
    is_word.then(|| text.to_owned()).ok_or("it must be one word")
}

/// Executes postgres: the command of a database's container.
///
/// The agent replaces a pg_hba.conf that was written only in part with pg_hba.closed.conf. It holds the lock, PGDATA.lock, until
/// the last process of the server has exited. SIGINT is a fast shutdown.
///
/// Reasons: DataMissing (exit code 3) DataInUse DataUnreadable PermissionDenied ToolMissing
#[derive(Args, Clone, Debug, Default, PartialEq, Eq)]
pub struct PgRun {
    /// The data directory, PGDATA below
    #[arg(long = "pgdata", value_name = "DIRECTORY")]
    pub data: PathBuf,
    /// Reserves this much space on the volume, in PGDATA.reserve. If the volume is full, the command that starts a server on the
    /// data releases the reserve, so that the server has space to start
    #[arg(long, value_name = "BYTES")]
    pub reserve: Option<u64>,
    /// The directory of the settings, as for agent pg-prepare. If postgres exits before it opens its data, it next starts with
    /// the settings that it last served with, from PGDATA.proven; and so on until the directory has other settings, or agent
    /// pg-prepare has run. PGDATA.attempt records that
    #[arg(long, value_name = "DIRECTORY")]
    pub configuration: Option<PathBuf>,
    /// How many seconds to wait until no other server uses the data; then DataInUse
    #[arg(long, value_name = "SECONDS", default_value_t)]
    pub lock_timeout: Seconds<60>,
    /// For postgres, after -D PGDATA
    #[arg(last = true, value_name = "ARGUMENT")]
    pub arguments: Vec<String>,
}

impl AgentCommand for PgRun {
    const NAME: &'static str = "pg-run";

    fn render(&self, argv: &mut Argv) {
        argv.pair("pgdata", self.data.display());
        argv.values("reserve", self.reserve);
        argv.values("configuration", self.configuration.iter().map(|directory| directory.display()));
        argv.unless_default("lock-timeout", &self.lock_timeout);
        if !self.arguments.is_empty() {
            argv.word("--");
            self.arguments.iter().for_each(|argument| argv.word(argument));
        }
    }
}

/// Checks whether the server of the same pod accepts connections: the probes of its container.
///
/// It asks as pg_isready does, without starting a process.
///
/// Environment: PGUSER (postgres), PGHOST (/var/run/postgresql). Exits with 0 if the server accepts connections, even if it
/// rejects this one; else with 1 and "rejecting connections" (starting, stopping or recovering) or "no response" (within 4 s or
/// --wait). Writes no termination message.
#[derive(Args, Clone, Debug, Default, PartialEq, Eq)]
pub struct PgReady {
    /// The server's data; the agent keeps the settings that the server started with as the last that it served with
    #[arg(long = "pgdata", value_name = "DIRECTORY")]
    pub data: Option<PathBuf>,
    /// With --pgdata: takes back space that was reserved on the volume and released, 16 MiB each time, once the file system has
    /// three times as much free
    #[arg(long, value_name = "BYTES")]
    pub reserve: Option<u64>,
    /// How many seconds to retry until the server accepts connections
    #[arg(long, value_name = "SECONDS", default_value_t)]
    pub wait: Seconds<0>,
}

impl AgentCommand for PgReady {
    const NAME: &'static str = "pg-ready";

    fn render(&self, argv: &mut Argv) {
        if let Some(data) = &self.data {
            argv.pair("pgdata", data.display());
        }
        argv.values("reserve", self.reserve);
        argv.unless_default("wait", &self.wait);
    }
}

/// Reports which PostgreSQL version the image has: the operator checks a new image with it while the old server still serves.
///
/// Result: {"version"}
///
/// Reasons: CannotInitialise CannotStart NoSpace ToolFailed ToolMissing WrongUser
#[derive(Args, Clone, Debug, Default, PartialEq, Eq)]
pub struct PgVersion {
    /// Fails unless a server starts here, on new data in this directory, which the agent removes again
    #[arg(long = "start-in", value_name = "DIRECTORY")]
    pub scratch: Option<PathBuf>,
    /// Fails unless it runs as this user: a server starts only as the owner of its data
    #[arg(long = "as-user", value_name = "UID")]
    pub user: Option<u32>,
    /// Directory of the server's socket
    #[arg(long = "run-dir", value_name = "DIRECTORY", default_value_t)]
    pub run: RunDir,
}

impl AgentCommand for PgVersion {
    const NAME: &'static str = "pg-version";

    fn render(&self, argv: &mut Argv) {
        argv.values("start-in", self.scratch.iter().map(|scratch| scratch.display()));
        argv.values("as-user", self.user);
        argv.unless_default("run-dir", &self.run);
    }
}
