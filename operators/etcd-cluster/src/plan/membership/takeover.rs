//! Pure: the steps of a takeover: the members of this cluster join as when it is scaled up, and the earlier members leave.

use api::etcd_cluster::{EarlierMembers, EtcdClusterReason};

use super::failure::waiting_message;
use super::step::EtcdStep;
use crate::plan::desired::Desired;
use crate::plan::member_set::{MemberSet, MemberView, transfer_target};
use crate::plan::{Observed, takeover};

/// The desired size of etcd's list as long as it has earlier members.
pub(super) fn with_earlier_members(members: &MemberSet<'_>, desired: &Desired) -> Desired {
    Desired { size: desired.size + members.earlier().count(), ..desired.clone() }
}

/// Begins the takeover. The status latches the cluster id in the same reconcile.
pub(super) fn begin(observed: &Observed, members: &MemberSet<'_>) -> EtcdStep {
    match takeover::refusal(observed, members) {
        Some((reason, message)) => EtcdStep::stuck(reason, message),
        None => EtcdStep::poll(EtcdClusterReason::TakingOver, "the members join the cluster of spec.takeover"),
    }
}

/// What an earlier member is waited for, unless it is the next to leave: it has no pod here that could be repaired, and etcd adds no
/// member while one does not answer.
pub(super) fn wait_for(
    observed: &Observed,
    members: &MemberSet<'_>,
    desired: &Desired,
    member: &MemberView<'_>,
) -> Option<EtcdStep> {
    let own = members.own_voters().count();
    if member.is_healthy() || wants_removal(observed) && own >= desired.size - members.earlier().count() {
        return None;
    }
    let name = &member.name;
    if observed.cluster.spec.takeover.is_none() {
        let message = format!(
            "spec.takeover was removed while the earlier member {name} belonged to the cluster: remove it with etcdctl member remove"
        );
        return Some(EtcdStep::stuck(EtcdClusterReason::ForeignMember, message));
    }
    let why = takeover::failures(&observed.takeover);
    let message = format!(
        "the earlier member {name} does not answer at spec.takeover.endpoints: start it, or remove it with etcdctl member remove, unless \
         only the manager does not reach it{why}"
    );
    Some(EtcdStep::poll(EtcdClusterReason::MemberUnhealthy, message))
}

fn wants_removal(observed: &Observed) -> bool {
    let takeover = observed.cluster.spec.takeover.as_ref();
    takeover.is_some_and(|takeover| takeover.earlier_members == EarlierMembers::Remove)
}

/// The step while there are earlier members and all others vote: with that, nothing else changes.
pub(super) fn step(observed: &Observed, members: &MemberSet<'_>) -> Option<EtcdStep> {
    members.earlier().next()?;
    if !wants_removal(observed) {
        return Some(EtcdStep::Rest);
    }
    if let Some(member) = members.own_voters().find(|member| !(member.is_healthy() && member.ready)) {
        return Some(EtcdStep::poll(EtcdClusterReason::TakingOver, waiting_message(member)));
    }
    Some(remove(observed, members, |member| member.earlier, |member| !member.earlier))
}

/// Removes one of the members that leave: first one that does not answer, and the leader last.
pub(in crate::plan) fn remove(
    observed: &Observed,
    members: &MemberSet<'_>,
    leaves: impl Fn(&MemberView<'_>) -> bool,
    stays: impl Fn(&MemberView<'_>) -> bool,
) -> EtcdStep {
    let Some(leader) = members.leader() else {
        let why = takeover::failures(&observed.takeover);
        return EtcdStep::poll(EtcdClusterReason::NoLeader, format!("waiting for the leader to answer{why}"));
    };
    if leaves(leader)
        && let Some(target) = transfer_target(members, leader, |member| stays(member) && member.is_healthy())
    {
        return EtcdStep::MoveLeader { to: target.name.clone(), requested: false };
    }
    let leaving = || members.listed().filter(|member| leaves(member));
    let next = leaving().find(|member| !member.is_healthy()).or_else(|| members.leader_last(leaving()));
    match next.and_then(|member| Some((member, member.listed?))) {
        Some((member, listed)) if members.keeps_quorum_without(member) => {
            EtcdStep::Remove { name: member.name.clone(), id: listed.id, replaced_because: None, keeps_claim: false }
        }
        _ => EtcdStep::poll(EtcdClusterReason::TakingOver, "waiting until enough members are healthy to remove one"),
    }
}
