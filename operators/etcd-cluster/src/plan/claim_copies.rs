//! Pure: PVCs that people copied from members' PVCs, labels included. The operator does not use, retire or delete them, whatever
//! they hold.

use runtime::projections::{Claim, Pod};

use super::objects::{NODE, OWNER_UID, RETIRED};
use super::{Observed, names};
use crate::EtcdCluster;

/// Whether a claim's labels were copied from another claim: the operator does not generate such a name, or the label `etcd_node` names
/// another claim. The operator sets that label on all claims that it makes.
pub(super) fn has_copied_labels(cluster: &EtcdCluster, claim: &Claim) -> bool {
    let name = &*claim.meta.key.name;
    !names::is_ours(cluster, name) || claim.labels.get(NODE).is_some_and(|member| **member != *name)
}

/// Whether it is such a copy and no pod, member or status entry has its name.
pub(super) fn is_unused_copy(observed: &Observed, claim: &Claim) -> bool {
    let name = &*claim.meta.key.name;
    let has_pod = |pod: &Pod| pod.running.is_some() && *pod.meta.key.name == *name;
    let members = observed.etcd.members.as_deref().unwrap_or_default();
    let is_known = || {
        observed.pods.iter().any(|pod| has_pod(pod))
            || members.iter().any(|member| super::roster::name(member) == *name)
            || observed.cluster.status.listed().any(|status| status.name == *name)
    };
    has_copied_labels(&observed.cluster, claim) && !is_known()
}

/// Whether a claim is a member's, by its labels and name.
// Without pods and etcd's list (status is lost) only labels and name can tell.
pub(super) fn is_members(cluster: &EtcdCluster, claim: &Claim) -> bool {
    is_kept_for(cluster, claim) && !has_copied_labels(cluster, claim)
}

/// Whether a claim is a member's: a pod, member or status entry of its name also makes a claim with copied labels one.
pub(super) fn is_members_observed(observed: &Observed, claim: &Claim) -> bool {
    is_kept_for(&observed.cluster, claim) && !is_unused_copy(observed, claim)
}

/// Whether a claim has the UID of this cluster, and is not that of a removed member.
fn is_kept_for(cluster: &EtcdCluster, claim: &Claim) -> bool {
    let owned = claim.labels.get(OWNER_UID).is_some_and(|uid| **uid == *cluster.meta.uid);
    owned && !claim.labels.contains_key(RETIRED)
}
