//! Pure: what the status records of a recovery from a lost quorum.

use api::etcd_cluster::{EtcdRecoveryStatus, RECOVER_WITHOUT, RecoveryOutcome};

use crate::EtcdCluster;

/// The recovery that is under way.
pub(super) fn under_way(cluster: &EtcdCluster) -> Option<&EtcdRecoveryStatus> {
    cluster.status.recovery.as_ref().filter(|recovery| recovery.ended_at.is_none())
}

/// Whether a member was given up in the last recovery: its volume may hold writes that no other has.
pub(super) fn was_given_up(cluster: &EtcdCluster, name: &str) -> bool {
    let last = cluster.status.recovery.as_ref().filter(|of| of.outcome != Some(RecoveryOutcome::Canceled));
    last.is_some_and(|of| of.without.iter().any(|without| without == name))
}

/// The value of the annotation that requests a recovery.
pub(super) fn annotation(cluster: &EtcdCluster) -> Option<&str> {
    cluster.annotations.get(RECOVER_WITHOUT).map(AsRef::as_ref)
}

/// The members that such a value names.
pub(super) fn named(value: &str) -> impl Iterator<Item = &str> {
    value.split(',').map(str::trim).filter(|name| !name.is_empty())
}
