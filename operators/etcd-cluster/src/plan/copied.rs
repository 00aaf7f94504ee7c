//! Claims that bear the labels of a member's and are no member's: copies, which people make of claims to have a backup. They are left
//! alone, whatever they hold: no member comes back on one, and none is deleted or put aside. Pure.

use runtime::views::{Claim, Pod};

use super::objects::{NODE, RETIRED};
use super::{Observed, hold, names, roster};
use crate::EtcdCluster;

/// Whether a claim has another name than we gave the claim that its labels are of, by what it tells itself. The label with the
/// member's name is on all that we have made.
pub(super) fn is_copy(cluster: &EtcdCluster, claim: &Claim) -> bool {
    let name = &*claim.meta.key.name;
    !names::is_ours(cluster, name) || claim.labels.get(NODE).is_some_and(|member| **member != *name)
}

/// Whether a claim is such a copy, and not that of a member or pod whose claim somebody has labelled otherwise.
pub(super) fn is_left(observed: &Observed, claim: &Claim) -> bool {
    let name = &*claim.meta.key.name;
    let has_pod = |pod: &Pod| pod.running.is_some() && *pod.meta.key.name == *name;
    let members = observed.etcd.members.as_deref().unwrap_or_default();
    let is_known = || {
        observed.pods.iter().any(|pod| has_pod(pod))
            || members.iter().any(|member| roster::name(member) == *name)
            || observed.cluster.status.listed().any(|status| status.name == *name)
    };
    is_copy(&observed.cluster, claim) && !is_known()
}

/// Those of this very cluster that nobody has put aside.
pub(super) fn told(observed: &Observed) -> impl Iterator<Item = &Claim> {
    let stays = |claim: &&Claim| !claim.meta.deleting && !claim.labels.contains_key(RETIRED);
    hold::made_for(observed).filter(stays).filter(|claim| is_left(observed, claim))
}
