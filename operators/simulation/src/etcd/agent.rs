//! The agent in the pods of members, by the rules of `operators/agent/src/etcd/plan.rs`: whether etcd may start, and on what.

use agent_protocol::{EtcdWaitResult, Expect, FailureMessage, FailureReason, MemberArgs};
use serde_json::json;

use super::store::{Data, Etcds};
use crate::actors::pods::program::ProgramState;

/// What the file system of a volume of 1Gi has.
pub(super) const VOLUME_BYTES: u64 = 1_054_257_152;
/// The size of a database.
pub(super) const DATABASE_BYTES: u64 = 20_480;

/// What a member is started with.
pub(super) struct Start<'a> {
    /// Its pod.
    pub(super) pod: &'a str,
    /// The volume of its data.
    pub(super) volume: &'a str,
    /// The arguments of the agent.
    pub(super) member: &'a MemberArgs,
    /// `--initial-cluster-token` of etcd.
    pub(super) token: &'a str,
}

/// Whether the members that answer list a member.
enum Listing {
    NotYet,
    Listed(Data),
    Started,
}

/// `agent etcd-wait`: whether the wait is over.
pub(super) fn wait(etcds: &Etcds, pod: &str, volume: &str, member: &MemberArgs) -> ProgramState {
    let is_over = match member.expect {
        _ if etcds.volumes.contains_key(volume) => true,
        Expect::New => true,
        Expect::Join => match listing(etcds, pod, member) {
            Listing::Listed(_) => true,
            Listing::Started => return missing("the cluster lists it as started before, and its data is missing"),
            Listing::NotYet => false,
        },
        Expect::Data | Expect::Variable => return missing("it has been in use, and its data is missing"),
    };
    let result = EtcdWaitResult { volume_bytes: VOLUME_BYTES, database_bytes: DATABASE_BYTES };
    if is_over { ProgramState::succeeded(json!(result).to_string()) } else { ProgramState::Running { ready: false } }
}

/// `agent etcd-run`: the data on which etcd starts.
pub(super) fn run(etcds: &mut Etcds, start: &Start<'_>) -> Result<Data, ProgramState> {
    if let Some(data) = etcds.volumes.get(start.volume) {
        return Ok(data.clone());
    }
    let member = start.member;
    match member.expect {
        _ if etcds.started.contains(start.pod) => {
            Err(missing("etcd has run in this pod before, and its data is missing"))
        }
        Expect::New => {
            let domain = member.peers_url.clone().unwrap_or_default();
            Ok(etcds.bootstrap(start.token, &member.peer_url, &domain, &member.name))
        }
        Expect::Join => match listing(etcds, start.pod, member) {
            Listing::Listed(data) => Ok(data),
            Listing::Started => Err(missing("the cluster lists it as started before, and its data is missing")),
            Listing::NotYet => Err(failed(FailureReason::NotListed, "the cluster has not listed it within 30 s")),
        },
        Expect::Data | Expect::Variable => Err(missing("it has been in use, and its data is missing")),
    }
}

fn missing(why: &str) -> ProgramState {
    failed(FailureReason::DataMissing, why)
}

fn failed(reason: FailureReason, why: &str) -> ProgramState {
    let failure = FailureMessage { reason, message: why.to_owned(), closed: None };
    let code = reason.exit() as i64;
    ProgramState::failed(code, json!(failure).to_string())
}

/// Queries all other members of the domain. Some of them may lag behind.
fn listing(etcds: &Etcds, pod: &str, member: &MemberArgs) -> Listing {
    let domain = member.peers_url.as_deref().unwrap_or_default();
    let others = etcds.processes.iter().filter(|(other, process)| *other != pod && process.domain == domain);
    let lists: Vec<&Data> = others.filter_map(|(other, _)| etcds.data(other)).collect();
    let is_meant = |urls: &[String]| urls.contains(&member.peer_url);
    let listed = || lists.iter().flat_map(|data| &data.members).filter(|other| is_meant(&other.peer_urls));
    let is_started = listed().any(|other| !other.name.is_empty());
    let found = lists.iter().find_map(|data| {
        let own = data.members.iter().find(|other| is_meant(&other.peer_urls) && other.name.is_empty())?;
        Some(Data { cluster: data.cluster, member: own.id, index: 0, members: data.members.clone() })
    });
    match (is_started, found) {
        (false, Some(data)) => Listing::Listed(data),
        (true, None) => Listing::Started,
        // One of the members lags behind, or none lists it yet.
        (true, Some(_)) | (false, None) => Listing::NotYet,
    }
}
