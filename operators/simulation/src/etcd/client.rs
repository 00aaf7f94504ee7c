//! The client through which a manager reaches etcd, in place of `GrpcEtcdClient`: the same calls in the same order, and the same
//! conclusions from their answers.

use std::collections::BTreeSet;
use std::time::Duration;

use agent_protocol::VolumeReport;
use etcd_cluster::etcd::responses::{self, MemberResponse, Status};
use etcd_cluster::etcd::{EtcdClient, EtcdClientError, MemberEndpoint, act};
use etcd_cluster::plan::{EndpointStatus, Etcd, EtcdChange, ListedMember};
use futures::future::join_all;
use runtime::Error;
use tokio::time::sleep;

use super::agent::{DATABASE_BYTES, VOLUME_BYTES};
use super::model::EtcdModel;
use super::store::Etcds;
use crate::call_faults::CallFate;

/// How long the calls of a query, of the probe before a change, and of a change may take.
const QUERY_TIMEOUT: Duration = Duration::from_secs(2);
const PROBE_TIMEOUT: Duration = Duration::from_secs(1);
const CHANGE_TIMEOUT: Duration = Duration::from_secs(5);
/// How many members are queried for the list, one after the other.
const LIST_ATTEMPTS: usize = 2;
/// What is left of a volume, in files.
const FILES: u64 = 65_536;

/// A client of the clusters of a world.
pub struct SimulatedEtcdClient(EtcdModel);

impl SimulatedEtcdClient {
    pub(super) fn new(model: EtcdModel) -> Self {
        Self(model)
    }

    /// Makes a call to the member at an address.
    pub(super) async fn call<T>(
        &self,
        address: &str,
        timeout: Duration,
        perform: impl FnOnce(&mut Etcds, &str) -> Result<T, EtcdClientError>,
    ) -> Result<T, EtcdClientError> {
        let closed = || EtcdClientError::Connection("closed".to_owned());
        let handling = self.0.lock().faults.draw(address);
        match handling.fate {
            CallFate::Unreachable | CallFate::Silent => {
                sleep(timeout).await;
                return Err(EtcdClientError::Timeout(timeout));
            }
            CallFate::RequestLost => {
                sleep(handling.request_latency).await;
                return Err(closed());
            }
            CallFate::Answered | CallFate::AnswerLost => {}
        }
        sleep(handling.request_latency.min(timeout)).await;
        let answer = self.0.edit(|etcds| {
            let pod = etcds.at(address).map(str::to_owned).ok_or(EtcdClientError::Refused)?;
            perform(etcds, &pod)
        });
        let left = timeout.saturating_sub(handling.request_latency);
        if handling.answer_latency > left {
            sleep(left).await;
            return Err(EtcdClientError::Timeout(timeout));
        }
        sleep(handling.answer_latency).await;
        if handling.fate == CallFate::AnswerLost { Err(closed()) } else { answer }
    }

    async fn status(&self, address: &str, timeout: Duration) -> Result<Status, EtcdClientError> {
        self.call(address, timeout, |etcds, pod| status(etcds, pod)).await
    }

    async fn member(&self, MemberEndpoint { pod, address, .. }: &MemberEndpoint) -> MemberResponse {
        let status = self.status(address, QUERY_TIMEOUT).await;
        MemberResponse { pod: pod.clone(), address: address.clone(), status }
    }

    /// The members, from the first member that can list them.
    async fn listed(
        &self,
        all: &[MemberResponse],
        able: &[(&MemberResponse, &Status)],
    ) -> Result<Vec<ListedMember>, String> {
        let mut why_not = None;
        for (response, status) in able.iter().take(LIST_ATTEMPTS) {
            match self.call(&response.address, QUERY_TIMEOUT, |etcds, pod| list(etcds, pod)).await {
                Ok(members) => match responses::list_rejection(all, (response, status), &members) {
                    None => return Ok(members),
                    Some(why) => _ = why_not.get_or_insert(why),
                },
                Err(error) => _ = why_not.get_or_insert_with(|| responses::list_failure(&response.pod, &error)),
            }
        }
        Err(why_not.unwrap_or_default())
    }
}

impl EtcdClient for SimulatedEtcdClient {
    async fn query(&self, endpoints: &[MemberEndpoint], latched: Option<u64>) -> Etcd {
        if endpoints.is_empty() {
            return Etcd::default();
        }
        let all = join_all(endpoints.iter().map(|endpoint| self.member(endpoint))).await;
        let members = match responses::endpoints_to_query(&all, latched) {
            Ok(able) => self.listed(&all, &able).await,
            Err(why) => Err(why),
        };
        let endpoint = |response: MemberResponse| {
            (response.pod, response.status.map(|status| status.endpoint).map_err(|error| error.to_string()))
        };
        let endpoints = all.into_iter().map(endpoint).collect();
        Etcd { endpoints, members, ..Etcd::default() }
    }

    async fn cluster_version(&self, address: &str) -> Option<String> {
        self.call(address, QUERY_TIMEOUT, |etcds, pod| Ok(cluster_version(etcds, pod))).await.ok()?
    }

    async fn snapshot_receivers(&self, address: &str) -> BTreeSet<u64> {
        let none = self.call(address, QUERY_TIMEOUT, |_, _| Ok(BTreeSet::new())).await;
        none.unwrap_or_default()
    }

    async fn act(&self, endpoints: &[Box<str>], change: &EtcdChange) -> Result<(), Error> {
        let mut last = None;
        for address in endpoints {
            // A change that may have reached one member must not be sent to another one.
            match self.status(address, PROBE_TIMEOUT).await {
                Err(error) if !error.is_answer() => last = Some(error),
                _ => {
                    let sent = self.call(address, CHANGE_TIMEOUT, |etcds, pod| etcds.change(pod, change)).await;
                    return sent.or_else(|error| act::result(change, &error));
                }
            }
        }
        Err(act::unreachable(last.as_ref()))
    }
}

/// The status that the process of a pod reports.
fn status(etcds: &Etcds, pod: &str) -> Result<Status, EtcdClientError> {
    let process = etcds.processes.get(pod).ok_or(EtcdClientError::Refused)?;
    let data = etcds.data(pod).ok_or(EtcdClientError::Refused)?;
    let cluster = etcds.clusters.get(&data.cluster).ok_or(EtcdClientError::Refused)?;
    if etcds.waiting(data.cluster, cluster).contains(&data.member) {
        // It serves clients only once it has applied an entry.
        return Err(EtcdClientError::Refused);
    }
    let listed = cluster.members.iter().find(|member| member.id == data.member);
    let volume = VolumeReport {
        volume_bytes: VOLUME_BYTES,
        free_bytes: VOLUME_BYTES - VOLUME_BYTES / 8,
        files: FILES,
        free_files: FILES - 100,
    };
    let endpoint = EndpointStatus {
        cluster_id: data.cluster,
        member_id: data.member,
        version: process.version.to_string(),
        leader: listed.map_or(0, |_| cluster.leader),
        learner: listed.is_some_and(|member| member.learner),
        db_size: i64::try_from(DATABASE_BYTES).unwrap_or_default(),
        raft_index: data.index,
        applied_index: data.index,
        volume: Some(volume),
        ..EndpointStatus::default()
    };
    Ok(Status { endpoint, term: cluster.term, alarms: Some(Vec::new()) })
}

/// The members, as a member lists them that has just answered a linearizable read.
fn list(etcds: &Etcds, pod: &str) -> Result<Vec<ListedMember>, EtcdClientError> {
    let data = etcds.data(pod).ok_or(EtcdClientError::Refused)?;
    let cluster = etcds.clusters.get(&data.cluster).ok_or(EtcdClientError::Refused)?;
    if cluster.leader == 0 || !cluster.voters().any(|voter| voter.id == data.member) {
        return Err(EtcdClientError::Rejected("no leader".to_owned()));
    }
    Ok(cluster.members.clone())
}

fn cluster_version(etcds: &Etcds, pod: &str) -> Option<String> {
    let minor = etcds.clusters.get(&etcds.data(pod)?.cluster)?.minor;
    Some(if minor == 0 { "not_decided".to_owned() } else { format!("3.{minor}.0") })
}
