//! Arguments: a verb, and its flags.

use std::ffi::OsString;
use std::fmt;
use std::net::IpAddr;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use lexopt::{Arg, Parser, ValueExt};

use self::stop::{Stop, wrong};
use crate::dns;
use crate::keeper::Keep;
use crate::limits::Planned;
use crate::plan::{Expect, Subject};
use crate::postgres::Verb;
use crate::url::PeerUrl;

mod flags;
mod help;
mod help_postgres;
mod help_upgrade;
mod postgres;
mod postgres_flags;
mod stop;
mod upgrade;

#[derive(Debug)]
pub(crate) enum Command {
    /// Help, or the version.
    Say(String),
    Install {
        directory: PathBuf,
        passwd: Option<PathBuf>,
    },
    EtcdWait(WaitOptions),
    EtcdRun(RunOptions),
    EtcdKeep(Keep),
    Postgres(Verb),
}

/// What both verbs about a member are told of it.
#[derive(Debug)]
pub(crate) struct MemberOptions {
    pub(crate) name: String,
    pub(crate) url: PeerUrl,
    pub(crate) data_dir: PathBuf,
    pub(crate) expect: Expect,
    pub(crate) peers_url: Option<PeerUrl>,
    /// From POD_IP; empty if that is not known.
    pub(crate) own_addresses: Vec<IpAddr>,
}

impl MemberOptions {
    pub(crate) fn subject(&self) -> Subject<'_> {
        Subject { name: &self.name, url: &self.url, data_dir: &self.data_dir }
    }
}

#[derive(Debug)]
pub(crate) struct WaitOptions {
    pub(crate) member: MemberOptions,
    pub(crate) dns_timeout: Option<Duration>,
    pub(crate) install: Option<PathBuf>,
}

#[derive(Debug)]
pub(crate) struct RunOptions {
    pub(crate) member: MemberOptions,
    pub(crate) state: PathBuf,
    pub(crate) limits: Planned,
    pub(crate) volume_port: Option<u16>,
    pub(crate) command: Vec<OsString>,
}

/// An error is a sentence for whoever wrote the command line.
pub(crate) fn parse(arguments: impl IntoIterator<Item = OsString>) -> Result<Command, String> {
    let mut parser = Parser::from_iter(arguments);
    let first = parser.next().map_err(|error| format!("agent: {error}"))?;
    let verb = match first {
        Some(Arg::Value(verb)) => verb.to_string_lossy().into_owned(),
        Some(Arg::Short('h') | Arg::Long("help")) => return Ok(Command::Say(help::AGENT.into())),
        Some(Arg::Short('V') | Arg::Long("version")) => {
            return Ok(Command::Say(concat!("agent ", env!("CARGO_PKG_VERSION")).into()));
        }
        Some(other) => return Err(format!("agent: {}; agent --help lists the verbs", other.unexpected())),
        None => return Err("agent: there is no verb; agent --help lists them".into()),
    };
    let (outcome, help) = match verb.as_str() {
        "install" => (install(&mut parser), help::INSTALL),
        "etcd-wait" => (etcd_wait(&mut parser), help::ETCD_WAIT),
        "etcd-run" => (etcd_run(&mut parser), help::ETCD_RUN),
        "etcd-keep" => (etcd_keep(&mut parser), help::ETCD_KEEP),
        other => match postgres::parse(other, &mut parser) {
            Some((outcome, help)) => (outcome.map(Command::Postgres), help),
            None => return Err(format!("agent: there is no verb {verb}; agent --help lists them")),
        },
    };
    match outcome {
        Ok(command) => Ok(command),
        Err(Stop::Help) => Ok(Command::Say(help.into())),
        Err(Stop::Wrong(why)) => Err(format!("agent {verb}: {why}; agent {verb} --help lists its flags")),
    }
}

fn install(parser: &mut Parser) -> Result<Command, Stop> {
    let (mut directory, mut passwd) = (None, None);
    while let Some(argument) = parser.next()? {
        match argument {
            Arg::Short('h') | Arg::Long("help") => return Err(Stop::Help),
            Arg::Long("passwd") => passwd = Some(parser.value()?.into()),
            Arg::Value(value) if directory.is_none() => directory = Some(value.into()),
            other => return Err(other.unexpected().into()),
        }
    }
    let Some(directory) = directory else { return wrong("there is no directory") };
    Ok(Command::Install { directory, passwd })
}

fn etcd_wait(parser: &mut Parser) -> Result<Command, Stop> {
    let mut flags = MemberFlags::default();
    let mut dns_timeout = None;
    let mut install = None;
    while let Some(argument) = parser.next()? {
        match argument {
            Arg::Long("dns-timeout") => {
                let seconds: u64 = value(parser, "--dns-timeout")?;
                // A day is for ever here, and some numbers of seconds no clock can count.
                dns_timeout = (seconds > 0).then(|| Duration::from_secs(seconds.min(86_400)));
            }
            Arg::Long("install") => install = Some(parser.value()?.into()),
            Arg::Long(flag) => {
                let flag = flag.to_owned();
                flags.take(&flag, parser)?;
            }
            Arg::Short('h') => return Err(Stop::Help),
            other => return Err(other.unexpected().into()),
        }
    }
    Ok(Command::EtcdWait(WaitOptions { member: flags.complete()?, dns_timeout, install }))
}

fn etcd_run(parser: &mut Parser) -> Result<Command, Stop> {
    let mut flags = MemberFlags::default();
    let (mut state, mut limits, mut volume_port) = (None, Planned::default(), None);
    let mut command = Vec::new();
    while let Some(argument) = parser.next()? {
        match argument {
            Arg::Long("state") => state = Some(PathBuf::from(parser.value()?)),
            Arg::Long("reserve") => limits.reserve = Some(value(parser, "--reserve")?),
            Arg::Long("quota") => limits.quota = Some(value(parser, "--quota")?),
            Arg::Long("snapshot-count") => limits.snapshot_count = Some(value(parser, "--snapshot-count")?),
            Arg::Long("volume-port") => volume_port = Some(value(parser, "--volume-port")?),
            Arg::Long(flag) => {
                let flag = flag.to_owned();
                flags.take(&flag, parser)?;
            }
            Arg::Short('h') => return Err(Stop::Help),
            Arg::Value(program) => {
                command.push(program);
                command.extend(parser.raw_args()?);
            }
            other => return Err(other.unexpected().into()),
        }
    }
    let member = flags.complete()?;
    match state {
        None => wrong("--state is missing"),
        Some(_) if command.is_empty() => wrong("there is no command after --"),
        Some(state) => Ok(Command::EtcdRun(RunOptions { member, state, limits, volume_port, command })),
    }
}

fn etcd_keep(parser: &mut Parser) -> Result<Command, Stop> {
    let (mut data_dir, mut reserve, mut beside, mut release, mut volume_port) = (None, None, None, false, None);
    while let Some(argument) = parser.next()? {
        match argument {
            Arg::Short('h') | Arg::Long("help") => return Err(Stop::Help),
            Arg::Long("data-dir") => data_dir = Some(parser.value()?.into()),
            Arg::Long("reserve") => reserve = Some(value(parser, "--reserve")?),
            Arg::Long("beside") => beside = Some(value(parser, "--beside")?),
            Arg::Long("release") => release = true,
            Arg::Long("volume-port") => volume_port = Some(value(parser, "--volume-port")?),
            other => return Err(other.unexpected().into()),
        }
    }
    Ok(Command::EtcdKeep(Keep {
        data_dir: given(data_dir, "--data-dir")?,
        reserve: given(reserve, "--reserve")?,
        beside: given(beside, "--beside")?,
        release,
        volume_port,
    }))
}

#[derive(Default)]
struct MemberFlags {
    name: Option<String>,
    url: Option<PeerUrl>,
    data_dir: Option<PathBuf>,
    expect: Option<Expect>,
    peers_url: Option<PeerUrl>,
}

impl MemberFlags {
    fn take(&mut self, flag: &str, parser: &mut Parser) -> Result<(), Stop> {
        match flag {
            "help" => return Err(Stop::Help),
            "name" => self.name = Some(value(parser, "--name")?),
            "peer-url" => self.url = Some(value(parser, "--peer-url")?),
            "data-dir" => self.data_dir = Some(parser.value()?.into()),
            "expect" => self.expect = Some(value(parser, "--expect")?),
            "peers-url" => self.peers_url = Some(value(parser, "--peers-url")?),
            _ => return wrong(format!("there is no flag --{flag}")),
        }
        Ok(())
    }

    fn complete(self) -> Result<MemberOptions, Stop> {
        let expect = given(self.expect, "--expect")?;
        if expect == Expect::Join && self.peers_url.is_none() {
            return wrong("--expect join needs --peers-url: it says whom to ask");
        }
        Ok(MemberOptions {
            name: given(self.name, "--name")?,
            url: given(self.url, "--peer-url")?,
            data_dir: given(self.data_dir, "--data-dir")?,
            expect,
            peers_url: self.peers_url,
            own_addresses: dns::own_addresses(&std::env::var("POD_IP").unwrap_or_default()).or_else(wrong)?,
        })
    }
}

fn given<T>(value: Option<T>, flag: &str) -> Result<T, Stop> {
    value.map_or_else(|| wrong(format!("{flag} is missing")), Ok)
}

fn value<T: FromStr<Err: fmt::Display>>(parser: &mut Parser, flag: &str) -> Result<T, Stop> {
    let text = parser.value()?.string()?;
    text.parse().or_else(|error| wrong(format!("{flag} {text}: {error}")))
}

impl FromStr for Expect {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "new" => Ok(Self::New),
            "join" => Ok(Self::Join),
            // Of a pod without the annotation that is to say it, which somebody has taken off.
            "data" | "" => Ok(Self::Data),
            _ => Err("it must be new, join or data"),
        }
    }
}

#[cfg(test)]
mod tests;
