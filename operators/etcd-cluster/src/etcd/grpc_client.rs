//! The client of etcd, over gRPC.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use etcd_client::{
    AlarmAction, AlarmOptions, AlarmResponse, AlarmType, Client, GetOptions, MemberAddOptions, MemberListResponse,
    StatusResponse,
};
use futures::future::{join_all, ready};
use futures::{StreamExt, TryStreamExt, stream};
use runtime::Error;
use tokio::time::Instant;

use super::channel_pool::{ChannelPool, has_port};
use super::client::{EtcdClient, MemberEndpoint};
use super::defragmentations::Defragmentations;
use super::error::EtcdClientError;
use super::responses::{self, Alarms, MemberResponse, Status};
use super::volume_reports::VolumeReports;
use super::{act, authentication, http};
use crate::plan::{Alarm, Authentication, EndpointStatus, Etcd, EtcdChange, ListedMember};

/// How long each request of a query may take.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(2);
/// How long a query may take in all.
const QUERY_TIMEOUT: Duration = Duration::from_millis(4500);
/// How long a member may take to report its status before a change.
const PROBE_TIMEOUT: Duration = Duration::from_secs(1);
/// How long a change may take.
const CHANGE_TIMEOUT: Duration = Duration::from_secs(5);
/// How long writing entries to the log may take.
const FILL_TIMEOUT: Duration = Duration::from_secs(45);
/// How many entries are written concurrently.
const FILL_CONCURRENCY: usize = 64;
/// How many members are queried for the list, one after the other.
const LIST_ATTEMPTS: usize = 2;
/// The key of linearizable reads. It need not exist.
const READ_KEY: &str = "multi-operator/health";

/// The key that `EtcdChange::Touch` writes and deletes.
const TOUCHED_KEY: &str = "multi-operator/upgrade";

/// What a member reports with a quorum behind it.
struct Listing {
    members: Vec<ListedMember>,
    authentication: Authentication,
}

/// The client of etcd that the operator uses outside tests.
#[derive(Debug, Default)]
pub struct GrpcEtcdClient {
    pool: ChannelPool,
    /// Members whose version has no leadership transfer: address and version. A restarted manager learns it again.
    without_transfer: Mutex<BTreeSet<(Box<str>, String)>>,
    volume_reports: VolumeReports,
    defragmentations: Defragmentations,
}

impl EtcdClient for GrpcEtcdClient {
    async fn query(&self, endpoints: &[MemberEndpoint], latched: Option<u64>) -> Etcd {
        if endpoints.is_empty() {
            return Etcd::default();
        }
        self.pool.reach(endpoints);
        let deadline = Instant::now() + QUERY_TIMEOUT;
        let all = join_all(endpoints.iter().map(|endpoint| self.member(endpoint))).await;
        let (members, alarms) = match responses::endpoints_to_query(&all, latched) {
            Ok(able) => self.listed(&all, &able, deadline).await,
            Err(why) => (Err(why), Vec::new()),
        };
        let (members, authentication) = match members {
            Ok(Listing { members, authentication }) => (Ok(members), authentication),
            Err(why) => (Err(why), responses::rejection(&all)),
        };
        let is_compacted = self.is_compacted(&all, &alarms).await;
        let defragmentation = |response: &MemberResponse| {
            Some((Arc::clone(&response.pod), self.defragmentations.get(&response.address)?))
        };
        let defragmentations = all.iter().filter_map(defragmentation).collect();
        let auth_required = members.is_err() && responses::requires_auth(&all);
        let endpoint = |response: MemberResponse| {
            (response.pod, response.status.map(|status| status.endpoint).map_err(|error| error.to_string()))
        };
        Etcd {
            endpoints: all.into_iter().map(endpoint).collect(),
            members,
            alarms,
            auth_required,
            authentication,
            list_distrusted: false,
            is_compacted,
            defragmentations,
        }
    }

    async fn cluster_version(&self, address: &str) -> Option<String> {
        http::cluster_version(address, self.pool.tls(address).as_ref()).await
    }

    async fn snapshot_receivers(&self, address: &str) -> BTreeSet<u64> {
        http::snapshot_receivers(address, self.pool.tls(address).as_ref()).await
    }

    async fn act(&self, endpoints: &[Box<str>], change: &EtcdChange) -> Result<(), Error> {
        if let (EtcdChange::Defragment { revision }, Some(address)) = (change, endpoints.first()) {
            self.defragmentations.start(address, self.pool.access(address), *revision);
            return Ok(());
        }
        let mut last = None;
        for address in endpoints {
            // A change that may have reached one member must not be sent to another one. So its status is queried first.
            match self.status(address, PROBE_TIMEOUT).await {
                Err(error) if !error.is_answer() => last = Some(error),
                status => {
                    let version = status.map(|status| status.endpoint.version).unwrap_or_default();
                    return self.change(address, version, change).await;
                }
            }
        }
        Err(act::unreachable(last.as_ref()))
    }
}

impl GrpcEtcdClient {
    /// A client without connections.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    async fn status(&self, address: &str, deadline: Duration) -> Result<Status, EtcdClientError> {
        let until = Instant::now() + deadline;
        let mut result = self.pool.call(address, deadline, status).await;
        if let Err(EtcdClientError::Connection(_)) = result {
            // Perhaps the connection was from before a restart of the member.
            result = self.pool.call(address, until.saturating_duration_since(Instant::now()), status).await;
        }
        match result {
            Ok(status) => Ok(status.into()),
            // Not the time that was left for the second connection.
            Err(EtcdClientError::Timeout(_)) => Err(EtcdClientError::Timeout(deadline)),
            Err(error) => Err(error),
        }
    }

    async fn member(&self, MemberEndpoint { pod, address, .. }: &MemberEndpoint) -> MemberResponse {
        let mut status = self.status(address, REQUEST_TIMEOUT).await;
        if let Ok(Status { endpoint, .. }) = &mut status {
            endpoint.volume = if has_port(address) { None } else { self.volume_reports.get(address) };
            endpoint.refuses_transfer = self.without_transfer().contains(&(address.clone(), endpoint.version.clone()));
        }
        MemberResponse { pod: Arc::clone(pod), address: address.clone(), status }
    }

    /// The members and alarms, from the first member that can list them.
    async fn listed(
        &self,
        all: &[MemberResponse],
        able: &[(&MemberResponse, &Status)],
        deadline: Instant,
    ) -> (Result<Listing, String>, Alarms) {
        let mut why_not = None;
        for (&(response, status), attempts) in able.iter().zip((1..=LIST_ATTEMPTS.min(able.len())).rev()) {
            let now = Instant::now();
            let share = deadline.saturating_duration_since(now).div_f64(attempts as f64);
            match self.list(&response.address, status, now + share.min(REQUEST_TIMEOUT)).await {
                Ok((listing, alarms)) => match responses::list_rejection(all, (response, status), &listing.members) {
                    None => return (Ok(listing), alarms),
                    Some(why) => _ = why_not.get_or_insert(why),
                },
                Err(error) => _ = why_not.get_or_insert_with(|| responses::list_failure(&response.pod, &error)),
            }
        }
        let known = able.first().and_then(|(_, status)| status.alarms.clone());
        (Err(why_not.unwrap_or_default()), known.unwrap_or_default())
    }

    /// The members and alarms, from one member, with a quorum behind them.
    async fn list(&self, address: &str, status: &Status, until: Instant) -> Result<(Listing, Alarms), EtcdClientError> {
        let left = || until.saturating_duration_since(Instant::now());
        // A member lists what it has applied, with or without quorum. The linearizable read before it requires that the leader
        // confirms with a quorum, and that the member has applied everything committed by then. So the list is no older than the
        // read.
        let authentication = match self.pool.call_without_user(address, left(), read).await {
            Ok(()) => Authentication::Off,
            // etcd checks permissions after the quorum has confirmed, so this answer also shows that there is quorum.
            Err(EtcdClientError::AuthRequired(_)) => self.authentication(address, left()).await,
            Err(error) => return Err(error),
        };
        let members = self.pool.call(address, left(), list_members).await?;
        let alarms = match &status.alarms {
            Some(alarms) => alarms.clone(),
            // This query appends an entry to etcd's log, so it is only for versions whose status has no alarms.
            None => responses::alarms(&self.pool.call(address, left(), list_alarms).await?),
        };
        Ok((Listing { members: responses::members(&members), authentication }, alarms))
    }

    /// What the operator is to a member that requires a user.
    async fn authentication(&self, address: &str, deadline: Duration) -> Authentication {
        if self.pool.access(address).root.is_none() {
            return Authentication::On;
        }
        match self.pool.authenticate(address, deadline).await {
            Err(error @ EtcdClientError::RootRejected(_)) => Authentication::RootRejected(error.to_string()),
            // Without an answer, the next call says why.
            _ => Authentication::On,
        }
    }

    /// Whether the leader has only the latest revision of each key, if NOSPACE is raised.
    async fn is_compacted(&self, all: &[MemberResponse], alarms: &Alarms) -> bool {
        let endpoint = |response: &MemberResponse| response.status.as_ref().ok().map(|status| status.endpoint.clone());
        let leads = |of: &EndpointStatus| of.leader == of.member_id;
        let leader =
            all.iter().find_map(|response| Some((&response.address, endpoint(response).filter(leads)?.revision)));
        let raised = alarms.iter().any(|(_, alarm)| *alarm == Alarm::NoSpace);
        let Some((address, revision)) = leader.filter(|_| raised) else { return false };
        match self.pool.call(address, REQUEST_TIMEOUT, |client| read_at(client, revision - 1)).await {
            Err(EtcdClientError::Rejected(message)) => message.contains(act::COMPACTED),
            _ => false,
        }
    }

    /// Changes etcd through the member at `address`, which runs that version.
    async fn change(&self, address: &str, version: String, change: &EtcdChange) -> Result<(), Error> {
        let deadline = if matches!(change, EtcdChange::Fill { .. }) { FILL_TIMEOUT } else { CHANGE_TIMEOUT };
        let result = match change {
            EtcdChange::SetAuthentication { on } => authentication::set(&self.pool, address, *on, deadline).await,
            _ => self.pool.call(address, deadline, |client| send(client, change)).await,
        };
        if matches!((change, &result), (EtcdChange::MoveLeader { .. }, Err(EtcdClientError::Unimplemented))) {
            self.without_transfer().insert((address.into(), version));
        }
        result.or_else(|error| act::result(change, &error.within(deadline)))
    }

    fn without_transfer(&self) -> MutexGuard<'_, BTreeSet<(Box<str>, String)>> {
        self.without_transfer.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn status(mut client: Client) -> Result<StatusResponse, etcd_client::Error> {
    client.status().await
}

/// A linearizable read.
async fn read(mut client: Client) -> Result<(), etcd_client::Error> {
    let options = GetOptions::new().with_limit(1).with_count_only();
    client.get(READ_KEY, Some(options)).await.map(drop)
}

/// A read as of a revision.
async fn read_at(mut client: Client, revision: i64) -> Result<(), etcd_client::Error> {
    let options = GetOptions::new().with_limit(1).with_count_only().with_revision(revision).with_serializable();
    client.get(READ_KEY, Some(options)).await.map(drop)
}

async fn list_members(mut client: Client) -> Result<MemberListResponse, etcd_client::Error> {
    client.member_list().await
}

async fn list_alarms(mut client: Client) -> Result<AlarmResponse, etcd_client::Error> {
    client.alarm(AlarmAction::Get, AlarmType::None, None).await
}

/// Appends entries to the log. Each is a query of alarms, which goes through the log like a write and changes nothing (`Alarm` in
/// `server/etcdserver/v3_server.go` and in `apply`, from 3.0 to 3.7).
async fn fill(client: &Client, entries: u64) -> Result<(), etcd_client::Error> {
    let append = |_| list_alarms(client.clone());
    let appended = stream::iter(0..entries).map(append).buffer_unordered(FILL_CONCURRENCY);
    appended.try_for_each(|_| ready(Ok(()))).await
}

async fn send(mut client: Client, change: &EtcdChange) -> Result<(), etcd_client::Error> {
    match change {
        EtcdChange::Add { peer_url, learner } => {
            let options = learner.then(|| MemberAddOptions::new().with_is_learner());
            client.member_add([peer_url], options).await.map(drop)
        }
        EtcdChange::Promote { id } => client.member_promote(*id).await.map(drop),
        EtcdChange::Remove { id, .. } => client.member_remove(*id).await.map(drop),
        EtcdChange::MoveLeader { to } => client.move_leader(*to).await.map(drop),
        EtcdChange::Disarm { id } => {
            let mut options = AlarmOptions::new();
            options.with_member(*id);
            client.alarm(AlarmAction::Deactivate, AlarmType::Nospace, Some(options)).await.map(drop)
        }
        EtcdChange::Compact { revision } => client.compact(*revision, None).await.map(drop),
        EtcdChange::Defragment { .. } => client.defragment().await.map(drop),
        EtcdChange::Fill { entries } => fill(&client, *entries).await,
        EtcdChange::Touch => {
            client.put(TOUCHED_KEY, "", None).await?;
            client.delete(TOUCHED_KEY, None).await.map(drop)
        }
        // It takes several calls, some of them without a user.
        EtcdChange::SetAuthentication { .. } => Ok(()),
    }
}
