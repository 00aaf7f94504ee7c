//! Pure: status: the old operator's fields and conditions, and what it never told.

use api::etcd_cluster::condition_type::QUORUM_HEALTHY;
use api::etcd_cluster::{EtcdClusterReason, EtcdClusterStatus, Phase, StorageStatus};
use api::{ConditionStatus, Contract, condition_type};
use jiff::Timestamp;
use runtime::plan::meta::selector_text;
use runtime::status::conditions::{Summary, condition};

use super::membership::{Led, Step, filling_from, led};
use super::roster::{Node, Roster, hex};
use super::wish::Wish;
use super::{Observed, objects};

mod conditions;
mod events;
mod members;
mod warnings;
mod words;

pub(super) use events::{done, events};

/// What holds once `step` has been taken.
pub(super) fn of(
    observed: &Observed,
    roster: &Roster<'_>,
    wish: &Wish,
    step: &Step,
    now: Timestamp,
) -> EtcdClusterStatus {
    let cluster = &*observed.cluster;
    let before = &cluster.status;
    let cluster_id = before.cluster_id.clone().or_else(|| answered(roster));
    let statuses = members::statuses(cluster, roster, step, now);
    let standing = conditions::Standing::of(observed, roster, wish, step, now);
    let ready = roster.voters().filter(|node| members::serves(node)).count();
    let settled = standing.summary == Summary::Ready && !cluster.spec.paused;
    let current = if settled { Some(wish.version.to_string()) } else { before.current_version.clone() };
    let latched = cluster_id.is_some();
    let phase = phase(&standing, latched);
    let client = latched.then(|| objects::client_service(cluster));
    let Led { moved_for, moving_from } = led(observed, roster, step);
    EtcdClusterStatus {
        phase: Some(phase),
        reason: (phase == Phase::Failed).then(|| standing.message.clone()),
        control_paused: cluster.spec.paused,
        size: size(before, roster),
        client_port: client.as_ref().map(|_| objects::CLIENT_PORT),
        service_name: client,
        members: members::by_readiness(roster),
        current_version: current,
        target_version: Some(wish.version.to_string()),
        ready: Some(format!("{ready}/{}", cluster.spec.size)),
        leader: members::leader(&statuses)
            .or_else(|| before.leader.clone().filter(|_| !roster.listed && standing.answers)),
        filling_from: filling_from(observed, roster, step),
        leader_moved_for: moved_for,
        leader_moving_from: moving_from,
        db_size: members::largest(roster, before.db_size.as_deref()),
        member_statuses: statuses,
        storage: Some(StorageStatus { durable: wish.durable }),
        selector: Some(selector_text(&objects::selector(cluster))),
        cluster_id,
        contract: Contract { conditions: conditions::all(cluster, wish, &standing, now), ..before.contract.clone() },
    }
}

/// The cluster that a member answers as of; for good. So it must be among the members that its cluster lists: the address of its pod may
/// have become another's. Only of one that does not begin a cluster no list is needed: it may never have a quorum again.
fn answered(roster: &Roster<'_>) -> Option<String> {
    let counts = |node: &&Node<'_>| node.member.is_some() || !roster.listed && !node.begins();
    roster.nodes.iter().filter(counts).find_map(|node| node.endpoint).map(|endpoint| hex(endpoint.cluster_id))
}

/// The status of a cluster of which it is not known yet whether it can have volumes.
pub(super) fn undecided(observed: &Observed, now: Timestamp) -> EtcdClusterStatus {
    let cluster = &*observed.cluster;
    let before = &cluster.status;
    let conditions = if cluster.spec.paused {
        let why = "paused: nothing is created until spec.paused is false";
        vec![condition(condition_type::READY, ConditionStatus::False, EtcdClusterReason::Paused, why, now)]
    } else {
        let why = match &observed.default_class {
            Some(Err(why)) => format!(
                "no PVC can be created, so it is not known whether there is a default StorageClass: {why}; fix that, or \
                 delete this EtcdCluster, of which nothing has been created yet, and create it again with \
                 spec.storage.ephemeral: true"
            ),
            _ => "waiting to learn whether there is a default StorageClass".to_owned(),
        };
        Summary::Reconciling.conditions(EtcdClusterReason::StorageUndecided, why, now)
    };
    EtcdClusterStatus {
        phase: Some(Phase::Creating),
        control_paused: cluster.spec.paused,
        contract: Contract { conditions, ..before.contract.clone() },
        ..before.clone()
    }
}

fn phase(standing: &conditions::Standing, latched: bool) -> Phase {
    match (&standing.summary, latched) {
        (Summary::Stalled, false) => Phase::Failed,
        (Summary::Stalled, true) if standing.has_no_quorum() || standing.refuses() => Phase::Failed,
        (_, true) => Phase::Running,
        (_, false) => Phase::Creating,
    }
}

/// As many as etcd lists; without quorum, as many as it listed last.
fn size(before: &EtcdClusterStatus, roster: &Roster<'_>) -> i32 {
    if roster.listed { i32::try_from(roster.members().count()).unwrap_or(i32::MAX) } else { before.size }
}

/// Whether Ready says what it did after the pass before, which names the member that a step is about.
pub(super) fn says_the_same(before: &EtcdClusterStatus, after: &EtcdClusterStatus) -> bool {
    let said = |status: &EtcdClusterStatus| {
        let ready = status.contract.condition(condition_type::READY);
        ready.map(|ready| (ready.reason.clone(), ready.message.clone()))
    };
    said(before) == said(after)
}

/// Whether quorum does not answer, and is not called lost yet.
pub(super) fn is_quorum_unconfirmed(status: &EtcdClusterStatus) -> bool {
    status.contract.condition(QUORUM_HEALTHY).is_some_and(|told| told.reason == EtcdClusterReason::QuorumUnconfirmed)
}
