//! Pure: the contract between the operators and the agent: an operator renders a command as the argv of a container, the agent in
//! that container parses the same type, and leaves a result or a failure in the termination message, which the operator
//! reads.
//!
//! Both sides may be of different releases: a pod keeps its argv, and the agent of the image that it was created with. New pods
//! get the agent of the manager's own image, unless `--agent-image` names another one. The contract has no version number.
//! Changes only add: a command, an optional flag, a field of a result, a reason. A reader ignores fields that it does not know,
//! and does without those that are missing; a reason that it does not know is [`FailureReason::Unknown`]; an agent exits with
//! [`AgentExit::Usage`] if it does not know a flag. A change that would remove something, or give it another meaning, gets a new
//! name instead.
//!
//! A change of the argv that an operator renders from the same spec restarts databases, so it needs a reason of its own.
//!
//! | file | what is in it |
//! |---|---|
//! | `lib.rs` | the commands |
//! | `argv.rs` | how a command becomes an argv |
//! | `values.rs` | values of flags that several commands have, with their defaults |
//! | `failure.rs` | failures, their reasons, exit codes |
//! | `tls.rs` | the names of files with certificates |
//! | `bucket.rs` | how a command reaches a bucket of an object store |
//! | `etcd.rs` | the commands for members of etcd clusters, and what they report |
//! | `etcd_backup.rs` | the commands that take and restore backups of etcd clusters, and what they report |
//! | `postgres/` | the commands for PostgreSQL, and what they report |

mod argv;
mod bucket;
mod etcd;
mod etcd_backup;
mod failure;
mod postgres;
mod tls;
mod values;

use std::ffi::OsString;
use std::path::PathBuf;

use clap::error::ErrorKind;
use clap::{Args, CommandFactory, Parser, Subcommand};

pub use argv::{AgentCommand, Argv};
pub use bucket::{BucketArgs, StoreApi};
pub use etcd::{
    EtcdKeep, EtcdRecover, EtcdRun, EtcdWait, EtcdWaitResult, Expect, MemberArgs, START_VARIABLE, VolumeReport,
};
pub use etcd_backup::{
    EtcdBackupResult, EtcdRestoreMember, EtcdTakeBackup, EtcdVerifyResult, EtcdVerifySnapshot, RestoreProof,
    StoredBackup,
};
pub use failure::{AgentExit, FailureMessage, FailureReason};
pub use postgres::{
    AccessRules, CreatedByInit, Measurement, Offline, PgBasebackup, PgDownload, PgDownloadResult, PgDump, PgDumpResult,
    PgFinish, PgFinishResult, PgInit, PgInitResult, PgPrepare, PgPrepareResult, PgPrune, PgPruneResult, PgReady,
    PgRestore, PgRestoreResult, PgRun, PgSurvey, PgSurveyResult, PgUpgrade, PgUpgradeResult, PgUpload, PgUploadResult,
    PgVerify, PgVerifyResult, PgVersion, PgVersionResult, SqlFile, SqlFiles, VerificationMode, count, is_snapshot_name,
};
pub use tls::TlsFileNames;
pub use values::{Jobs, RunDir, Seconds};

/// Runs inside the pods of an operand, next to etcd or PostgreSQL.
///
/// The commands for PostgreSQL, and etcd-backup, write their result as JSON to stdout and to the termination message.
///
/// Exit codes: 2 wrong arguments, 3 DataMissing, 4 DNSTimeout, 5 SqlFailed or WrongUser, 1 any other failure, 143 SIGTERM. The
/// agent writes a failure as JSON, {"reason", "message"}, to the file that TERMINATION_LOG names, or else to
/// /dev/termination-log.
#[derive(Debug, Parser)]
#[command(name = "agent", version, disable_help_subcommand = true)]
struct Agent {
    #[command(subcommand)]
    command: Command,
}

/// What the agent is to do.
#[derive(Clone, Debug, PartialEq, Eq, Subcommand)]
#[expect(missing_docs, reason = "each variant is described by its type, whose text --help shows")]
pub enum Command {
    Install(Install),
    EtcdWait(EtcdWait),
    EtcdRun(EtcdRun),
    EtcdKeep(EtcdKeep),
    EtcdRecover(EtcdRecover),
    EtcdBackup(EtcdTakeBackup),
    EtcdRestore(EtcdRestoreMember),
    EtcdVerify(EtcdVerifySnapshot),
    PgPrepare(PgPrepare),
    PgRun(PgRun),
    PgReady(PgReady),
    PgDump(PgDump),
    PgBasebackup(PgBasebackup),
    PgVerify(PgVerify),
    PgRestore(PgRestore),
    PgInit(PgInit),
    PgPrune(PgPrune),
    PgUpload(PgUpload),
    PgDownload(PgDownload),
    PgUpgrade(PgUpgrade),
    PgSurvey(PgSurvey),
    PgFinish(PgFinish),
    PgVersion(PgVersion),
}

impl Command {
    /// Parses an argv, with the program as its first element. The error is also what `--help` and `--version` end in.
    ///
    /// # Errors
    ///
    /// If the argv is not that of a command.
    pub fn parse(argv: impl IntoIterator<Item = impl Into<OsString> + Clone>) -> Result<Self, clap::Error> {
        let command = Agent::try_parse_from(argv)?.command;
        let conflict = match &command {
            Self::PgPrepare(prepare) => prepare.conflict(),
            Self::PgVerify(verify) => verify.conflict(),
            _ => None,
        };
        match conflict {
            Some(why) => Err(Self::error(why)),
            None => Ok(command),
        }
    }

    /// An error of the arguments that no single flag shows, as [`Command::parse`] returns one.
    #[must_use]
    pub fn error(why: impl std::fmt::Display) -> clap::Error {
        Agent::command().error(ErrorKind::ValueValidation, why)
    }
}

/// The flag with which the agent prints its version: that its image can be pulled, and that it runs.
pub const VERSION_FLAG: &str = "--version";

/// Copies the agent to DIRECTORY/agent, executable by every user.
#[derive(Args, Clone, Debug, Default, PartialEq, Eq)]
pub struct Install {
    /// Directory of the copy
    pub directory: PathBuf,
    /// Also writes a passwd file in which the current user is called postgres: to be mounted over /etc/passwd where programs
    /// look up their user, and the namespace assigns a user ID that has no name
    #[arg(long, value_name = "FILE")]
    pub passwd: Option<PathBuf>,
}

impl AgentCommand for Install {
    const NAME: &'static str = "install";

    fn render(&self, argv: &mut Argv) {
        argv.word(self.directory.display());
        if let Some(passwd) = &self.passwd {
            argv.pair("passwd", passwd.display());
        }
    }
}
