//! Pure: what the status records of a recovery from a lost quorum.

use api::etcd_cluster::EtcdRecoveryStatus;

use crate::EtcdCluster;

/// The recovery that is under way.
pub(super) fn under_way(cluster: &EtcdCluster) -> Option<&EtcdRecoveryStatus> {
    cluster.status.recovery.as_ref().filter(|recovery| recovery.ended_at.is_none())
}

/// Whether a member was given up in the last recovery: its volume may hold writes that no other has.
pub(super) fn was_given_up(cluster: &EtcdCluster, name: &str) -> bool {
    cluster.status.recovery.as_ref().is_some_and(|of| of.without.iter().any(|without| without == name))
}
