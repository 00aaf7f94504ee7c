//! Pure: the conditions.

use api::condition_type::READY;
use api::etcd_cluster::EtcdClusterReason;
use api::etcd_cluster::condition_type::{AVAILABLE, DURABLE, QUORUM_HEALTHY, RECOVERING, SCALING, UPGRADING, WARNING};
use api::{Condition, ConditionStatus};
use jiff::Timestamp;
use runtime::status::conditions::{Summary, condition};

use super::super::desired::Desired;
use super::super::{Alarm, quorum};
use crate::EtcdCluster;

mod cluster_state;
mod summary;

pub(super) use cluster_state::ClusterState;

pub(super) const NOT_DURABLE: &str = "members keep their data in their pods, and lose it with them: there is no default \
    StorageClass; set spec.storage.storageClassName in a new cluster";

/// All conditions.
pub(super) fn all(cluster: &EtcdCluster, desired: &Desired, state: &ClusterState, now: Timestamp) -> Vec<Condition> {
    let mut all = summary(state, cluster.spec.paused, now);
    all.extend([available(state, now), recovering(state, now)]);
    let sizes = format!("Current cluster size: {}, desired cluster size: {}", state.members, desired.size);
    all.push(match (state.scaling, state.members <= desired.size) {
        _ if state.hibernating => {
            let why = format!("Members are stopped. {sizes}");
            legacy_condition(SCALING, false, EtcdClusterReason::Hibernated, why, now)
        }
        (Some(true), true) => legacy_condition(SCALING, true, EtcdClusterReason::ScalingUp, sizes, now),
        (Some(true), false) => legacy_condition(SCALING, true, EtcdClusterReason::ScalingDown, sizes, now),
        (Some(false), _) => legacy_condition(SCALING, false, EtcdClusterReason::SizeAsDesired, sizes, now),
        (None, _) => {
            legacy_condition(SCALING, None, unknown_size(state), "Current cluster size is not known".to_owned(), now)
        }
    });
    all.push(if state.hibernating {
        let why = format!("members are stopped; the version is {} once they start", desired.version);
        legacy_condition(UPGRADING, false, EtcdClusterReason::Hibernated, why, now)
    } else if state.upgrading {
        legacy_condition(
            UPGRADING,
            true,
            EtcdClusterReason::ClusterUpgrading,
            format!("upgrading to {}", desired.version),
            now,
        )
    } else {
        legacy_condition(
            UPGRADING,
            false,
            EtcdClusterReason::VersionAsDesired,
            format!("version {}", desired.version),
            now,
        )
    });
    all.push(quorum_healthy(state, now));
    all.push(durable(cluster, desired, state, now));
    let warning = state.warning.clone();
    all.extend(warning.map(|(reason, message)| condition(WARNING, ConditionStatus::True, reason, message, now)));
    all
}

/// Available: whether the cluster answers requests.
fn available(state: &ClusterState, now: Timestamp) -> Condition {
    match &state.quorum {
        Ok(()) if let Some(alarm) = state.alarm => {
            let why = match alarm {
                Alarm::Corrupt => "Cluster rejects requests: the members' data differs",
                Alarm::NoSpace => "Cluster rejects writes: a database has reached its quota",
            };
            legacy_condition(AVAILABLE, false, alarm.reason(), why.to_owned(), now)
        }
        Ok(()) => {
            legacy_condition(AVAILABLE, true, EtcdClusterReason::ClusterAvailable, "Cluster available".to_owned(), now)
        }
        Err(_) if state.restoring => {
            let why = "Cluster begins again from a snapshot".to_owned();
            legacy_condition(AVAILABLE, false, EtcdClusterReason::Restoring, why, now)
        }
        Err(_) if state.hibernating => {
            let why = "Cluster hibernates: its members are stopped".to_owned();
            legacy_condition(AVAILABLE, false, EtcdClusterReason::Hibernated, why, now)
        }
        Err(_) if state.resuming => {
            let why = "Members start again after hibernation".to_owned();
            legacy_condition(AVAILABLE, false, EtcdClusterReason::Resuming, why, now)
        }
        Err(_) if !state.bootstrapped => {
            legacy_condition(AVAILABLE, false, EtcdClusterReason::Creating, "Cluster is being created".to_owned(), now)
        }
        Err(why) if state.auth_required => legacy_condition(
            AVAILABLE,
            None,
            EtcdClusterReason::AuthenticationRequired,
            format!("Cluster cannot be queried: {why}"),
            now,
        ),
        Err(_) if state.restarting => legacy_condition(
            AVAILABLE,
            false,
            EtcdClusterReason::RestartingMember,
            "Members are being restarted with the current spec".to_owned(),
            now,
        ),
        Err(why) => {
            let why = format!("Cluster not available: {}", quorum::message(state.lost, why));
            legacy_condition(AVAILABLE, false, quorum::reason(state.lost), why, now)
        }
    }
}

/// Recovering: whether a member needs repair.
fn recovering(state: &ClusterState, now: Timestamp) -> Condition {
    match &state.repair {
        Some(why) => legacy_condition(
            RECOVERING,
            true,
            EtcdClusterReason::DisasterRecovery,
            format!("Disaster recovery: {why}"),
            now,
        ),
        None if state.auth_required => legacy_condition(
            RECOVERING,
            None,
            EtcdClusterReason::AuthenticationRequired,
            "Members cannot be queried".to_owned(),
            now,
        ),
        None if state.hibernating => {
            legacy_condition(RECOVERING, false, EtcdClusterReason::Hibernated, "Members are stopped".to_owned(), now)
        }
        None if state.resuming => {
            legacy_condition(RECOVERING, false, EtcdClusterReason::Resuming, "Members start again".to_owned(), now)
        }
        None => legacy_condition(
            RECOVERING,
            false,
            EtcdClusterReason::NothingToRecover,
            "All members are healthy".to_owned(),
            now,
        ),
    }
}

/// The reason why the number of members is unknown.
fn unknown_size(state: &ClusterState) -> EtcdClusterReason {
    if state.auth_required { EtcdClusterReason::AuthenticationRequired } else { quorum::reason(state.lost) }
}

fn quorum_healthy(state: &ClusterState, now: Timestamp) -> Condition {
    let (status, reason, message) = match &state.quorum {
        Ok(()) => {
            (ConditionStatus::True, EtcdClusterReason::QuorumAnswers, "a linearizable read was answered".to_owned())
        }
        Err(why) if state.restoring => (ConditionStatus::Unknown, EtcdClusterReason::Restoring, why.clone()),
        Err(_) if state.hibernating => {
            (ConditionStatus::Unknown, EtcdClusterReason::Hibernated, "the members are stopped".to_owned())
        }
        Err(why) if state.resuming => (ConditionStatus::Unknown, EtcdClusterReason::Resuming, why.clone()),
        Err(why) if !state.bootstrapped => (ConditionStatus::Unknown, EtcdClusterReason::Creating, why.clone()),
        Err(why) if state.auth_required => {
            (ConditionStatus::Unknown, EtcdClusterReason::AuthenticationRequired, why.clone())
        }
        Err(why) if state.operator_rejected => {
            (ConditionStatus::Unknown, EtcdClusterReason::TLSSecretInvalid, why.clone())
        }
        Err(why) if state.restarting => (ConditionStatus::Unknown, EtcdClusterReason::RestartingMember, why.clone()),
        Err(why) => (ConditionStatus::False, quorum::reason(state.lost), quorum::message(state.lost, why)),
    };
    condition(QUORUM_HEALTHY, status, reason, message, now)
}

fn durable(cluster: &EtcdCluster, desired: &Desired, state: &ClusterState, now: Timestamp) -> Condition {
    let (status, reason, message) = match desired.durable {
        true if state.terminating => (
            ConditionStatus::False,
            EtcdClusterReason::ClaimTerminating,
            "PVCs of members are terminating: see the condition Warning",
        ),
        true => (ConditionStatus::True, EtcdClusterReason::Volumes, "each member has a volume of its own"),
        false if requests_ephemeral(cluster) => (
            ConditionStatus::False,
            EtcdClusterReason::Ephemeral,
            "members keep their data in their pods: spec.storage.ephemeral is true",
        ),
        false => (ConditionStatus::False, EtcdClusterReason::NoDefaultStorageClass, NOT_DURABLE),
    };
    condition(DURABLE, status, reason, message, now)
}

pub(super) fn requests_ephemeral(cluster: &EtcdCluster) -> bool {
    cluster.spec.storage.as_ref().is_some_and(|storage| storage.ephemeral)
}

/// A condition of the archived operator, with its two times.
fn legacy_condition(
    type_: &'static str,
    holds: impl Into<Option<bool>>,
    reason: EtcdClusterReason,
    message: String,
    now: Timestamp,
) -> Condition {
    let status = match holds.into() {
        Some(true) => ConditionStatus::True,
        Some(false) => ConditionStatus::False,
        None => ConditionStatus::Unknown,
    };
    let condition = condition(type_, status, reason, message, now);
    Condition { last_update_time: Some(condition.last_transition_time), ..condition }
}

/// Ready, Reconciling and Stalled.
fn summary(state: &ClusterState, paused: bool, now: Timestamp) -> Vec<Condition> {
    if paused {
        let ready = if state.summary == Summary::Ready { ConditionStatus::True } else { ConditionStatus::False };
        let message = format!("paused: the operator changes nothing until spec.paused is false; {}", state.message);
        return vec![condition(READY, ready, EtcdClusterReason::Paused, message, now)];
    }
    state.summary.conditions(state.reason.clone(), state.message.clone(), now)
}
