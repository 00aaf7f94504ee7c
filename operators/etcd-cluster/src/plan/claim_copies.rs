//! Pure: PVCs that users copied from members' PVCs, labels included. The operator does not use, retire or delete them, whatever
//! they hold.

use runtime::projections::{Pod, Pvc};

use super::objects::{MEMBER_NAME, OWNER_UID, RETIRED};
use super::{Observed, names};
use crate::EtcdCluster;

/// Whether a PVC has labels that were copied from another PVC: the operator does not generate such a name, or the label
/// `etcd_node` names another PVC. The operator sets that label on all PVCs that it creates.
pub(super) fn has_copied_labels(cluster: &EtcdCluster, claim: &Pvc) -> bool {
    let name = &*claim.meta.key.name;
    !names::is_generated(cluster, name) || claim.labels.get(MEMBER_NAME).is_some_and(|member| **member != *name)
}

/// Whether it is such a copy and no pod, member or status entry has its name.
pub(super) fn is_unused_copy(observed: &Observed, claim: &Pvc) -> bool {
    let name = &*claim.meta.key.name;
    let has_pod = |pod: &Pod| pod.details.is_some() && *pod.meta.key.name == *name;
    let members = observed.etcd.members.as_deref().unwrap_or_default();
    let is_known = || {
        observed.pods.iter().any(|pod| has_pod(pod))
            || members.iter().any(|member| super::member_set::name(member) == *name)
            || observed.cluster.status.listed().any(|status| status.name == *name)
    };
    has_copied_labels(&observed.cluster, claim) && !is_known()
}

/// Whether a PVC is a member's, by its labels and name, which is all there is without pods and etcd's list (if the status was
/// lost).
pub(super) fn is_members(cluster: &EtcdCluster, claim: &Pvc) -> bool {
    is_current_of(cluster, claim) && !has_copied_labels(cluster, claim)
}

/// Whether a PVC is a member's. A PVC with copied labels is one, too, if a pod, member or status entry has its name.
pub(super) fn is_members_observed(observed: &Observed, claim: &Pvc) -> bool {
    is_current_of(&observed.cluster, claim) && !is_unused_copy(observed, claim)
}

/// Whether a PVC has the UID of this cluster, and is not that of a removed member.
fn is_current_of(cluster: &EtcdCluster, claim: &Pvc) -> bool {
    let owned = claim.labels.get(OWNER_UID).is_some_and(|uid| **uid == *cluster.meta.uid);
    owned && !claim.labels.contains_key(RETIRED)
}
