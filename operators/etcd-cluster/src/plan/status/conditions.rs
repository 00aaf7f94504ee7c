//! Pure: Conditions.

use api::condition_type::READY;
use api::etcd_cluster::EtcdClusterReason;
use api::etcd_cluster::condition_type::{AVAILABLE, DURABLE, QUORUM_HEALTHY, RECOVERING, SCALING, UPGRADING, WARNING};
use api::{Condition, ConditionStatus};
use jiff::Timestamp;
use runtime::status::conditions::{Summary, condition};

use super::super::wish::Wish;
use super::super::{Alarm, quorum};
use crate::EtcdCluster;

mod judgment;
mod standing;

pub(super) use standing::Standing;

pub(super) const NOT_DURABLE: &str = "there is no default StorageClass, so members keep their data in their pods, and lose it \
    with them: give spec.storage.storageClassName in a new cluster";

/// All conditions.
pub(super) fn all(cluster: &EtcdCluster, wish: &Wish, standing: &Standing, now: Timestamp) -> Vec<Condition> {
    let mut all = summary(standing, cluster.spec.paused, now);
    all.extend([available(standing, now), recovering(standing, now)]);
    let sizes = format!("Current cluster size: {}, desired cluster size: {}", standing.members, wish.size);
    all.push(match (standing.scaling, standing.members <= wish.size) {
        (Some(true), true) => old(SCALING, true, EtcdClusterReason::ScalingUp, sizes, now),
        (Some(true), false) => old(SCALING, true, EtcdClusterReason::ScalingDown, sizes, now),
        (Some(false), _) => old(SCALING, false, EtcdClusterReason::SizeAsDesired, sizes, now),
        (None, _) => old(SCALING, None, unknown_size(standing), "Current cluster size is not known".to_owned(), now),
    });
    all.push(if standing.upgrading {
        old(UPGRADING, true, EtcdClusterReason::ClusterUpgrading, format!("upgrading to {}", wish.version), now)
    } else {
        old(UPGRADING, false, EtcdClusterReason::VersionAsDesired, format!("version {}", wish.version), now)
    });
    all.push(quorum_healthy(standing, now));
    all.push(durable(cluster, wish, standing, now));
    let warning = standing.warning.clone();
    all.extend(warning.map(|(reason, message)| condition(WARNING, ConditionStatus::True, reason, message, now)));
    all
}

/// Whether the cluster answers requests.
fn available(standing: &Standing, now: Timestamp) -> Condition {
    match &standing.quorum {
        Ok(()) if let Some(alarm) = standing.alarm => {
            let why = match alarm {
                Alarm::Corrupt => "Cluster refuses requests: the members' data differ",
                Alarm::NoSpace => "Cluster refuses writes: a database has reached its quota",
            };
            old(AVAILABLE, false, alarm.reason(), why.to_owned(), now)
        }
        Ok(()) => old(AVAILABLE, true, EtcdClusterReason::ClusterAvailable, "Cluster available".to_owned(), now),
        Err(_) if !standing.made => {
            old(AVAILABLE, false, EtcdClusterReason::Creating, "Cluster is being created".to_owned(), now)
        }
        Err(why) if standing.denied => old(
            AVAILABLE,
            None,
            EtcdClusterReason::AuthenticationRequired,
            format!("Cluster cannot be queried: {why}"),
            now,
        ),
        Err(_) if standing.restarting => old(
            AVAILABLE,
            false,
            EtcdClusterReason::RestartingMember,
            "Cluster is being restarted as its spec asks".to_owned(),
            now,
        ),
        Err(why) => {
            let why = format!("Cluster not available: {}", quorum::told(standing.lost, why));
            old(AVAILABLE, false, quorum::reason(standing.lost), why, now)
        }
    }
}

/// Whether members have to be healed.
fn recovering(standing: &Standing, now: Timestamp) -> Condition {
    match &standing.healing {
        Some(why) => {
            old(RECOVERING, true, EtcdClusterReason::DisasterRecovery, format!("Disaster recovery: {why}"), now)
        }
        None if standing.denied => old(
            RECOVERING,
            None,
            EtcdClusterReason::AuthenticationRequired,
            "Members cannot be queried".to_owned(),
            now,
        ),
        None => old(RECOVERING, false, EtcdClusterReason::NothingToRecover, "All members are healthy".to_owned(), now),
    }
}

/// Why it is not known how many members there are.
fn unknown_size(standing: &Standing) -> EtcdClusterReason {
    if standing.denied { EtcdClusterReason::AuthenticationRequired } else { quorum::reason(standing.lost) }
}

fn quorum_healthy(standing: &Standing, now: Timestamp) -> Condition {
    let (status, reason, message) = match &standing.quorum {
        Ok(()) => {
            (ConditionStatus::True, EtcdClusterReason::QuorumAnswers, "a linearizable read was answered".to_owned())
        }
        Err(why) if !standing.made => (ConditionStatus::Unknown, EtcdClusterReason::Creating, why.clone()),
        Err(why) if standing.denied => {
            (ConditionStatus::Unknown, EtcdClusterReason::AuthenticationRequired, why.clone())
        }
        Err(why) if standing.restarting => (ConditionStatus::Unknown, EtcdClusterReason::RestartingMember, why.clone()),
        Err(why) => (ConditionStatus::False, quorum::reason(standing.lost), quorum::told(standing.lost, why)),
    };
    condition(QUORUM_HEALTHY, status, reason, message, now)
}

fn durable(cluster: &EtcdCluster, wish: &Wish, standing: &Standing, now: Timestamp) -> Condition {
    let (status, reason, message) = match wish.durable {
        true if standing.terminating => (
            ConditionStatus::False,
            EtcdClusterReason::ClaimTerminating,
            "PVCs of members are terminating: see the condition Warning",
        ),
        true => (ConditionStatus::True, EtcdClusterReason::Volumes, "each member has a volume of its own"),
        false if asks_for_ephemeral(cluster) => (
            ConditionStatus::False,
            EtcdClusterReason::Ephemeral,
            "members keep their data in their pods, as spec.storage.ephemeral asks",
        ),
        false => (ConditionStatus::False, EtcdClusterReason::NoDefaultStorageClass, NOT_DURABLE),
    };
    condition(DURABLE, status, reason, message, now)
}

pub(super) fn asks_for_ephemeral(cluster: &EtcdCluster) -> bool {
    cluster.spec.storage.as_ref().is_some_and(|storage| storage.ephemeral)
}

/// One of the old operator's conditions, with its two times.
fn old(
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
    let made = condition(type_, status, reason, message, now);
    Condition { last_update_time: Some(made.last_transition_time), ..made }
}

/// The summary's three.
fn summary(standing: &Standing, paused: bool, now: Timestamp) -> Vec<Condition> {
    if paused {
        let ready = if standing.summary == Summary::Ready { ConditionStatus::True } else { ConditionStatus::False };
        let message = format!("paused: the operator changes nothing until spec.paused is false; {}", standing.message);
        return vec![condition(READY, ready, EtcdClusterReason::Paused, message, now)];
    }
    standing.summary.conditions(standing.reason.clone(), standing.message.clone(), now)
}
