//! Pure: the status: the fields and conditions of the archived operator, and those that it did not have.

use api::etcd_cluster::condition_type::QUORUM_HEALTHY;
use api::etcd_cluster::{EtcdClusterPhase, EtcdClusterReason, EtcdClusterStatus, EtcdStorageStatus};
use api::{ConditionStatus, Contract, condition_type};
use jiff::Timestamp;
use runtime::plan::meta::selector_text;
use runtime::status::conditions::{Summary, condition};

use super::desired::Desired;
use super::hibernation::{self, Hibernation};
use super::member_set::{MemberSet, MemberView, hex};
use super::membership::{EtcdStep, LeaderTransfer, Wait, filling_from, leader_transfer_state};
use super::restore::RestoreStep;
use super::{Observed, defragmentation, objects};
use crate::EtcdCluster;

mod conditions;
mod events;
mod members;
mod messages;
mod recovery;
mod restore;
mod warnings;

pub(super) use events::{events, step_events};

/// The status after `step`.
pub(super) fn of(
    observed: &Observed,
    members: &MemberSet<'_>,
    desired: &Desired,
    step: &EtcdStep,
    now: Timestamp,
) -> EtcdClusterStatus {
    let cluster = &*observed.cluster;
    let before = &cluster.status;
    let cluster_id = before.cluster_id.clone().or_else(|| reported_cluster_id(observed, members, step));
    let stopped = hibernation::state(observed, desired.durable) == Some(Hibernation::Stopped);
    let mut statuses = members::statuses(cluster, members, step, stopped, now);
    let another = cluster_id.is_none() && cluster.spec.takeover.is_some();
    if another {
        // They belong to another cluster.
        statuses.retain(|status| members.get(&status.name).is_none_or(|member| member.listed.is_none()));
    }
    let state = conditions::ClusterState::of(observed, members, desired, step, now);
    let ready = members.own_voters().filter(|member| members::serves(member)).count();
    let settled = state.summary == Summary::Ready && !cluster.spec.paused && !state.hibernating;
    let current = if settled { Some(desired.version.to_string()) } else { before.current_version.clone() };
    let latched = cluster_id.is_some();
    let phase = phase(&state, latched);
    let client = latched.then(|| objects::client_service(cluster));
    let LeaderTransfer { moved_for, moving_from } = leader_transfer_state(observed, members, step);
    let restore = restore::record(cluster, step, cluster_id.as_deref(), now);
    let status = EtcdClusterStatus {
        phase: Some(phase),
        reason: (phase == EtcdClusterPhase::Failed).then(|| state.message.clone()),
        control_paused: cluster.spec.paused,
        size: size(before, members),
        client_port: client.as_ref().map(|_| objects::CLIENT_PORT),
        service_name: client,
        members: members::by_readiness(members),
        current_version: current,
        target_version: Some(desired.version.to_string()),
        ready: Some(format!("{ready}/{}", cluster.spec.size)),
        leader: members::leader(&statuses)
            .or_else(|| before.leader.clone().filter(|_| !members.list_known && state.answers)),
        restored_from: before.restored_from.clone().or_else(|| restored_from(cluster).filter(|_| latched)),
        earlier_members: earlier_members(before, members, latched),
        defragmentation: defragmentation::record(observed, members),
        recovery_request: recovery::request(cluster, members, step),
        recovery: recovery::record(cluster, members, step, now),
        restore,
        filling_from: filling_from(observed, members, step),
        leader_moved_for: moved_for,
        leader_moving_from: moving_from,
        db_size: members::largest_database(members, before.db_size.as_deref()).filter(|_| !another),
        member_statuses: statuses,
        storage: Some(EtcdStorageStatus { durable: desired.durable }),
        selector: Some(selector_text(&objects::selector(cluster))),
        cluster_id,
        contract: Contract { conditions: conditions::all(cluster, desired, &state, now), ..before.contract.clone() },
    };
    if *step == EtcdStep::Restore(RestoreStep::Forget) { restore::forgotten(status) } else { status }
}

/// The members of a cluster that is taken over that belong to it still.
fn earlier_members(before: &EtcdClusterStatus, members: &MemberSet<'_>, latched: bool) -> Vec<String> {
    if !members.list_known {
        return before.earlier_members.clone();
    }
    members.earlier().filter(|_| latched).map(|member| member.name.clone()).collect()
}

/// The snapshot that a cluster begins with.
fn restored_from(cluster: &EtcdCluster) -> Option<String> {
    let source = cluster.spec.restore.as_ref().filter(|_| cluster.status.cluster_id.is_none())?;
    Some(objects::restore_source(source))
}

/// The cluster id that a member reports, which is latched. The member must be in the list of its cluster, because another pod may
/// have got the address. Without quorum there may never be a list again, so a member that has not bootstrapped a cluster needs
/// none.
///
/// The cluster that is taken over becomes this one once nothing is in the way of that, or once a member of this one belongs to it.
fn reported_cluster_id(observed: &Observed, members: &MemberSet<'_>, step: &EtcdStep) -> Option<String> {
    let own = members.own().any(|member| member.endpoint.is_some());
    let begins = matches!(step, EtcdStep::Wait(Wait { reason, .. }) if *reason == EtcdClusterReason::TakingOver);
    if observed.cluster.spec.takeover.is_some() && !own && !begins {
        return None;
    }
    let counts =
        |member: &&MemberView<'_>| member.listed.is_some() || !members.list_known && !member.has_bootstrap_pod();
    members.all.iter().filter(counts).find_map(|member| member.endpoint).map(|endpoint| hex(endpoint.cluster_id))
}

/// The status of a cluster before it is known whether it can have volumes.
pub(super) fn undecided(observed: &Observed, now: Timestamp) -> EtcdClusterStatus {
    let cluster = &*observed.cluster;
    let before = &cluster.status;
    let conditions = if cluster.spec.paused {
        let why = "paused: nothing is created until spec.paused is false";
        vec![condition(condition_type::READY, ConditionStatus::False, EtcdClusterReason::Paused, why, now)]
    } else {
        let why = match &observed.default_class {
            Some(Err(why)) => format!(
                "no PVC can be created, so it is unknown whether there is a default StorageClass: {why}; correct that, or \
                 delete this EtcdCluster, of which nothing has been created yet, and create it again with \
                 spec.storage.ephemeral: true"
            ),
            _ => "checking whether there is a default StorageClass".to_owned(),
        };
        Summary::Reconciling.conditions(EtcdClusterReason::StorageUndecided, why, now)
    };
    EtcdClusterStatus {
        phase: Some(EtcdClusterPhase::Creating),
        control_paused: cluster.spec.paused,
        contract: Contract { conditions, ..before.contract.clone() },
        ..before.clone()
    }
}

fn phase(state: &conditions::ClusterState, latched: bool) -> EtcdClusterPhase {
    match (&state.summary, latched) {
        (Summary::Stalled, false) => EtcdClusterPhase::Failed,
        (Summary::Stalled, true) if state.has_no_quorum() || state.has_alarm() => EtcdClusterPhase::Failed,
        (_, true) => EtcdClusterPhase::Running,
        (_, false) => EtcdClusterPhase::Creating,
    }
}

/// The number of members that etcd lists, without those of a cluster that is taken over; without quorum, the last known one.
fn size(before: &EtcdClusterStatus, members: &MemberSet<'_>) -> i32 {
    if members.list_known { i32::try_from(members.own().count()).unwrap_or(i32::MAX) } else { before.size }
}

/// Whether Ready is the same as after the previous reconcile. Its message names the member of a step.
pub(super) fn is_ready_unchanged(before: &EtcdClusterStatus, after: &EtcdClusterStatus) -> bool {
    let ready = |status: &EtcdClusterStatus| {
        let ready = status.contract.condition(condition_type::READY);
        ready.map(|ready| (ready.reason.clone(), ready.message.clone()))
    };
    ready(before) == ready(after)
}

/// Whether there is no quorum, but it is not reported as lost yet.
pub(super) fn is_quorum_unconfirmed(status: &EtcdClusterStatus) -> bool {
    status
        .contract
        .condition(QUORUM_HEALTHY)
        .is_some_and(|condition| condition.reason == EtcdClusterReason::QuorumUnconfirmed)
}
