//! Pure: what to do, given what was seen.

use std::fmt;
use std::path::Path;

use agent_protocol::Expect;

use crate::etcd::members::{Member, initial_cluster};
use crate::etcd::url::PeerUrl;
use crate::failure::{Failure, Reason};

/// What the pod remembers of earlier starts of etcd in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PreviousRun {
    /// etcd was never started in this pod.
    None,
    /// etcd was started, and ended before it made its log: it has acknowledged nothing.
    NothingKept,
    /// etcd had a log.
    HadData,
}

/// The member concerned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct MemberIdentity<'a> {
    pub(crate) name: &'a str,
    pub(crate) url: &'a PeerUrl,
    pub(crate) data_dir: &'a Path,
}

/// Whether a wait begins with asking the cluster. Data that is there always wins: etcd itself checks whose it is.
pub(crate) fn asks_cluster(subject: &MemberIdentity<'_>, data: bool, expect: Expect) -> Result<bool, Failure> {
    match expect {
        _ if data => Ok(false),
        Expect::New => Ok(false),
        Expect::Join => Ok(true),
        Expect::Data | Expect::Variable => Err(in_use_and_empty(subject)),
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Start {
    /// On its data: flags about the initial cluster would be ignored.
    OnData,
    NewCluster,
    Join,
}

pub(crate) fn start(
    subject: &MemberIdentity<'_>,
    data: bool,
    expect: Expect,
    past: PreviousRun,
) -> Result<Start, Failure> {
    match (expect, past) {
        _ if data => Ok(Start::OnData),
        (_, PreviousRun::HadData) => {
            Err(missing(format!("etcd has run in this pod before, and {} is gone", log(subject))))
        }
        (Expect::Data | Expect::Variable, _) => Err(in_use_and_empty(subject)),
        (Expect::New, _) => Ok(Start::NewCluster),
        (Expect::Join, _) => Ok(Start::Join),
    }
}

/// What the members that answer say of ours.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum MembershipCheck {
    /// No member answers; why, as far as the agent knows.
    NoAnswer(String),
    NotListed,
    /// Not started yet: it may start, among these.
    Listed(Vec<Member>),
    /// Started before, under this name and id.
    Started(Member),
    /// One member lists ours as started, another as new: one of them lags behind.
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

/// One entry an address asked.
pub(crate) fn listing(answers: Vec<Result<Vec<Member>, String>>, url: &PeerUrl) -> MembershipCheck {
    let why = answers.iter().find_map(|answer| answer.as_ref().err().cloned());
    let lists: Vec<Vec<Member>> = answers.into_iter().flatten().collect();
    if lists.is_empty() {
        return MembershipCheck::NoAnswer(why.unwrap_or_else(|| "there is no other pod to ask".into()));
    }
    let ours = || lists.iter().flatten().filter(|member| member.has(url));
    let started = ours().find(|member| member.started());
    let fresh = ours().any(|member| !member.started());
    match (started, fresh) {
        (Some(_), true) => MembershipCheck::Disagreement,
        (Some(member), false) => MembershipCheck::Started(member.clone()),
        (None, true) => {
            let knows = |list: &Vec<Member>| list.iter().any(|member| member.has(url));
            MembershipCheck::Listed(lists.into_iter().find(knows).unwrap_or_default())
        }
        (None, false) => MembershipCheck::NotListed,
    }
}

/// The members to start among, or nothing yet.
pub(crate) fn listed_members(
    subject: &MemberIdentity<'_>,
    listing: MembershipCheck,
) -> Result<Option<Vec<Member>>, Failure> {
    match listing {
        MembershipCheck::Listed(members) => Ok(Some(members)),
        MembershipCheck::Started(member) => Err(missing(format!(
            "the cluster lists {} as {} (member {}), which has been started before, and {} is gone",
            subject.url,
            member.name,
            member.hex_id(),
            log(subject),
        ))),
        MembershipCheck::NoAnswer(_) | MembershipCheck::NotListed | MembershipCheck::Disagreement => Ok(None),
    }
}

/// What etcd gets beside its own arguments in order to begin a cluster.
pub(crate) fn new_cluster_arguments(subject: &MemberIdentity<'_>) -> [String; 2] {
    let MemberIdentity { name, url, .. } = subject;
    [format!("--initial-cluster={name}={url}"), "--initial-cluster-state=new".into()]
}

/// What etcd gets beside its own arguments in order to join these members.
pub(crate) fn join_arguments(subject: &MemberIdentity<'_>, members: &[Member]) -> [String; 2] {
    let cluster = initial_cluster(members, subject.name, subject.url);
    [format!("--initial-cluster={cluster}"), "--initial-cluster-state=existing".into()]
}

fn in_use_and_empty(subject: &MemberIdentity<'_>) -> Failure {
    missing(format!("member {} has been in use, and {} is gone", subject.name, log(subject)))
}

fn log(subject: &MemberIdentity<'_>) -> String {
    format!("its data in {}", subject.data_dir.display())
}

fn missing(what: String) -> Failure {
    let why = "started now, it would be a voter that has forgotten what it acknowledged";
    Failure::new(Reason::DataMissing, format!("{what}; etcd is not started: {why}"))
}

#[cfg(test)]
#[path = "plan_tests.rs"]
mod tests;
