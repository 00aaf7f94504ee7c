//! Pure: which news of members and of the cluster are events.

use api::etcd_cluster::condition_type::{QUORUM_HEALTHY, WARNING};
use api::etcd_cluster::{EtcdClusterEvent, EtcdClusterReason, EtcdClusterStatus};
use api::{Condition, ConditionStatus, Reason};
use runtime::plan::EventDraft;

use super::super::membership::Step;
use super::conditions::{NOT_DURABLE, asks_for_ephemeral};
use crate::EtcdCluster;

/// What is told of a step once it has been taken.
pub(in crate::plan) fn done(step: &Step) -> Vec<EventDraft> {
    let Step::Remove { name, dead: Some(why), .. } = step else { return Vec::new() };
    vec![announcement(true, EtcdClusterEvent::ReplacingDeadMember, format!("member {name} is being replaced: {why}"))]
}

/// What happened to members, under the old operator's names; and what a person should know of at once.
pub(in crate::plan) fn events(cluster: &EtcdCluster, after: &EtcdClusterStatus) -> Vec<EventDraft> {
    let before = &cluster.status;
    let mut events = of_members(before, after);
    events.extend(leadership(before, after));
    let durable = |status: &EtcdClusterStatus| status.storage.as_ref().map(|storage| storage.durable);
    if durable(before).is_none() && durable(after) == Some(false) && !asks_for_ephemeral(cluster) {
        events.push(announcement(true, EtcdClusterEvent::NotDurable, NOT_DURABLE.to_owned()));
    }
    for type_ in [QUORUM_HEALTHY, WARNING] {
        let bad = if type_ == WARNING { ConditionStatus::True } else { ConditionStatus::False };
        // What may be over in a second is no news.
        let is_told = |now: &&Condition| now.status == bad && now.reason != EtcdClusterReason::QuorumUnconfirmed;
        let now = after.contract.condition(type_).filter(is_told);
        let was = before.contract.condition(type_);
        let news = |now: &&Condition| was.is_none_or(|was| was.status != bad || was.reason != now.reason);
        if let Some(now) = now.filter(news)
            && (type_ == WARNING || was.is_some())
        {
            events.push(announcement(true, now.reason.clone(), now.message.clone()));
        }
    }
    events
}

/// What became of the wish that another member leads.
fn leadership(before: &EtcdClusterStatus, after: &EtcdClusterStatus) -> Option<EventDraft> {
    if after.leader_moved_for == before.leader_moved_for {
        return None;
    }
    let leader = after.leader.as_ref()?;
    Some(match before.leader_moving_from.as_ref().filter(|from| *from != leader) {
        Some(from) => announcement(
            false,
            EtcdClusterEvent::LeaderMoved,
            format!("leadership transferred from member {from} to member {leader}"),
        ),
        None => {
            let message = format!("leadership not transferred: no other member is eligible (leader stays {leader})");
            announcement(false, EtcdClusterEvent::LeaderNotMoved, message)
        }
    })
}

/// The old operator's events, each once: when a member is listed for the first time or no more, or runs another version.
fn of_members(before: &EtcdClusterStatus, after: &EtcdClusterStatus) -> Vec<EventDraft> {
    let mut events = Vec::new();
    for now in after.listed() {
        let was = before.member(&now.name).filter(|was| was.id.is_some());
        if was.is_none() {
            let message = format!("New member {} added to cluster", now.name);
            events.push(announcement(false, EtcdClusterEvent::NewMemberAdded, message));
        }
        let was = was.and_then(|was| was.version.as_ref());
        if let (Some(was), Some(version)) = (was, &now.version)
            && was != version
        {
            let message = format!("Member {} upgraded from {was} to {version}", now.name);
            events.push(announcement(false, EtcdClusterEvent::MemberUpgraded, message));
        }
    }
    for was in before.listed() {
        if after.member(&was.name).is_none_or(|now| now.id.is_none()) {
            events.push(announcement(
                false,
                EtcdClusterEvent::MemberRemoved,
                format!("Existing member {} removed from the cluster", was.name),
            ));
        }
    }
    events
}

fn announcement(warning: bool, reason: impl Into<Reason>, message: String) -> EventDraft {
    EventDraft { warning, reason: reason.into(), message }
}
