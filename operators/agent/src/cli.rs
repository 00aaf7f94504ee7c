//! Arguments: `agent-protocol` parses them; this file makes the checks for which only the agent has the information.

use std::ffi::OsString;
use std::net::IpAddr;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use agent_protocol::{
    AgentExit, BucketArgs, Command, EtcdRecover, EtcdRestoreMember, EtcdRun, EtcdWait, Expect, MemberArgs, TlsFileNames,
};

use crate::etcd::dns;
use crate::etcd::limits::VolumeLimits;
use crate::etcd::plan::MemberIdentity;
use crate::etcd::tls::TlsFiles;
use crate::etcd::url::PeerUrl;
use crate::failure::CommandFailure;

/// The member that the commands for etcd are about.
#[derive(Debug)]
pub(crate) struct MemberOptions {
    pub(crate) name: String,
    pub(crate) url: PeerUrl,
    pub(crate) data_dir: PathBuf,
    pub(crate) expect: Expect,
    pub(crate) peers_url: Option<PeerUrl>,
    pub(crate) earlier_peers: Vec<PeerUrl>,
    pub(crate) peer_tls: Option<PathBuf>,
    /// From POD_IP; empty if that is not known.
    pub(crate) own_addresses: Vec<IpAddr>,
}

impl MemberOptions {
    fn new(member: MemberArgs) -> Result<Self, CliExit> {
        if member.expect == Expect::Variable {
            return Err(CliExit::usage(format!("--expect {}: the pod lacks that variable", Expect::Variable)));
        }
        let peers_url = member.peers_url.map(|url| url.parse()).transpose();
        let earlier_peers: Result<_, _> = member.earlier_peers.iter().map(|url| url.parse()).collect();
        let url: PeerUrl = member.peer_url.parse().map_err(|why| CliExit::usage(format!("--peer-url: {why}")))?;
        if url.is_tls() && member.peer_tls.is_none() {
            return Err(CliExit::usage(format!("--peer-url {url}: with https, --peer-tls is required")));
        }
        Ok(Self {
            name: member.name,
            url,
            data_dir: member.data_dir,
            expect: member.expect,
            peer_tls: member.peer_tls,
            peers_url: peers_url.map_err(|why| CliExit::usage(format!("--peers-url: {why}")))?,
            earlier_peers: earlier_peers.map_err(|why| CliExit::usage(format!("--earlier-peers: {why}")))?,
            own_addresses: dns::own_addresses(&std::env::var("POD_IP").unwrap_or_default()).map_err(CliExit::usage)?,
        })
    }

    /// The files with the certificate for other members, with TLS.
    pub(crate) fn peer_files(&self) -> Result<Option<TlsFiles>, CommandFailure> {
        self.peer_tls.as_deref().map(|directory| TlsFiles::find(directory, &TlsFileNames::PEER)).transpose()
    }

    pub(crate) fn identity(&self) -> MemberIdentity<'_> {
        MemberIdentity { name: &self.name, url: &self.url, data_dir: &self.data_dir }
    }
}

/// What `etcd-wait` works with.
#[derive(Debug)]
pub(crate) struct WaitOptions {
    pub(crate) member: MemberOptions,
    pub(crate) dns_timeout: Option<Duration>,
    pub(crate) install: Option<PathBuf>,
}

impl WaitOptions {
    pub(crate) fn new(options: EtcdWait) -> Result<Self, CliExit> {
        let dns_timeout = Some(*options.dns_timeout).filter(|timeout| !timeout.is_zero());
        Ok(Self { member: MemberOptions::new(options.member)?, dns_timeout, install: options.install })
    }
}

/// What `etcd-run` works with.
#[derive(Debug)]
pub(crate) struct RunOptions {
    pub(crate) member: MemberOptions,
    pub(crate) state: PathBuf,
    pub(crate) server_tls: Option<PathBuf>,
    pub(crate) limits: VolumeLimits,
    pub(crate) volume_port: Option<u16>,
    pub(crate) command: Vec<OsString>,
}

impl RunOptions {
    pub(crate) fn new(options: EtcdRun) -> Result<Self, CliExit> {
        let EtcdRun { state, member, server_tls, reserve, volume_port, quota, snapshot_count, command } = options;
        let limits = VolumeLimits { reserve, quota, snapshot_count };
        let command = command.into_iter().map(OsString::from).collect();
        Ok(Self { member: MemberOptions::new(member)?, state, server_tls, limits, volume_port, command })
    }
}

/// What `etcd-recover` works with.
#[derive(Debug)]
pub(crate) struct RecoverOptions {
    pub(crate) member: MemberOptions,
    pub(crate) state: PathBuf,
    pub(crate) start: String,
}

impl RecoverOptions {
    pub(crate) fn new(options: EtcdRecover) -> Result<Self, CliExit> {
        let EtcdRecover { state, start, member } = options;
        Ok(Self { member: MemberOptions::new(member)?, state, start })
    }
}

/// What `etcd-restore` works with.
#[derive(Debug)]
pub(crate) struct RestoreOptions {
    pub(crate) member: MemberOptions,
    pub(crate) state: PathBuf,
    pub(crate) snapshot: PathBuf,
    pub(crate) bucket: BucketArgs,
    pub(crate) sha256: Option<String>,
    pub(crate) token: String,
}

impl RestoreOptions {
    pub(crate) fn new(options: EtcdRestoreMember) -> Result<Self, CliExit> {
        let EtcdRestoreMember { snapshot, bucket, sha256, state, member, token } = options;
        Ok(Self { member: MemberOptions::new(member)?, state, snapshot, bucket, sha256, token })
    }
}

/// Why the agent ends before its command is done.
#[derive(Debug)]
pub(crate) enum CliExit {
    /// Help, the version, or what is wrong with the arguments.
    Arguments(clap::Error),
    Failed(CommandFailure),
}

impl From<CommandFailure> for CliExit {
    fn from(failure: CommandFailure) -> Self {
        Self::Failed(failure)
    }
}

impl CliExit {
    fn usage(why: impl std::fmt::Display) -> Self {
        Self::Arguments(Command::error(why))
    }

    /// Reports it on stderr, a failure to the kubelet too. An error in the arguments is one line, as the kubelet shows no more of
    /// the log.
    pub(crate) fn report(&self) -> ExitCode {
        match self {
            Self::Failed(failure) => failure.report(),
            Self::Arguments(error) if !error.use_stderr() => {
                // If it cannot be printed, there is no reader.
                let _ = error.print();
                ExitCode::SUCCESS
            }
            Self::Arguments(error) => {
                let command = std::env::args_os().nth(1).map(|command| command.to_string_lossy().into_owned());
                let command = command.filter(|command| !command.starts_with('-'));
                eprintln!("{}", sentence(error, command.as_deref()));
                ExitCode::from(AgentExit::Usage as u8)
            }
        }
    }
}

/// The first paragraph of `clap`'s error, and how to print the help.
fn sentence(error: &clap::Error, command: Option<&str>) -> String {
    let agent = command.map_or_else(|| "agent".to_owned(), |command| format!("agent {command}"));
    if error.kind() == clap::error::ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        return format!("{agent}: there is no command; agent --help lists them");
    }
    let text = error.to_string();
    let first = text.split("\n\n").next().unwrap_or_default();
    let lines: Vec<&str> = first.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let why = lines.join(" ");
    format!(
        "{agent}: {}; agent --help lists the commands, and agent COMMAND --help their flags",
        why.trim_start_matches("error: ")
    )
}

#[cfg(test)]
mod tests;
