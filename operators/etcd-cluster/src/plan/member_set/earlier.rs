//! Pure: the members of a cluster that is taken over.

use super::ids::name;
use crate::EtcdCluster;
use crate::plan::{ListedMember, names};

/// Whether a listed member is an earlier one: not one that another client has added since.
pub(in crate::plan) fn is_earlier(cluster: &EtcdCluster, listed: &ListedMember) -> bool {
    let name = name(listed);
    let recorded = cluster.status.earlier_members.contains(&name);
    let begins = cluster.spec.takeover.is_some() && are_unknown(cluster);
    (recorded || begins) && !names::is_own(cluster, &name, &listed.peer_urls)
}

/// Whether the status does not say which members are earlier ones: before the takeover begins, and after the status was lost.
pub(in crate::plan) fn are_unknown(cluster: &EtcdCluster) -> bool {
    let status = &cluster.status;
    // Of a status that is recovered from PVCs, too.
    status.cluster_id.is_none() || status.contract.conditions.is_empty()
}
