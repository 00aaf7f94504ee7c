//! Conditions. Pure.

use api::etcd_cluster::EtcdClusterReason;
use api::etcd_cluster::condition_type::{AVAILABLE, DURABLE, QUORUM_HEALTHY, RECOVERING, SCALING, UPGRADING, WARNING};
use api::{Condition, ConditionStatus, PodReason, Reason};
use jiff::Timestamp;
use runtime::plan::conditions::{Summary, condition};

use super::super::membership::{Step, Wait, is_full, is_outdated};
use super::super::roster::{Node, Roster};
use super::super::wish::Wish;
use super::super::{Alarm, Observed, quorum, unlabeled};
use super::words::{alarm, alarmed, doing};
use super::{asks_for_ephemeral, old, summary};
use crate::EtcdCluster;

mod standing;

pub(super) use standing::Standing;
use standing::is_restarting;

pub(super) const NOT_DURABLE: &str = "there is no default StorageClass, so members keep their data in their pods, and lose it \
    with them: give spec.storage.storageClassName in a new cluster";

/// Whether a member serves clients: it is a healthy voter, and its pod is ready.
pub(super) fn serves(node: &Node<'_>) -> bool {
    node.is_healthy() && node.ready
}

/// The summary: whether all is as asked, and if not, why.
fn judge(observed: &Observed, roster: &Roster<'_>, wish: &Wish, step: &Step, lost: bool) -> (Summary, Reason, String) {
    let judged = judge_members(observed, roster, wish, step, lost);
    let refusal = wish.refusal.clone().or_else(|| unlabeled::foreign_pods(observed));
    match (&refusal, judged) {
        (Some((reason, why)), (Summary::Ready, ..)) => (Summary::Stalled, (*reason).into(), why.clone()),
        // What befalls the members meanwhile is told too.
        (Some((reason, why)), (_, also, message)) if also != *reason => {
            (Summary::Stalled, (*reason).into(), format!("{why}; besides, {message}"))
        }
        (_, judged) => judged,
    }
}

/// The same, but for what of the spec cannot be had.
fn judge_members(
    observed: &Observed,
    roster: &Roster<'_>,
    wish: &Wish,
    step: &Step,
    lost: bool,
) -> (Summary, Reason, String) {
    let ready = roster.voters().filter(|node| serves(node)).count();
    let count = format!("{ready} of {} members are ready", wish.size);
    let full: Vec<&str> = roster.nodes.iter().filter(|node| is_full(node)).map(|node| node.name.as_str()).collect();
    if !full.is_empty() {
        let message = format!(
            "{count}; no space is left on the volumes of {}, so etcd ends there: raise spec.storage.size, where the \
             StorageClass lets volumes grow; members start again by themselves once there is room",
            full.join(", ")
        );
        return (Summary::Stalled, EtcdClusterReason::VolumeFull.into(), message);
    }
    if let Step::Stuck(reason, message) = step {
        return (Summary::Stalled, reason.clone(), message.clone());
    }
    if let Some((id, alarm)) = alarm(observed) {
        let told = alarmed(observed, roster, id, alarm);
        return match step {
            // What does not go on because of it.
            Step::Wait(Wait { reason, message, .. }) if *reason == alarm.reason() => {
                (Summary::Stalled, reason.clone(), format!("{told}; {message}"))
            }
            _ => (Summary::Stalled, alarm.reason().into(), told),
        };
    }
    match step {
        Step::Rest if observed.cluster.status.storage.is_none() => (
            Summary::Reconciling,
            EtcdClusterReason::Creating.into(),
            "the first member is about to be made".to_owned(),
        ),
        Step::Rest if ready == wish.size && roster.listed && is_left_as_it_is(observed, roster, wish) => (
            Summary::Reconciling,
            EtcdClusterReason::Paused.into(),
            format!("{count}, and not all run what the spec asks for"),
        ),
        Step::Rest if ready == wish.size && roster.listed => (Summary::Ready, EtcdClusterReason::Running.into(), count),
        Step::Rest if !roster.listed => {
            let why = observed.etcd.members.as_ref().err().map_or("", String::as_str);
            (Summary::Reconciling, quorum::reason(lost).into(), quorum::told(lost, &format!("{count}: {why}")))
        }
        Step::Rest => (Summary::Reconciling, EtcdClusterReason::MembersNotReady.into(), count),
        // Nothing of what is asked for is missing meanwhile.
        Step::MoveLeader { asked: true, .. } if ready == wish.size => {
            (Summary::Ready, EtcdClusterReason::Running.into(), count)
        }
        Step::Wait(Wait { reason, message, .. })
            if *reason == EtcdClusterReason::QuorumLost && is_restarting(observed, roster, wish) =>
        {
            (
                Summary::Reconciling,
                EtcdClusterReason::RestartingMember.into(),
                format!("{count}; restarting as the spec asks: {message}"),
            )
        }
        Step::Wait(Wait { reason, message, .. }) => {
            let summary = if needs_person(roster) { Summary::Stalled } else { Summary::Reconciling };
            let message = format!("{count}; {message}");
            if *reason == EtcdClusterReason::QuorumLost {
                (summary, quorum::reason(lost).into(), quorum::told(lost, &message))
            } else {
                (summary, reason.clone(), message)
            }
        }
        step => {
            let (reason, doing) = doing(&observed.cluster, roster, step, wish);
            (Summary::Reconciling, reason.into(), format!("{count}; {doing}"))
        }
    }
}

/// Whether members are to get other pods once the cluster is paused no longer.
fn is_left_as_it_is(observed: &Observed, roster: &Roster<'_>, wish: &Wish) -> bool {
    observed.cluster.spec.paused && roster.voters().any(|node| is_outdated(node, wish))
}

/// Whether what keeps a member's pod from starting will not go away by itself: an image that is not there, for example.
/// Crashes may: members are started again, and replaced.
fn needs_person(roster: &Roster<'_>) -> bool {
    let troubles = roster.nodes.iter().filter(|node| node.running().is_some() && !node.is_healthy());
    let crashes = [PodReason::CrashLoopBackOff, PodReason::RunContainerError];
    troubles
        .filter_map(|node| node.pod?.trouble.as_ref())
        .any(|trouble| trouble.lasting && !trouble.reason.is_one_of(&crashes))
}

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
            format!("Cluster cannot be asked: {why}"),
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
        None if standing.denied => {
            old(RECOVERING, None, EtcdClusterReason::AuthenticationRequired, "Members cannot be asked".to_owned(), now)
        }
        None => old(RECOVERING, false, EtcdClusterReason::NothingToRecover, "All members are well".to_owned(), now),
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
            "claims of members are being deleted: see the condition Warning",
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
