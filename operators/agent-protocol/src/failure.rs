//! How a command fails: a reason for operators, a message for people, an exit code.

use std::fmt;

use serde::{Deserialize, Serialize};

/// What the agent leaves in the termination message when it fails.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FailureMessage {
    /// Why, for operators.
    pub reason: FailureReason,
    /// Why, for people.
    pub message: String,
    /// Whether clients are, or may be, blocked from the old server of an upgrade, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub closed: Option<bool>,
}

/// Why a command failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum FailureReason {
    /// The data directory is empty, and it held data before.
    DataMissing,
    /// The data directory cannot be read, so whether it has data is unknown.
    DataUnreadable,
    /// A name did not resolve in time.
    #[serde(rename = "DNSTimeout")]
    DnsTimeout,
    /// The cluster did not list the member in time.
    NotListed,
    /// The note that etcd was started cannot be written or read.
    StateUnusable,
    /// A program cannot be executed, or a server does not start.
    CannotStart,
    /// The agent cannot be copied.
    CannotInstall,
    /// The data directory holds something else than what was created for this database.
    ForeignData,
    /// The data directory is of another major version of PostgreSQL.
    WrongMajor,
    /// PostgreSQL reports that its data is damaged.
    DataCorrupt,
    /// Another server, or another run of the agent, uses the directory.
    DataInUse,
    /// A file system is full, or a quota is used up.
    NoSpace,
    /// The data directory cannot be created.
    CannotInitialise,
    /// A program of the engine is not in the image.
    ToolMissing,
    /// A program of the engine failed for a reason that has no name here: the message has its last output.
    ToolFailed,
    /// The server cannot be reached.
    ConnectionFailed,
    /// The server rejects the user or its password.
    AuthenticationFailed,
    /// A program, or the server, was refused access.
    PermissionDenied,
    /// The database does not exist.
    DatabaseMissing,
    /// The snapshot does not exist.
    SnapshotMissing,
    /// The snapshot's manifest cannot be read, or is not the expected one.
    Corrupt,
    /// A file of the snapshot is missing.
    FileMissing,
    /// A file of the snapshot is shorter than it was.
    Truncated,
    /// A file of the snapshot has changed.
    ChecksumMismatch,
    /// Other rows or extensions came out of a copy than went in.
    CountMismatch,
    /// A check of the user's gave another result than expected.
    CheckFailed,
    /// What a snapshot or a server holds cannot be loaded.
    RestoreFailed,
    /// The snapshot was taken by a higher major version than the server's.
    NewerSnapshot,
    /// There is a database of the snapshot's name that this command has not created.
    TargetNotEmpty,
    /// SQL of the user's failed, and was rolled back.
    SqlFailed,
    /// A password is missing, or cannot be set.
    BadPassword,
    /// The new version's image lacks an extension that a database uses.
    ExtensionMissing,
    /// There are prepared transactions, which no copy contains: an administrator must commit them or roll them back.
    PreparedTransactions,
    /// Sessions of other clients did not end when they were terminated.
    SessionsLeft,
    /// It runs as another user than the owner of the data.
    WrongUser,
    /// The server accepts no connections now.
    NotReady,
    /// The server has something that a copy would lose.
    Unsupported,
    /// Something that the operator provides (a file, an environment variable) is missing or malformed.
    BadInput,
    /// A reason of a newer agent.
    #[serde(other)]
    Unknown,
}

/// As in the termination message.
impl fmt::Display for FailureReason {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(formatter)
    }
}

/// With what the agent exits if it neither succeeds nor becomes another program; a signal ends it with 128 and its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum AgentExit {
    /// Another try may succeed.
    Failed = 1,
    /// The arguments are wrong: stderr says how, and there is no termination message.
    Usage = 2,
    /// [`FailureReason::DataMissing`].
    DataMissing = 3,
    /// [`FailureReason::DnsTimeout`].
    DnsTimeout = 4,
    /// Every try fails until an administrator changes something: Jobs do not retry.
    Lasting = 5,
}

impl FailureReason {
    /// The exit code that goes with it.
    #[must_use]
    pub fn exit(self) -> AgentExit {
        match self {
            Self::DataMissing => AgentExit::DataMissing,
            Self::DnsTimeout => AgentExit::DnsTimeout,
            Self::SqlFailed | Self::WrongUser => AgentExit::Lasting,
            _ => AgentExit::Failed,
        }
    }
}
