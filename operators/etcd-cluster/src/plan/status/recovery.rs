//! Pure: the record of a recovery from a lost quorum.

use api::etcd_cluster::{EtcdRecoveryStatus, RecoveryOutcome};
use jiff::{Timestamp, Unit};

use super::super::member_set::{MemberSet, MemberView};
use super::super::membership::EtcdStep;
use super::super::recovery::{annotation, under_way};
use crate::EtcdCluster;

/// The record of a recovery after `step`.
pub(super) fn record(
    cluster: &EtcdCluster,
    members: &MemberSet<'_>,
    step: &EtcdStep,
    now: Timestamp,
) -> Option<EtcdRecoveryStatus> {
    let second = || now.round(Unit::Second).ok();
    if let EtcdStep::BeginRecovery { from, without } = step {
        return Some(EtcdRecoveryStatus {
            from: from.clone(),
            without: without.clone(),
            started_at: second(),
            ..EtcdRecoveryStatus::default()
        });
    }
    let outcome = match under_way(cluster) {
        None => return cluster.status.recovery.clone(),
        Some(_) if matches!(step, EtcdStep::CancelRecovery | EtcdStep::Restore(_)) => RecoveryOutcome::Canceled,
        Some(of) if members.list_known => {
            let given_up = |member: &MemberView<'_>| of.without.contains(&member.name);
            if members.listed().any(given_up) { RecoveryOutcome::Canceled } else { RecoveryOutcome::Recovered }
        }
        Some(of) => return Some(of.clone()),
    };
    under_way(cluster).map(|of| EtcdRecoveryStatus { ended_at: second(), outcome: Some(outcome), ..of.clone() })
}

/// The request that has had its effect, or has none because there is quorum.
pub(super) fn request(cluster: &EtcdCluster, members: &MemberSet<'_>, step: &EtcdStep) -> Option<String> {
    let value = annotation(cluster)?;
    let is_dealt_with = members.list_known || matches!(step, EtcdStep::BeginRecovery { .. });
    if is_dealt_with { Some(value.to_owned()) } else { cluster.status.recovery_request.clone() }
}
