//! Pure: what status says of single members.

use api::etcd_cluster::{MemberRole, MemberStatus, Members};
use jiff::{Timestamp, Unit};

use super::super::membership::Step;
use super::super::objects::VERSION;
use super::super::roster::{Node, Roster, hex, is_to_vote};
use super::super::size;
use crate::EtcdCluster;

/// Each member; without quorum, those known before, since who does not answer is not gone. And the one whose pod is being made:
/// should somebody take its labels at once, its name is all that is known of it.
pub(super) fn statuses(cluster: &EtcdCluster, roster: &Roster<'_>, step: &Step, now: Timestamp) -> Vec<MemberStatus> {
    let before = &cluster.status.member_statuses;
    let of = |name: &str| before.iter().find(|status| status.name == name);
    let counts = |node: &&Node<'_>| match roster.listed {
        true => node.member.is_some() || node.running().is_some(),
        false => of(&node.name).is_some() || node.running().is_some(),
    };
    let mut statuses: Vec<MemberStatus> =
        roster.nodes.iter().filter(counts).map(|node| status(node, of(&node.name), roster.listed, now)).collect();
    if !roster.listed {
        let gone =
            before.iter().filter(|status| status.id.is_some() && !roster.nodes.iter().any(|n| n.name == status.name));
        statuses.extend(
            gone.map(|status| aged(MemberStatus { role: unheard(status), ..status.clone() }, Some(status), now)),
        );
    }
    if let Step::Start { name, .. } = step
        && statuses.iter().all(|status| *status.name != **name)
    {
        let node = Node { name: name.to_string(), ..Node::default() };
        statuses.push(self::status(&node, of(name), roster.listed, now));
    }
    statuses.sort_by(|a, b| a.name.cmp(&b.name));
    statuses
}

fn status(node: &Node<'_>, before: Option<&MemberStatus>, listed: bool, now: Timestamp) -> MemberStatus {
    let endpoint = node.endpoint;
    let id = match (node.member, listed) {
        (Some(member), _) => Some(hex(member.id)),
        (None, true) => None,
        (None, false) => before.and_then(|status| status.id.clone()),
    };
    let role = match endpoint {
        _ if id.is_none() => MemberRole::Joining,
        Some(endpoint) if endpoint.learner || node.is_learner() => MemberRole::Learner,
        Some(endpoint) if endpoint.leader == endpoint.member_id => MemberRole::Leader,
        Some(_) => MemberRole::Follower,
        None if node.member.is_some() && !node.has_started() => MemberRole::Joining,
        None if node.is_learner() => MemberRole::Learner,
        None => before.filter(|_| !listed).map_or(MemberRole::Unreachable, unheard),
    };
    let told = |now: Option<String>, before: Option<&String>| now.or_else(|| before.cloned());
    let version = match endpoint {
        Some(endpoint) => Some(endpoint.version.clone()),
        None => node.annotation(VERSION).filter(|_| ran_unheard(node)).map(str::to_owned),
    };
    // What has never been listed and has no claim has nothing left of what it ran.
    let remembered = before.filter(|_| id.is_some() || node.claim.is_some()).and_then(|b| b.version.as_ref());
    let size =
        endpoint.map(|endpoint| size::stepped(endpoint.db_size, before.and_then(|status| status.db_size.as_deref())));
    let status = MemberStatus {
        name: node.name.clone(),
        id,
        role,
        since: None,
        version: told(version, remembered),
        db_size: told(size, before.and_then(|b| b.db_size.as_ref())),
    };
    aged(status, before, now)
}

/// What a member is that does not answer and of which no list tells.
fn unheard(before: &MemberStatus) -> MemberRole {
    if is_to_vote(before) { before.role } else { MemberRole::Unreachable }
}

/// Whether a member's etcd has run for long and cannot be reached, nor another one that could tell of it. Should its pod be
/// replaced, nothing else tells what its data is of by then.
fn ran_unheard(node: &Node<'_>) -> bool {
    node.member.is_none() && node.claim.is_some() && !node.joins() && node.runs_for_long()
}

/// With the time at which it took up its role. Leading and following are one for that.
fn aged(status: MemberStatus, before: Option<&MemberStatus>, now: Timestamp) -> MemberStatus {
    let votes = |role| if role == MemberRole::Leader { MemberRole::Follower } else { role };
    // From the moment that etcd lists it, a member that joins is on its way.
    let same =
        |before: &&MemberStatus| votes(before.role) == votes(status.role) && before.id.is_some() == status.id.is_some();
    // What a learner has received counts from there.
    let further = |before: &&MemberStatus| status.role == MemberRole::Learner && before.db_size != status.db_size;
    let since = before.filter(same).filter(|before| !further(before)).and_then(|before| before.since);
    let since = since.or_else(|| now.round(Unit::Second).ok());
    MemberStatus { since, ..status }
}

/// Whether a member serves clients: it is a healthy voter, and its pod is ready.
pub(super) fn serves(node: &Node<'_>) -> bool {
    node.is_healthy() && node.ready
}

/// Pods by whether their etcd serves.
pub(super) fn by_readiness(roster: &Roster<'_>) -> Members {
    let mut members = Members::default();
    for node in roster.nodes.iter().filter(|node| node.pod.is_some()) {
        let list = if serves(node) { &mut members.ready } else { &mut members.unready };
        list.push(node.name.clone());
    }
    members
}

/// The name of the one that leads.
pub(super) fn leader(statuses: &[MemberStatus]) -> Option<String> {
    statuses.iter().find(|status| status.role == MemberRole::Leader).map(|status| status.name.clone())
}

/// The size of the largest database.
pub(super) fn largest(roster: &Roster<'_>, before: Option<&str>) -> Option<String> {
    let largest = roster.nodes.iter().filter_map(|node| node.endpoint).map(|endpoint| endpoint.db_size).max();
    largest.map(|bytes| size::stepped(bytes, before)).or_else(|| before.map(str::to_owned))
}
