//! Pure: what the responses of members mean, and which members to query further.

use std::sync::Arc;

use etcd_client::{AlarmResponse, AlarmType, MemberListResponse, StatusResponse};

use super::error::EtcdClientError;
use crate::plan::{Alarm, Authentication, EndpointStatus, ListedMember};

/// The raised alarms, by member id.
pub type Alarms = Vec<(u64, Alarm)>;

/// The response of one member to the query of its status.
#[derive(Clone, Debug)]
pub struct MemberResponse {
    /// The member's pod.
    pub pod: Arc<str>,
    /// Its address.
    pub address: Box<str>,
    /// Its status.
    pub status: Result<Status, EtcdClientError>,
}

/// The status of one member, and the alarms that it reports.
#[derive(Clone, Debug, Default)]
pub struct Status {
    /// What it reports of itself.
    pub endpoint: EndpointStatus,
    /// The Raft term, which grows with each election.
    pub term: u64,
    /// None if its version does not report alarms.
    pub alarms: Option<Alarms>,
}

impl Status {
    /// Whether the member can answer a query that takes quorum. Learners reject it.
    fn can_answer(&self) -> bool {
        self.endpoint.leader != 0 && !self.endpoint.learner
    }
}

impl From<StatusResponse> for Status {
    fn from(status: StatusResponse) -> Self {
        let header = status.header();
        let endpoint = EndpointStatus {
            cluster_id: header.map_or(0, |header| header.cluster_id()),
            member_id: header.map_or(0, |header| header.member_id()),
            version: status.version().to_owned(),
            leader: status.leader(),
            learner: status.is_learner(),
            db_size: status.db_size(),
            in_use: status.raft_used_db_size(),
            revision: header.map_or(0, |header| header.revision()),
            raft_index: status.raft_index(),
            applied_index: status.raft_applied_index(),
            quota: status.db_size_quota(),
            refuses_transfer: false,
            volume: None,
        };
        let alarms = reports_alarms(status.version()).then(|| parse_alarms(status.errors()));
        Self { endpoint, term: status.raft_term(), alarms }
    }
}

/// The members to query for what takes quorum, best first; the error is why there is none. Once the cluster id is `latched`, only
/// members of that cluster count: by the list of another one, all of them would be foreign, and their volumes would belong to no
/// member.
///
/// # Errors
/// Why no member can be queried.
pub fn endpoints_to_query(
    responses: &[MemberResponse],
    latched: Option<u64>,
) -> Result<Vec<(&MemberResponse, &Status)>, String> {
    let able = || statuses(responses).filter(|(_, status)| status.can_answer());
    // Before that, if members report several clusters, the cluster that most of them belong to.
    let size = |id| statuses(responses).filter(|(_, status)| status.endpoint.cluster_id == id).count();
    let cluster = latched.or_else(|| able().map(|(_, status)| status.endpoint.cluster_id).max_by_key(|id| size(*id)));
    let mut queried: Vec<_> = able().filter(|(_, status)| Some(status.endpoint.cluster_id) == cluster).collect();
    let newest = queried.iter().map(|(_, status)| status.term).max();
    queried.retain(|(_, status)| Some(status.term) == newest);
    // An outdated leader may lead members that do not answer, which only its list shows.
    queried.sort_by_key(|(_, status)| {
        (is_outdated_leader(responses, status), status.endpoint.leader != status.endpoint.member_id)
    });
    match (queried.is_empty(), able().next()) {
        (false, _) => Ok(queried),
        (true, Some((response, _))) => Err(format!("{} belongs to another cluster", response.pod)),
        (true, None) => Err(unreachable_reason(responses)),
    }
}

/// Why the list of a member is not that of its cluster, if it is not: a member that has bootstrapped again lists only itself, and
/// a leader of others lists them.
#[must_use]
pub fn list_rejection(
    responses: &[MemberResponse],
    (response, status): (&MemberResponse, &Status),
    members: &[ListedMember],
) -> Option<String> {
    let alone = members.iter().all(|member| member.id == status.endpoint.member_id);
    let outdated = alone && is_outdated_leader(responses, status);
    outdated.then(|| {
        format!("no other member follows the leader {}, and other members report a later election", response.pod)
    })
}

/// Whether a leader has no followers among the members that answer, and another member of its cluster reports a later election: a
/// first member that lost its disk with its node may have bootstrapped again, under the same ids.
fn is_outdated_leader(responses: &[MemberResponse], of: &Status) -> bool {
    let id = of.endpoint.member_id;
    let others = || {
        let others = statuses(responses).map(|(_, other)| other).filter(|other| other.endpoint.member_id != id);
        others.filter(|other| other.endpoint.cluster_id == of.endpoint.cluster_id)
    };
    let leads_alone = of.endpoint.leader == id && others().all(|other| other.endpoint.leader != id);
    leads_alone && others().any(|other| other.term > of.term)
}

fn statuses(responses: &[MemberResponse]) -> impl Iterator<Item = (&MemberResponse, &Status)> {
    responses.iter().filter_map(|response| Some((response, response.status.as_ref().ok()?)))
}

/// Whether most members answer that they require authentication.
pub(super) fn requires_auth(responses: &[MemberResponse]) -> bool {
    let denies = |response: &&MemberResponse| response.status.as_ref().is_err_and(EtcdClientError::is_denial);
    responses.iter().filter(denies).count() > responses.len() / 2
}

/// What the members say of authentication that do not describe themselves.
pub(super) fn rejection(responses: &[MemberResponse]) -> Authentication {
    let rejects = |response: &MemberResponse| match &response.status {
        Err(error @ EtcdClientError::RootRejected(_)) => Some(Authentication::RootRejected(error.to_string())),
        _ => None,
    };
    responses.iter().find_map(rejects).unwrap_or_default()
}

/// Why no member can answer a query that takes quorum.
fn unreachable_reason(responses: &[MemberResponse]) -> String {
    let leaderless = statuses(responses).any(|(_, status)| status.endpoint.leader == 0);
    let denial = responses.iter().find_map(|response| match &response.status {
        Err(error) if error.is_denial() => Some(format!("{} {error}", response.pod)),
        _ => None,
    });
    match denial {
        _ if leaderless => "no leader".to_owned(),
        Some(denial) => denial,
        None if statuses(responses).next().is_some() => "only learners answer".to_owned(),
        None => "no member answers".to_owned(),
    }
}

/// Why a member has not listed the members.
#[must_use]
pub fn list_failure(pod: &str, error: &EtcdClientError) -> String {
    match error {
        // Without the time, which differs from query to query.
        EtcdClientError::Timeout(_) => format!("a linearizable read through {pod} timed out"),
        EtcdClientError::Rejected(message) => format!("a linearizable read through {pod} failed: {message}"),
        error => format!("{pod} {error}"),
    }
}

/// The members, in the terms of the plan.
pub(super) fn members(list: &MemberListResponse) -> Vec<ListedMember> {
    let member = |member: &etcd_client::Member| ListedMember {
        id: member.id(),
        name: member.name().to_owned(),
        peer_urls: member.peer_urls().to_vec(),
        learner: member.is_learner(),
    };
    list.members().iter().map(member).collect()
}

/// The alarms, in the terms of the plan.
pub(super) fn alarms(list: &AlarmResponse) -> Alarms {
    let alarm = |alarm: &etcd_client::AlarmMember| match alarm.alarm() {
        AlarmType::None => None,
        AlarmType::Nospace => Some((alarm.member_id(), Alarm::NoSpace)),
        AlarmType::Corrupt => Some((alarm.member_id(), Alarm::Corrupt)),
    };
    list.alarms().iter().filter_map(alarm).collect()
}

/// Whether the status of this version of etcd contains alarms (3.4 and later).
fn reports_alarms(version: &str) -> bool {
    let mut numbers = version.split('.').map_while(|number| number.parse::<u32>().ok());
    (numbers.next(), numbers.next()) >= (Some(3), Some(4))
}

/// The alarms among the errors of a status, such as `memberID:1234 alarm:NOSPACE`.
fn parse_alarms(errors: &[String]) -> Alarms {
    errors.iter().filter_map(|error| parse_alarm(error)).collect()
}

fn parse_alarm(error: &str) -> Option<(u64, Alarm)> {
    let field = |name| error.split_whitespace().find_map(|field| field.strip_prefix(name)?.strip_prefix(':'));
    let alarm = match field("alarm")? {
        "NOSPACE" => Alarm::NoSpace,
        "CORRUPT" => Alarm::Corrupt,
        _ => return None,
    };
    Some((field("memberID").and_then(|id| id.parse().ok()).unwrap_or(0), alarm))
}

#[cfg(test)]
mod tests;
