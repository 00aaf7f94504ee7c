//! The commands for members of etcd clusters, and what they report.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use clap::Args;
use serde::{Deserialize, Serialize};

use crate::argv::{AgentCommand, Argv};
use crate::values::Seconds;

/// The environment variable of a pod with the expectation of its member, in place of which the kubelet puts the value.
pub const START_VARIABLE: &str = "MULTI_OPERATOR_START";

/// What the operator knows of a member; existing data takes precedence.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Expect {
    /// The first member of a new cluster.
    New,
    /// A member that the operator is adding to the cluster.
    Join,
    /// A member that has been in use.
    #[default]
    Data,
    /// As [`START_VARIABLE`] says when the container starts. The agent itself never sees this, unless the pod lacks the variable.
    Variable,
}

impl fmt::Display for Expect {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::New => formatter.write_str("new"),
            Self::Join => formatter.write_str("join"),
            Self::Data => formatter.write_str("data"),
            Self::Variable => write!(formatter, "$({START_VARIABLE})"),
        }
    }
}

impl FromStr for Expect {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "new" => Ok(Self::New),
            "join" => Ok(Self::Join),
            // Empty where the annotation was removed that the variable is filled from.
            "data" | "" => Ok(Self::Data),
            _ if text == Self::Variable.to_string() => Ok(Self::Variable),
            _ => Err("it must be new, join or data"),
        }
    }
}

/// Which member it is.
#[derive(Args, Clone, Debug, Default, PartialEq, Eq)]
pub struct MemberArgs {
    /// Name of the member
    #[arg(long, value_name = "POD")]
    pub name: String,
    /// Peer URL of the member: http://host:port or https://host:port
    #[arg(long, value_name = "URL")]
    pub peer_url: String,
    /// Where to list the members: such a URL, too; all addresses of the host. Required for --expect join
    #[arg(long, value_name = "URL", required_if_eq("expect", "join"))]
    pub peers_url: Option<String>,
    /// More such URLs, separated by commas: of the members of a cluster that is taken over
    #[arg(long, value_name = "URL,...", value_delimiter = ',')]
    pub earlier_peers: Vec<String>,
    /// etcd's data directory
    #[arg(long, value_name = "DIRECTORY")]
    pub data_dir: PathBuf,
    /// What to do without data. new: begin a new cluster. join: wait until the cluster lists --peer-url, or fail with DataMissing
    /// if it lists that as started before. data, or nothing (--expect=): fail with DataMissing, for the member has been in use
    #[arg(long, value_name = "new|join|data")]
    pub expect: Expect,
    /// With an https --peer-url: directory with the certificate for other members, its key, and the authorities: peer.crt,
    /// peer.key and peer-ca.crt, or tls.crt, tls.key and ca.crt
    #[arg(long, value_name = "DIRECTORY")]
    pub peer_tls: Option<PathBuf>,
}

impl MemberArgs {
    pub(crate) fn render(&self, argv: &mut Argv) {
        argv.value("name", &self.name);
        argv.value("peer-url", &self.peer_url);
        argv.values("peers-url", &self.peers_url);
        argv.values("earlier-peers", (!self.earlier_peers.is_empty()).then(|| self.earlier_peers.join(",")));
        argv.value("data-dir", self.data_dir.display());
        argv.value("expect", self.expect);
        argv.values("peer-tls", self.peer_tls.as_ref().map(|directory| directory.display()));
    }
}

/// Waits until a member of an etcd cluster may start: the init container of its pod.
///
/// POD_IP in the environment: the address of the pod, or several, separated by commas. The host of --peer-url must resolve to one
/// of them.
///
/// At the end, the agent writes the sizes of the data's file system and of the database to the termination message:
/// {"volumeBytes": BYTES, "databaseBytes": BYTES}.
#[derive(Args, Clone, Debug, Default, PartialEq, Eq)]
#[command(args_override_self = true)]
pub struct EtcdWait {
    /// First does what agent install does
    #[arg(long, value_name = "DIRECTORY")]
    pub install: Option<PathBuf>,
    /// Which member it is
    #[command(flatten)]
    pub member: MemberArgs,
    /// How many seconds to wait until the host of --peer-url resolves (0: forever)
    #[arg(long, value_name = "SECONDS", default_value_t)]
    pub dns_timeout: Seconds<0>,
}

impl AgentCommand for EtcdWait {
    const NAME: &'static str = "etcd-wait";

    fn render(&self, argv: &mut Argv) {
        if let Some(directory) = &self.install {
            argv.pair("install", directory.display());
        }
        self.member.render(argv);
        argv.unless_default("dns-timeout", &self.dns_timeout);
    }
}

/// Checks a member's data, and executes etcd: runs at every start of etcd's container.
///
/// The agent lowers --reserve, --quota and --snapshot-count to what fits the data's file system, by the rule of
/// docs/etcd-cluster.md, and reports that in a line on stderr. It neither lowers nor passes a limit that is not given, with two
/// exceptions. A database that is larger than --quota may grow by a tenth, as far as there is space. If there is no space in
/// addition to the reserve and the log's next segment, the agent also lowers a larger quota in etcd's ARGUMENTs or environment,
/// to what fits or to the size of the database; a database that has reached its quota then gets the reserve as well, for a
/// defragmentation.
///
/// With --reserve, agent etcd-keep runs next to etcd, as its child, and exits with it.
///
/// With --peer-tls and --server-tls, etcd also gets the flags with the files in them, and requires certificates of the other side.
/// If one is missing, that is BadInput.
///
/// If there is data, etcd starts with its arguments otherwise unchanged. At its first start it also gets --initial-cluster and
/// --initial-cluster-state: new, or for --expect join the members that the cluster lists (queried for up to 30 s). An etcd that
/// exited before it created its log has lost nothing, and is started again.
#[derive(Args, Clone, Debug, Default, PartialEq, Eq)]
#[command(args_override_self = true)]
pub struct EtcdRun {
    /// A directory that lives as long as the pod. The agent records there that etcd was started, so that it does not recreate
    /// data that vanishes afterwards: DataMissing
    #[arg(long, value_name = "DIRECTORY")]
    pub state: PathBuf,
    /// Which member it is
    #[command(flatten)]
    pub member: MemberArgs,
    /// Directory with the certificate for clients, its key, and the authorities: server.crt, server.key and server-ca.crt, or
    /// tls.crt, tls.key and ca.crt
    #[arg(long, value_name = "DIRECTORY")]
    pub server_tls: Option<PathBuf>,
    /// Reserves this much space on the volume of the data (in the file reserve next to it), and releases it if the volume is
    /// full. If it has been released already: NoSpace, the first time in the life of --state; then waits until there is space
    #[arg(long, value_name = "BYTES")]
    pub reserve: Option<u64>,
    /// With --reserve: serves at this port, while etcd runs, how full the volume is
    #[arg(long, value_name = "PORT")]
    pub volume_port: Option<u16>,
    /// Passes etcd this --quota-backend-bytes
    #[arg(long, value_name = "BYTES")]
    pub quota: Option<u64>,
    /// Passes etcd this --snapshot-count
    #[arg(long, value_name = "ENTRIES")]
    pub snapshot_count: Option<u64>,
    /// etcd and its arguments
    #[arg(last = true, required = true, value_name = "ARGUMENT")]
    pub command: Vec<String>,
}

impl AgentCommand for EtcdRun {
    const NAME: &'static str = "etcd-run";

    fn render(&self, argv: &mut Argv) {
        argv.pair("state", self.state.display());
        self.member.render(argv);
        argv.values("server-tls", self.server_tls.as_ref().map(|directory| directory.display()));
        argv.values("reserve", self.reserve);
        argv.values("volume-port", self.volume_port);
        argv.values("quota", self.quota);
        argv.values("snapshot-count", self.snapshot_count);
        argv.word("--");
        self.command.iter().for_each(|word| argv.word(word));
    }
}

/// Makes a member the only one of its cluster, after the others are lost: an init step of its pod.
///
/// First commits every entry of the member's log: some that clients rely on may not count as committed there. Then starts etcd with
/// --force-new-cluster, at addresses that only the agent knows, until it serves, and ends it. The cluster and the member keep their ids.
///
/// Does nothing unless --start is recover, and nothing the second time in the life of --state: members that have been added since would be
/// removed as well.
///
/// Uses etcd and etcdctl, from PATH or /usr/local/bin.
///
/// Reasons: DataMissing DataUnreadable ForeignData NoSpace PermissionDenied Corrupt RestoreFailed StateUnusable ToolFailed ToolMissing
#[derive(Args, Clone, Debug, Default, PartialEq, Eq)]
#[command(args_override_self = true)]
pub struct EtcdRecover {
    /// The directory of etcd-run, which lives as long as the pod
    #[arg(long, value_name = "DIRECTORY")]
    pub state: PathBuf,
    /// The value of the pod's annotation when the container starts
    #[arg(long, value_name = "recover")]
    pub start: String,
    /// Which member it is
    #[command(flatten)]
    pub member: MemberArgs,
}

impl EtcdRecover {
    /// The value of [`START_VARIABLE`] for which it recovers the member.
    pub const START: &'static str = "recover";
}

impl AgentCommand for EtcdRecover {
    const NAME: &'static str = "etcd-recover";

    fn render(&self, argv: &mut Argv) {
        argv.pair("state", self.state.display());
        argv.value("start", &self.start);
        self.member.render(argv);
    }
}

/// Takes the reserve back while etcd runs: part by part, once the file system has three times as much free.
#[derive(Args, Clone, Debug, Default, PartialEq, Eq)]
pub struct EtcdKeep {
    /// etcd's data directory
    #[arg(long, value_name = "DIRECTORY")]
    pub data_dir: PathBuf,
    /// The space to reserve next to it
    #[arg(long, value_name = "BYTES")]
    pub reserve: u64,
    /// The parent process; etcd-keep exits with it
    #[arg(long = "beside", value_name = "PID")]
    pub parent: i32,
    /// First releases the reserve, once etcd is up
    #[arg(long)]
    pub release: bool,
    /// Reports at this port, over HTTP, how full the volume is: {"volumeBytes":1,"freeBytes":1,"files":1,"freeFiles":1}
    #[arg(long, value_name = "PORT")]
    pub volume_port: Option<u16>,
}

impl AgentCommand for EtcdKeep {
    const NAME: &'static str = "etcd-keep";

    fn render(&self, argv: &mut Argv) {
        argv.pair("data-dir", self.data_dir.display());
        argv.value("reserve", self.reserve);
        argv.value("beside", self.parent);
        argv.switch("release", self.release);
        argv.values("volume-port", self.volume_port);
    }
}

/// What `etcd-wait` found before etcd's first start in a pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct EtcdWaitResult {
    /// The size of the file system that the data is on.
    pub volume_bytes: u64,
    /// The size of the database; earlier agents did not report it.
    #[serde(default)]
    pub database_bytes: u64,
}

/// How full a member's volume is, as `etcd-keep` serves it: what the file system reports; a quota or a device may leave less.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct VolumeReport {
    /// The size of the file system.
    pub volume_bytes: u64,
    /// How much of it is free.
    pub free_bytes: u64,
    /// How many files it can have; 0 where there is no limit.
    pub files: u64,
    /// How many more of these.
    pub free_files: u64,
}
