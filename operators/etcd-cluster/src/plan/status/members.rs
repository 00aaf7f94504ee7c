//! Pure: the status of each member.

use api::etcd_cluster::{MemberRole, MemberStatus, Members};
use jiff::{Timestamp, Unit};

use super::super::member_set::{MemberSet, MemberView, hex, is_joining_or_learner};
use super::super::membership::EtcdStep;
use super::super::objects::VERSION;
use super::super::size;
use crate::EtcdCluster;

/// The status of each member. Without quorum, members of the previous status stay, because a member that does not answer may
/// still exist. The member whose pod is being created is included: if the pod loses its labels at once, its name is only known
/// from here. `stopped`: while the cluster hibernates.
pub(super) fn statuses(
    cluster: &EtcdCluster,
    members: &MemberSet<'_>,
    step: &EtcdStep,
    stopped: bool,
    now: Timestamp,
) -> Vec<MemberStatus> {
    let before = &cluster.status.member_statuses;
    let of = |name: &str| before.iter().find(|status| status.name == name);
    let counts = |member: &&MemberView<'_>| match members.list_known {
        true => member.listed.is_some() || member.pod_details().is_some(),
        false => of(&member.name).is_some() || member.pod_details().is_some(),
    };
    let mut statuses: Vec<MemberStatus> = members
        .all
        .iter()
        .filter(counts)
        .map(|member| status(member, of(&member.name), members.list_known, now))
        .collect();
    if !members.list_known {
        let unobserved =
            before.iter().filter(|status| status.id.is_some() && !members.all.iter().any(|n| n.name == status.name));
        statuses.extend(unobserved.map(|status| {
            with_since(MemberStatus { role: unreachable_role(status), ..status.clone() }, Some(status), now)
        }));
    }
    if let EtcdStep::Start { name, .. } = step
        && statuses.iter().all(|status| *status.name != **name)
    {
        let member = MemberView { name: name.to_string(), ..MemberView::default() };
        statuses.push(self::status(&member, of(name), members.list_known, now));
    }
    if stopped {
        // Once they are wanted again, the time counts from then on.
        statuses.iter_mut().for_each(|status| status.since = None);
    }
    statuses.sort_by(|a, b| a.name.cmp(&b.name));
    statuses
}

fn status(member: &MemberView<'_>, before: Option<&MemberStatus>, listed: bool, now: Timestamp) -> MemberStatus {
    let endpoint = member.endpoint;
    let id = match (member.listed, listed) {
        (Some(listed), _) => Some(hex(listed.id)),
        (None, true) => None,
        (None, false) => before.and_then(|status| status.id.clone()),
    };
    let role = match endpoint {
        _ if id.is_none() => MemberRole::Joining,
        Some(endpoint) if endpoint.learner || member.is_learner() => MemberRole::Learner,
        Some(endpoint) if endpoint.leader == endpoint.member_id => MemberRole::Leader,
        Some(_) => MemberRole::Follower,
        None if member.listed.is_some() && !member.has_started() => MemberRole::Joining,
        None if member.is_learner() => MemberRole::Learner,
        None => before.filter(|_| !listed).map_or(MemberRole::Unreachable, unreachable_role),
    };
    let or_before = |now: Option<String>, before: Option<&String>| now.or_else(|| before.cloned());
    let version = match endpoint {
        Some(endpoint) => Some(endpoint.version.clone()),
        None => member.annotation(VERSION).filter(|_| ran_unreached(member)).map(str::to_owned),
    };
    // A member that was never listed and has no PVC has lost its data.
    let last_version = before.filter(|_| id.is_some() || member.claim.is_some()).and_then(|b| b.version.as_ref());
    let size = endpoint
        .map(|endpoint| size::round_to_step(endpoint.db_size, before.and_then(|status| status.db_size.as_deref())));
    let status = MemberStatus {
        name: member.name.clone(),
        id,
        role,
        since: None,
        version: or_before(version, last_version),
        db_size: or_before(size, before.and_then(|b| b.db_size.as_ref())),
    };
    with_since(status, before, now)
}

/// The role of a member that does not answer, and that no list contains.
fn unreachable_role(before: &MemberStatus) -> MemberRole {
    if is_joining_or_learner(before) { before.role } else { MemberRole::Unreachable }
}

/// Whether a member's etcd has run for long without being reached, and no list contains it. If its pod is replaced, only the
/// status records the version of its data.
fn ran_unreached(member: &MemberView<'_>) -> bool {
    member.listed.is_none() && member.claim.is_some() && !member.has_joining_pod() && member.runs_for_long()
}

/// Sets the time since which the member has its role. Leader and follower count as one role.
fn with_since(status: MemberStatus, before: Option<&MemberStatus>, now: Timestamp) -> MemberStatus {
    let votes = |role| if role == MemberRole::Leader { MemberRole::Follower } else { role };
    // A joining member counts from when etcd lists it.
    let same =
        |before: &&MemberStatus| votes(before.role) == votes(status.role) && before.id.is_some() == status.id.is_some();
    // A learner counts from when it last made progress.
    let has_progressed =
        |before: &&MemberStatus| status.role == MemberRole::Learner && before.db_size != status.db_size;
    let since = before.filter(same).filter(|before| !has_progressed(before)).and_then(|before| before.since);
    let since = since.or_else(|| now.round(Unit::Second).ok());
    MemberStatus { since, ..status }
}

/// Whether a member serves clients: it is a healthy voter, and its pod is ready.
pub(super) fn serves(member: &MemberView<'_>) -> bool {
    member.is_healthy() && member.ready
}

/// The names of members with pods, by whether they serve.
pub(super) fn by_readiness(members: &MemberSet<'_>) -> Members {
    let mut names = Members::default();
    for member in members.all.iter().filter(|member| member.pod.is_some()) {
        let list = if serves(member) { &mut names.ready } else { &mut names.unready };
        list.push(member.name.clone());
    }
    names
}

/// The name of the leader.
pub(super) fn leader(statuses: &[MemberStatus]) -> Option<String> {
    statuses.iter().find(|status| status.role == MemberRole::Leader).map(|status| status.name.clone())
}

/// The size of the largest database.
pub(super) fn largest_database(members: &MemberSet<'_>, before: Option<&str>) -> Option<String> {
    let largest = members.all.iter().filter_map(|member| member.endpoint).map(|endpoint| endpoint.db_size).max();
    largest.map(|bytes| size::round_to_step(bytes, before)).or_else(|| before.map(str::to_owned))
}
