//! Pure: what members' answers mean, and whom to ask further.

use std::sync::Arc;

use etcd_client::{AlarmResponse, AlarmType, MemberListResponse, StatusResponse};

use super::fault::Fault;
use crate::plan::{Alarm, Endpoint, Member};

/// Alarms that are on, by member id.
pub(super) type Alarms = Vec<(u64, Alarm)>;

/// What one member has answered when asked how it fares.
#[derive(Clone, Debug)]
pub(super) struct Answer {
    pub(super) pod: Arc<str>,
    pub(super) address: Box<str>,
    pub(super) status: Result<Status, Fault>,
}

/// How one member fares, and the alarms that it knows of.
#[derive(Clone, Debug, Default)]
pub(super) struct Status {
    pub(super) endpoint: Endpoint,
    /// Which election of the cluster's it knows of.
    pub(super) term: u64,
    /// None where the version does not tell.
    pub(super) alarms: Option<Alarms>,
}

impl Status {
    /// Whether it can be asked for something that takes quorum. Learners refuse.
    fn can_ask(&self) -> bool {
        self.endpoint.leader != 0 && !self.endpoint.learner
    }
}

impl From<StatusResponse> for Status {
    fn from(status: StatusResponse) -> Self {
        let header = status.header();
        let endpoint = Endpoint {
            cluster_id: header.map_or(0, |header| header.cluster_id()),
            member_id: header.map_or(0, |header| header.member_id()),
            version: status.version().to_owned(),
            leader: status.leader(),
            learner: status.is_learner(),
            db_size: status.db_size(),
            raft_index: status.raft_index(),
            applied_index: status.raft_applied_index(),
            quota: status.db_size_quota(),
            keeps_leading: false,
            room: None,
        };
        let alarms = tells_alarms(status.version()).then(|| told_alarms(status.errors()));
        Self { endpoint, term: status.raft_term(), alarms }
    }
}

/// Those to ask for something that takes quorum, best first. Why there is nobody, otherwise. Once the cluster is `latched`, its
/// own members alone: by the list of another one, all of them would be strangers, and their volumes no member's.
pub(super) fn whom_to_ask(answers: &[Answer], latched: Option<u64>) -> Result<Vec<(&Answer, &Status)>, String> {
    let able = || statuses(answers).filter(|(_, status)| status.can_ask());
    // Until then, should they be of several clusters, the one that most belong to.
    let size = |id| statuses(answers).filter(|(_, status)| status.endpoint.cluster_id == id).count();
    let cluster = latched.or_else(|| able().map(|(_, status)| status.endpoint.cluster_id).max_by_key(|id| size(*id)));
    let mut asked: Vec<_> = able().filter(|(_, status)| Some(status.endpoint.cluster_id) == cluster).collect();
    let newest = asked.iter().map(|(_, status)| status.term).max();
    asked.retain(|(_, status)| Some(status.term) == newest);
    // Those may lead others that do not answer, which only their list tells.
    asked.sort_by_key(|(_, status)| (is_past(answers, status), status.endpoint.leader != status.endpoint.member_id));
    match (asked.is_empty(), able().next()) {
        (false, _) => Ok(asked),
        (true, Some((answer, _))) => Err(format!("{} answers as of another cluster", answer.pod)),
        (true, None) => Err(why_nobody(answers)),
    }
}

/// Why the list that a member has given is not its cluster's, if it is not: one that has begun anew lists itself alone, and one that
/// leads others lists them.
pub(super) fn why_not_the_list(
    answers: &[Answer],
    (asked, status): (&Answer, &Status),
    members: &[Member],
) -> Option<String> {
    let alone = members.iter().all(|member| member.id == status.endpoint.member_id);
    let anew = alone && is_past(answers, status);
    anew.then(|| format!("{} leads nobody else, and others know of a later election", asked.pod))
}

/// Whether a member leads nobody of those that answer but itself, and another one of its cluster knows of a later election: a first
/// member that lost its disks with its node may have begun again, under the same ids.
fn is_past(answers: &[Answer], of: &Status) -> bool {
    let id = of.endpoint.member_id;
    let others = || {
        let others = statuses(answers).map(|(_, other)| other).filter(|other| other.endpoint.member_id != id);
        others.filter(|other| other.endpoint.cluster_id == of.endpoint.cluster_id)
    };
    let leads_alone = of.endpoint.leader == id && others().all(|other| other.endpoint.leader != id);
    leads_alone && others().any(|other| other.term > of.term)
}

fn statuses(answers: &[Answer]) -> impl Iterator<Item = (&Answer, &Status)> {
    answers.iter().filter_map(|answer| Some((answer, answer.status.as_ref().ok()?)))
}

/// Whether most members answer, and only want to know who asks.
pub(super) fn is_denied(answers: &[Answer]) -> bool {
    let denied = answers.iter().filter(|answer| matches!(answer.status, Err(Fault::Denied(_)))).count();
    denied > answers.len() / 2
}

fn why_nobody(answers: &[Answer]) -> String {
    let leaderless = statuses(answers).any(|(_, status)| status.endpoint.leader == 0);
    let denied = answers.iter().find_map(|answer| match &answer.status {
        Err(fault @ Fault::Denied(_)) => Some(format!("{} {fault}", answer.pod)),
        _ => None,
    });
    match denied {
        _ if leaderless => "no leader".to_owned(),
        Some(denied) => denied,
        None if statuses(answers).next().is_some() => "only learners answer".to_owned(),
        None => "no member answers".to_owned(),
    }
}

/// Why a member has not listed the members, as a sentence.
pub(super) fn why_no_list(pod: &str, fault: &Fault) -> String {
    match fault {
        // What time was left for it differs from look to look.
        Fault::Silent(_) => format!("{pod} does not answer a linearizable read in time"),
        Fault::Said(words) => format!("{pod} answers a linearizable read with: {words}"),
        fault => format!("{pod} {fault}"),
    }
}

/// The members as the planner knows them.
pub(super) fn members(list: &MemberListResponse) -> Vec<Member> {
    let member = |member: &etcd_client::Member| Member {
        id: member.id(),
        name: member.name().to_owned(),
        peer_urls: member.peer_urls().to_vec(),
        learner: member.is_learner(),
    };
    list.members().iter().map(member).collect()
}

/// The alarms as the planner knows them.
pub(super) fn alarms(list: &AlarmResponse) -> Alarms {
    let alarm = |alarm: &etcd_client::AlarmMember| match alarm.alarm() {
        AlarmType::None => None,
        AlarmType::Nospace => Some((alarm.member_id(), Alarm::NoSpace)),
        AlarmType::Corrupt => Some((alarm.member_id(), Alarm::Corrupt)),
    };
    list.alarms().iter().filter_map(alarm).collect()
}

/// Whether a status of that version names the alarms (3.4 and later).
fn tells_alarms(version: &str) -> bool {
    let mut numbers = version.split('.').map_while(|number| number.parse::<u32>().ok());
    (numbers.next(), numbers.next()) >= (Some(3), Some(4))
}

/// The alarms among what a status complains of, each as `memberID:1234 alarm:NOSPACE`.
fn told_alarms(errors: &[String]) -> Alarms {
    errors.iter().filter_map(|error| told_alarm(error)).collect()
}

fn told_alarm(error: &str) -> Option<(u64, Alarm)> {
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
