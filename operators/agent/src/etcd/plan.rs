//! Pure: how etcd starts, or why not, given what the agent found.

use std::fmt;
use std::path::Path;

use agent_protocol::Expect;

use crate::etcd::members::{MemberListEntry, initial_cluster};
use crate::etcd::url::PeerUrl;
use crate::failure::{CommandFailure, Reason};

/// What the pod's start marker says about earlier starts of etcd in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PreviousRun {
    /// etcd was never started in this pod.
    None,
    /// etcd was started, and exited before it created its log: it has acknowledged nothing.
    NothingKept,
    /// etcd had a log.
    HadData,
}

/// The member that the command is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct MemberIdentity<'a> {
    pub(crate) name: &'a str,
    pub(crate) url: &'a PeerUrl,
    pub(crate) data_dir: &'a Path,
}

/// Whether a wait begins with a query to the cluster. Existing data always takes precedence: etcd itself checks whose it is.
pub(crate) fn asks_cluster(identity: &MemberIdentity<'_>, data: bool, expect: Expect) -> Result<bool, CommandFailure> {
    match expect {
        _ if data => Ok(false),
        Expect::New => Ok(false),
        Expect::Join => Ok(true),
        Expect::Data | Expect::Variable => Err(in_use_and_empty(identity)),
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StartMode {
    /// On existing data: etcd would ignore flags about the initial cluster.
    OnData,
    NewCluster,
    Join,
}

pub(crate) fn start(
    identity: &MemberIdentity<'_>,
    data: bool,
    expect: Expect,
    past: PreviousRun,
) -> Result<StartMode, CommandFailure> {
    match (expect, past) {
        _ if data => Ok(StartMode::OnData),
        (_, PreviousRun::HadData) => {
            Err(missing(format!("etcd has run in this pod before, and {} is missing", log(identity))))
        }
        (Expect::Data | Expect::Variable, _) => Err(in_use_and_empty(identity)),
        (Expect::New, _) => Ok(StartMode::NewCluster),
        (Expect::Join, _) => Ok(StartMode::Join),
    }
}

/// What the members that answer report about this one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum MembershipCheck {
    /// No member answers; the reason, as far as the agent knows it.
    NoAnswer(String),
    NotListed,
    /// Listed, and not started yet: it may start, with these members.
    Listed(Vec<MemberListEntry>),
    /// Started before, under this name and id.
    Started(MemberListEntry),
    /// One member lists this one as started, another as new: one of them lags behind.
    Disagreement,
}

impl fmt::Display for MembershipCheck {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoAnswer(why) => write!(formatter, "no member answers: {why}"),
            Self::NotListed => formatter.write_str("its members do not list it yet"),
            Self::Listed(_) => formatter.write_str("it is listed"),
            Self::Started(_) => formatter.write_str("it is listed as started"),
            Self::Disagreement => formatter.write_str("its members do not agree whether it has been started"),
        }
    }
}

/// Combines the answers, one for each queried address.
pub(crate) fn listing(answers: Vec<Result<Vec<MemberListEntry>, String>>, url: &PeerUrl) -> MembershipCheck {
    let why = answers.iter().find_map(|answer| answer.as_ref().err().cloned());
    let lists: Vec<Vec<MemberListEntry>> = answers.into_iter().flatten().collect();
    if lists.is_empty() {
        return MembershipCheck::NoAnswer(why.unwrap_or_else(|| "there is no other pod".into()));
    }
    let own = || lists.iter().flatten().filter(|member| member.has(url));
    let started = own().find(|member| member.started());
    let fresh = own().any(|member| !member.started());
    match (started, fresh) {
        (Some(_), true) => MembershipCheck::Disagreement,
        (Some(member), false) => MembershipCheck::Started(member.clone()),
        (None, true) => {
            let knows = |list: &Vec<MemberListEntry>| list.iter().any(|member| member.has(url));
            MembershipCheck::Listed(lists.into_iter().find(knows).unwrap_or_default())
        }
        (None, false) => MembershipCheck::NotListed,
    }
}

/// The members to start with; none if the cluster does not list this one yet.
pub(crate) fn listed_members(
    identity: &MemberIdentity<'_>,
    listing: MembershipCheck,
) -> Result<Option<Vec<MemberListEntry>>, CommandFailure> {
    match listing {
        MembershipCheck::Listed(members) => Ok(Some(members)),
        MembershipCheck::Started(member) => Err(missing(format!(
            "the cluster lists {} as {} (member {}), which has been started before, and {} is missing",
            identity.url,
            member.name,
            member.hex_id(),
            log(identity),
        ))),
        MembershipCheck::NoAnswer(_) | MembershipCheck::NotListed | MembershipCheck::Disagreement => Ok(None),
    }
}

/// The arguments for etcd, in addition to its own, that begin a cluster.
pub(crate) fn new_cluster_arguments(identity: &MemberIdentity<'_>) -> [String; 2] {
    let MemberIdentity { name, url, .. } = identity;
    [format!("--initial-cluster={name}={url}"), "--initial-cluster-state=new".into()]
}

/// The arguments for etcd, in addition to its own, that join these members.
pub(crate) fn join_arguments(identity: &MemberIdentity<'_>, members: &[MemberListEntry]) -> [String; 2] {
    let cluster = initial_cluster(members, identity.name, identity.url);
    [format!("--initial-cluster={cluster}"), "--initial-cluster-state=existing".into()]
}

fn in_use_and_empty(identity: &MemberIdentity<'_>) -> CommandFailure {
    missing(format!("member {} has been in use, and {} is missing", identity.name, log(identity)))
}

fn log(identity: &MemberIdentity<'_>) -> String {
    format!("its data in {}", identity.data_dir.display())
}

fn missing(what: String) -> CommandFailure {
    let why = "started now, it would be a voter that has forgotten what it acknowledged";
    CommandFailure::new(Reason::DataMissing, format!("{what}; etcd is not started: {why}"))
}

#[cfg(test)]
#[path = "plan_tests.rs"]
mod tests;
