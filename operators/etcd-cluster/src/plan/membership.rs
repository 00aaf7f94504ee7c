//! Pure: decides the next step.
//!
//! In this order: begin again from a snapshot; hibernate; finish removals that are in flight; remove a failing member if there are too many;
//! repair; promote a learner; make room in databases, and disarm NOSPACE once there is space; scale; roll out changes; transfer leadership on request;
//! turn authentication on or off; defragment databases. There is one change of membership at a time, and none that costs quorum or lowers the number of failures that the cluster tolerates.

use api::ReconcileReason;
use api::etcd_cluster::EtcdClusterReason;

use super::desired::Desired;
use super::member_set::{MemberSet, MemberView};
use super::objects::RETIRING;
use super::{Observed, authentication, defragmentation, hibernation, hold, image_check, placement, reclaim, space};

mod bootstrap;
mod corruption;
mod failed_pods;
mod failure;
pub(super) mod from_backup;
mod leader_transfer;
mod lost_node;
pub(super) mod outdated;
mod recovery;
mod recreation;
mod repair;
mod replacement;
mod restart;
mod restore;
mod rolling_update;
mod scaling;
mod step;
mod surge;
mod survivor;
pub(super) mod takeover;
pub(super) mod terminating;
pub(super) mod unreachable;
mod volume_adoption;
mod without_quorum;

pub(super) use failure::waiting_message;
pub(super) use leader_transfer::{LeaderTransfer, leader_transfer_state, why_leader_not_transferred};
pub(super) use repair::is_catch_up_overdue;
pub(super) use rolling_update::filling_from;
pub use step::{EtcdStep, Wait};

use restart::restart;
use surge::with_surge_member;

/// The next member to lose its pod for a new one while all members are healthy: a follower, if there is one.
pub(super) fn next_to_lose_its_pod<'r, 'a>(
    observed: &Observed,
    members: &'r MemberSet<'a>,
    desired: &Desired,
) -> Option<&'r MemberView<'a>> {
    let healthy = members.list_known && members.voters().all(|member| member.is_healthy() && member.ready);
    let rolls = |member: &MemberView<'_>| {
        outdated::needs_rollout(observed, member, desired) && outdated::needs_new_pod(member, desired)
    };
    let loses_pod = |member: &&MemberView<'_>| rolls(member) || space::can_have_more(observed, members, member);
    // Without volumes a new member gets the new pod first. Once it has one, a dry run is of no use.
    let joins = |member: &MemberView<'_>| member.listed.is_none() || member.is_learner();
    let joining = !desired.durable && members.all.iter().any(joins);
    members.leader_last(members.voters().filter(|member| healthy && !joining && loses_pod(member)))
}

/// Whether the next step may create the pod of an additional member.
pub(super) fn is_about_to_grow(observed: &Observed, members: &MemberSet<'_>, desired: &Desired) -> bool {
    let bootstrapped = observed.cluster.status.cluster_id.is_some() && members.list_known;
    bootstrapped && scaling::is_next_to_start(members, &with_additional_members(observed, members, desired))
}

/// The next step.
#[must_use]
pub fn next(observed: &Observed, members: &MemberSet<'_>, desired: &Desired, now: jiff::Timestamp) -> EtcdStep {
    if let Some(step) = restore::step(observed, members, desired, now) {
        return step;
    }
    if let Some(step) = hibernation::step(observed, members, desired) {
        return step;
    }
    if let Some(step) = volume_adoption::step(observed, members) {
        return step;
    }
    if let Some(step) = failed_pods::step(observed, members, now) {
        return step;
    }
    if let Some(step) = defragmentation::wait(observed) {
        return step;
    }
    if observed.cluster.status.cluster_id.is_none() {
        return bootstrap::step(observed, members, desired, now);
    }
    if !members.list_known {
        return recovery::step(observed, members, desired, now);
    }
    if let Some(copy) = members.listed().find(|member| member.pod.is_some() && repair::is_elsewhere(observed, member)) {
        return foreign_member(copy);
    }
    let desired = &with_additional_members(observed, members, desired);
    let verified = |step| verified(observed, members, desired, step);
    finish_in_flight(observed, members, desired)
        .or_else(|| scaling::remove_failing(observed, members, desired).map(verified))
        .or_else(|| repair::step(observed, members, desired, now).map(verified))
        .or_else(|| scaling::promote(observed, members, desired, now))
        .or_else(|| reclaim::step(observed, members))
        .or_else(|| space::disarm(observed, members))
        .or_else(|| scaling::step(observed, members, desired))
        .or_else(|| takeover::step(observed, members))
        .or_else(|| image_check::clear(observed, members, desired))
        .or_else(|| placement::clear(observed, members, desired))
        .or_else(|| rolling_update::step(observed, members, desired, now))
        .or_else(|| leader_transfer::step(observed, members))
        .or_else(|| wait_for_finalizer(observed, members, desired))
        .or_else(|| authentication::step(observed, members))
        .or_else(|| defragmentation::step(observed, members, now))
        .unwrap_or(EtcdStep::Rest)
}

/// How many members etcd is to list: more than the spec asks for while one is replaced by another, or a cluster is taken over.
fn with_additional_members(observed: &Observed, members: &MemberSet<'_>, desired: &Desired) -> Desired {
    if members.earlier().next().is_some() {
        return takeover::with_earlier_members(members, desired);
    }
    with_surge_member(observed, members, desired)
}

/// The operator changes nothing if the cluster is that of another namespace, and only copies of its volumes run here.
fn foreign_member(member: &MemberView<'_>) -> EtcdStep {
    let url = member.listed.and_then(|listed| listed.peer_urls.first()).map_or("", String::as_str);
    let message = format!(
        "{} runs on a copy of another cluster's volume, and counts in the quorum of that cluster as its member at {url}; \
         delete this EtcdCluster at once, and restore a snapshot of that cluster (etcdctl snapshot save) into a new one",
        member.name
    );
    EtcdStep::stuck(EtcdClusterReason::ForeignMember, message)
}

/// Waits for the finalizer of a PVC: without it, a deletion of the PVC would take what clients write.
fn wait_for_finalizer(observed: &Observed, members: &MemberSet<'_>, desired: &Desired) -> Option<EtcdStep> {
    let member = hold::unheld(observed, members, desired)?;
    Some(EtcdStep::wait(
        EtcdClusterReason::MemberStarting,
        format!("waiting for the finalizer on the PVC of member {}", member.name),
    ))
}

/// Removes a member for its missing PVC only after the API server has confirmed that there is none. Meanwhile the operator
/// restarts other members.
fn verified(observed: &Observed, members: &MemberSet<'_>, desired: &Desired, step: EtcdStep) -> EtcdStep {
    let EtcdStep::Remove { name, .. } = &step else { return step };
    let without = |member: &MemberView<'_>| member.name == *name && member.pod.is_none() && member.claim.is_none();
    if !desired.durable || observed.claim_lookups.absent.contains(name.as_str()) || !members.all.iter().any(without) {
        return step;
    }
    let can_restart =
        |member: &&MemberView<'_>| member.pod.is_none() && member.has_started() && member.usable_claim().is_some();
    if let Some(other) = members.listed().find(can_restart) {
        return restart(observed, members, desired, &other.name);
    }
    if observed.claim_lookups.foreign.contains(name.as_str()) {
        let message = format!(
            "PersistentVolumeClaim {name} exists and does not belong to this EtcdCluster: delete or rename it, and the member \
             of that name is replaced; it is left untouched"
        );
        return EtcdStep::stuck(ReconcileReason::NameTaken, message);
    }
    let message = format!("waiting to learn whether member {name} has a PVC: the PVC cannot be read");
    EtcdStep::poll(EtcdClusterReason::ClaimUnknown, message)
}

/// What is left to do of a removal. If etcd still lists the member, the removal waits while it might take a good copy of the
/// data.
fn finish_in_flight(observed: &Observed, members: &MemberSet<'_>, desired: &Desired) -> Option<EtcdStep> {
    let grows = members.listed().count() < desired.size;
    for member in &members.all {
        let retiring = member.annotation(RETIRING).is_some();
        match (member.listed, member.pod) {
            (Some(listed), Some(_))
                if retiring
                    && members.keeps_quorum_without(member)
                    && corruption::may_remove(observed, members, member) =>
            {
                return Some(EtcdStep::Remove {
                    name: member.name.clone(),
                    id: listed.id,
                    replaced_because: None,
                    keeps_claim: false,
                });
            }
            (None, Some(_)) if member.is_terminating() => {}
            // A pod whose member is not listed is only right if the member is about to join.
            (None, Some(_)) if retiring || member.has_run() || !member.has_joining_pod() => {
                return Some(EtcdStep::DeletePod { name: member.name.clone() });
            }
            (None, None) if grows && member.has_unused_claim() => {}
            (None, None)
                if member.claim.is_some_and(|claim| !claim.meta.deleting) || hold::is_held_and_terminating(member) =>
            {
                return Some(EtcdStep::RemoveClaim { name: member.name.clone() });
            }
            _ => {}
        }
    }
    None
}
