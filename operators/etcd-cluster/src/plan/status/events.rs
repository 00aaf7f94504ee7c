//! Pure: the events.

use api::etcd_cluster::condition_type::{QUORUM_HEALTHY, WARNING};
use api::etcd_cluster::{
    DEFRAGMENT, EtcdClusterEvent, EtcdClusterReason, EtcdClusterStatus, RECOVER_WITHOUT, RecoveryOutcome,
};
use api::{Condition, ConditionStatus, Reason};
use runtime::plan::EventDraft;

use super::super::membership::EtcdStep;
use super::conditions::{NOT_DURABLE, requests_ephemeral};
use super::messages::{recovery_begins, restore_requested};
use super::restore;
use crate::EtcdCluster;

/// The events about a step that has been taken.
pub(in crate::plan) fn step_events(step: &EtcdStep) -> Vec<EventDraft> {
    match step {
        EtcdStep::Remove { name, replaced_because: Some(why), .. } => {
            vec![event(true, EtcdClusterEvent::ReplacingDeadMember, format!("member {name} is being replaced: {why}"))]
        }
        EtcdStep::RequestRestore { entry, .. } => {
            vec![event(true, EtcdClusterEvent::RecoveryStarted, restore_requested(entry))]
        }
        EtcdStep::SetAuthentication { on: true } => {
            let message = "etcd requires a user and a password from now on (spec.authentication)";
            vec![event(false, EtcdClusterEvent::AuthenticationEnabled, message.to_owned())]
        }
        EtcdStep::SetAuthentication { on: false } => {
            let message = "etcd requires no user any more (spec.authentication.enabled: false)";
            vec![event(false, EtcdClusterEvent::AuthenticationDisabled, message.to_owned())]
        }
        _ => Vec::new(),
    }
}

/// The events about changes of the status: those of the archived operator about members, and those that need attention.
pub(in crate::plan) fn events(cluster: &EtcdCluster, after: &EtcdClusterStatus) -> Vec<EventDraft> {
    let before = &cluster.status;
    let mut events = member_events(before, after);
    events.extend(leadership_event(before, after));
    events.extend(recovery_event(before, after));
    events.extend(restore::event(before, after));
    events.extend(resumption_event(before, after));
    events.extend(takeover_event(before, after));
    events.extend(defragmentation_event(cluster, after));
    let durable = |status: &EtcdClusterStatus| status.storage.as_ref().map(|storage| storage.durable);
    if durable(before).is_none() && durable(after) == Some(false) && !requests_ephemeral(cluster) {
        events.push(event(true, EtcdClusterEvent::NotDurable, NOT_DURABLE.to_owned()));
    }
    for type_ in [QUORUM_HEALTHY, WARNING] {
        let bad = if type_ == WARNING { ConditionStatus::True } else { ConditionStatus::False };
        // An unconfirmed loss of quorum may end within a second, so it is no event.
        let is_event = |now: &&Condition| now.status == bad && now.reason != EtcdClusterReason::QuorumUnconfirmed;
        let now = after.contract.condition(type_).filter(is_event);
        let was = before.contract.condition(type_);
        let is_new = |now: &&Condition| was.is_none_or(|was| was.status != bad || was.reason != now.reason);
        if let Some(now) = now.filter(is_new)
            && (type_ == WARNING || was.is_some())
        {
            events.push(event(true, now.reason.clone(), now.message.clone()));
        }
    }
    events
}

/// The event about the begin or end of a takeover.
fn takeover_event(before: &EtcdClusterStatus, after: &EtcdClusterStatus) -> Option<EventDraft> {
    match (before.earlier_members.is_empty(), after.earlier_members.is_empty()) {
        (true, false) if before.cluster_id.is_none() => {
            let earlier = after.earlier_members.join(", ");
            let message = format!("the members join a cluster whose earlier members are {earlier} (spec.takeover)");
            Some(event(false, EtcdClusterEvent::TakeoverStarted, message))
        }
        (false, true) => {
            let message = "the earlier members have left the cluster; spec.takeover may be removed";
            Some(event(false, EtcdClusterEvent::TakenOver, message.to_owned()))
        }
        _ => None,
    }
}

/// The event about the end of hibernation; its begin is that of Ready, with a reason of its own.
fn resumption_event(before: &EtcdClusterStatus, after: &EtcdClusterStatus) -> Option<EventDraft> {
    let hibernates = |status: &EtcdClusterStatus| {
        status.contract.condition(QUORUM_HEALTHY).is_some_and(|of| of.reason == EtcdClusterReason::Hibernated)
    };
    let resumes = hibernates(before) && !hibernates(after);
    resumes.then(|| event(false, EtcdClusterEvent::Resumed, "the members start again on their volumes".to_owned()))
}

/// The event about a finished request to transfer leadership.
fn leadership_event(before: &EtcdClusterStatus, after: &EtcdClusterStatus) -> Option<EventDraft> {
    if after.leader_moved_for == before.leader_moved_for {
        return None;
    }
    let leader = after.leader.as_ref()?;
    Some(match before.leader_moving_from.as_ref().filter(|from| *from != leader) {
        Some(from) => event(
            false,
            EtcdClusterEvent::LeaderMoved,
            format!("leadership transferred from member {from} to member {leader}"),
        ),
        None => {
            let message = format!("leadership not transferred: no other member is eligible (leader stays {leader})");
            event(false, EtcdClusterEvent::LeaderNotMoved, message)
        }
    })
}

/// The event about a defragmentation that a user requested, once that is done.
fn defragmentation_event(cluster: &EtcdCluster, after: &EtcdClusterStatus) -> Option<EventDraft> {
    let left = cluster.status.defragmentation.as_ref().filter(|of| !of.pending.is_empty())?;
    let is_done = after.defragmentation.as_ref().is_some_and(|of| of.request == left.request && of.pending.is_empty());
    // A request that is withdrawn is not done.
    let is_requested = cluster.annotations.get(DEFRAGMENT).is_some_and(|value| **value == *left.request);
    let message = || format!("the databases of all members are defragmented ({DEFRAGMENT}={})", left.request);
    (is_done && is_requested).then(|| event(false, EtcdClusterEvent::Defragmented, message()))
}

/// The event about the begin or end of a recovery from a lost quorum, or about a request that has no effect.
fn recovery_event(before: &EtcdClusterStatus, after: &EtcdClusterStatus) -> Option<EventDraft> {
    if before.recovery == after.recovery {
        let request = after.recovery_request.as_ref().filter(|_| before.recovery_request != after.recovery_request)?;
        let why = "there is quorum, so no member is given up; remove it";
        let message = format!("the annotation {RECOVER_WITHOUT}={request} has no effect: {why}");
        return Some(event(true, EtcdClusterEvent::RecoveryCanceled, message));
    }
    let now = after.recovery.as_ref()?;
    let from = &now.from;
    Some(match now.outcome {
        None => event(true, EtcdClusterEvent::RecoveryStarted, recovery_begins(from, &now.without)),
        Some(RecoveryOutcome::Recovered) => event(
            false,
            EtcdClusterEvent::Recovered,
            format!("the cluster continues with member {from}; the volumes of {} are kept", now.without.join(", ")),
        ),
        Some(RecoveryOutcome::Canceled) => event(
            false,
            EtcdClusterEvent::RecoveryCanceled,
            format!("the recovery from member {from} ended without a change: no member was given up"),
        ),
    })
}

/// The events of the archived operator: a member is listed for the first time, is no longer listed, or runs another version.
fn member_events(before: &EtcdClusterStatus, after: &EtcdClusterStatus) -> Vec<EventDraft> {
    let mut events = Vec::new();
    for now in after.listed() {
        let was = before.member(&now.name).filter(|was| was.id.is_some());
        if was.is_none() && !after.earlier_members.contains(&now.name) {
            let message = format!("New member {} added to cluster", now.name);
            events.push(event(false, EtcdClusterEvent::NewMemberAdded, message));
        }
        let was = was.and_then(|was| was.version.as_ref());
        if let (Some(was), Some(version)) = (was, &now.version)
            && was != version
        {
            let message = format!("Member {} upgraded from {was} to {version}", now.name);
            events.push(event(false, EtcdClusterEvent::MemberUpgraded, message));
        }
    }
    for was in before.listed() {
        if after.member(&was.name).is_none_or(|now| now.id.is_none()) {
            events.push(event(
                false,
                EtcdClusterEvent::MemberRemoved,
                format!("Existing member {} removed from the cluster", was.name),
            ));
        }
    }
    events
}

fn event(warning: bool, reason: impl Into<Reason>, message: String) -> EventDraft {
    EventDraft { warning, reason: reason.into(), message }
}
