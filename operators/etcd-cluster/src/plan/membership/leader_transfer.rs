//! Pure: transfers leadership because a user requests it: once for each value of an annotation, and only while the members need
//! no other change.
//!
//! The status records the leader before the transfer. So there is one transfer, even if the manager restarts or gets no answer
//! after that: the request is done as soon as another member leads.

use api::etcd_cluster::MOVE_LEADER;

use super::corruption;
use super::step::EtcdStep;
use crate::EtcdCluster;
use crate::plan::Observed;
use crate::plan::member_set::{MemberSet, MemberView, transfer_target};

/// The request as the status records it.
pub(in crate::plan) struct LeaderTransfer {
    /// The value of the annotation that is done.
    pub(in crate::plan) moved_for: Option<String>,
    /// The leader at the time of the request.
    pub(in crate::plan) moving_from: Option<String>,
}

/// The value of the annotation, if that is not done yet.
fn requested(cluster: &EtcdCluster) -> Option<&str> {
    let value = cluster.annotations.get(MOVE_LEADER).map(|value| &**value).filter(|value| !value.is_empty())?;
    (cluster.status.leader_moved_for.as_deref() != Some(value)).then_some(value)
}

/// Transfers leadership once the status records the leader. All members are as desired here.
pub(super) fn step(observed: &Observed, members: &MemberSet<'_>) -> Option<EtcdStep> {
    requested(&observed.cluster)?;
    let from = observed.cluster.status.leader_moving_from.as_deref()?;
    let leader = members.leader().filter(|leader| leader.name == from)?;
    let target = eligible(observed, members, leader)?;
    Some(EtcdStep::MoveLeader { to: target.name.clone(), requested: true })
}

/// The next leader: a member that is ready, has caught up, and whose data is not corrupt.
fn eligible<'r, 'a>(
    observed: &Observed,
    members: &'r MemberSet<'a>,
    leader: &MemberView<'_>,
) -> Option<&'r MemberView<'a>> {
    transfer_target(members, leader, |member| member.ready && corruption::is_good_leader(observed, members, member))
}

/// Whether no other step is due, so that leadership may be transferred.
fn is_idle(observed: &Observed, members: &MemberSet<'_>, step: &EtcdStep) -> bool {
    let rests = matches!(step, EtcdStep::Rest | EtcdStep::MoveLeader { requested: true, .. });
    rests && members.list_known && !observed.cluster.spec.paused
}

/// What the status records after `step`.
pub(in crate::plan) fn leader_transfer_state(
    observed: &Observed,
    members: &MemberSet<'_>,
    step: &EtcdStep,
) -> LeaderTransfer {
    let before = &observed.cluster.status;
    let (moved_for, from) = (before.leader_moved_for.clone(), before.leader_moving_from.clone());
    let Some(value) = requested(&observed.cluster) else { return LeaderTransfer { moved_for, moving_from: None } };
    let done = LeaderTransfer { moved_for: Some(value.to_owned()), moving_from: None };
    let Some(leader) = members.leader().filter(|_| members.list_known) else {
        return LeaderTransfer { moved_for, moving_from: from };
    };
    match from {
        Some(from) if from != leader.name => done,
        // There is no other voter, or etcd cannot transfer leadership.
        _ if is_idle(observed, members, step)
            && (members.voters().count() == 1 || !leader.can_transfer_leadership()) =>
        {
            done
        }
        None if is_idle(observed, members, step) && eligible(observed, members, leader).is_some() => {
            LeaderTransfer { moved_for, moving_from: Some(leader.name.clone()) }
        }
        from => LeaderTransfer { moved_for, moving_from: from },
    }
}

/// Why a requested transfer is not done yet.
pub(in crate::plan) fn why_leader_not_transferred(
    observed: &Observed,
    members: &MemberSet<'_>,
    step: &EtcdStep,
) -> Option<String> {
    requested(&observed.cluster)?;
    if let EtcdStep::MoveLeader { to, requested: true } = step {
        return Some(format!("transferring leadership to member {to}, as the annotation {MOVE_LEADER} requests"));
    }
    let why = match members.leader() {
        _ if observed.cluster.spec.paused => "the cluster is paused",
        _ if !members.list_known => "there is no quorum",
        _ if !is_idle(observed, members, step) => "the members are not as desired yet",
        None => "the members do not agree on a leader",
        Some(leader) if !leader.can_transfer_leadership() => return None,
        Some(leader) if members.voters().count() > 1 && eligible(observed, members, leader).is_none() => {
            "no other member is ready and has caught up"
        }
        Some(_) => return None,
    };
    Some(format!("the leadership transfer that the annotation {MOVE_LEADER} requests is pending: {why}"))
}
