//! Pure: the finalizers that protect volumes: one on the PVCs of members that have voted, and one on the cluster, without which
//! no controller would release the PVCs any more. The operator releases a PVC when etcd has removed its member, when a user
//! retires it, and when the cluster is deleted.

use api::UNSAVED_DATA;
use api::etcd_cluster::ETCD_VOLUMES;
use runtime::cache::Projection as _;
use runtime::plan::{Apply, Effect};
use runtime::projections::Pvc;

use super::desired::Desired;
use super::member_set::{MemberSet, MemberView};
use super::objects::{self, OWNER_UID, REPLACED_BY, RETIRED, VolumeFacts};
use super::{EtcdAct, Observed, claim_copies, names, recovered, takeover};
use crate::EtcdCluster;

/// Whether a PVC has the operator's finalizer.
pub(super) fn is_held(claim: &Pvc) -> bool {
    claim.meta.has_finalizer(UNSAVED_DATA)
}

/// Whether a member's PVC is terminating, and only the operator's finalizer and perhaps the pod keep it.
pub(super) fn is_held_and_terminating(member: &MemberView<'_>) -> bool {
    member.claim.is_some_and(|claim| claim.meta.deleting && is_held(claim))
}

/// Adds the finalizer of the cluster if it lacks it. Without volumes, only a last backup needs it.
pub(super) fn cluster(cluster: &EtcdCluster, durable: bool) -> Option<Effect<EtcdAct>> {
    // Members leave a cluster that they have joined before they are deleted.
    let joins = takeover::is_pending(cluster);
    let wanted = (durable || joins || cluster.spec.on_delete.is_some())
        && !cluster.meta.deleting
        && !cluster.meta.has_finalizer(ETCD_VOLUMES);
    wanted.then(|| Effect::Apply(Apply::finalizers(EtcdCluster::KIND, &cluster.meta, &[ETCD_VOLUMES])))
}

/// Adds missing finalizers to PVCs, and removes those that they should not have. The API server rejects a new finalizer on a
/// terminating object.
pub(super) fn claims(observed: &Observed, members: &MemberSet<'_>) -> Vec<Apply> {
    let cluster = &*observed.cluster;
    let protect = members.all.iter().filter_map(|member| member.claim).filter(|claim| {
        cluster.meta.has_finalizer(ETCD_VOLUMES) && lacks_finalizer(observed, claim) && VolumeFacts::of(claim).is_some()
    });
    let retired = observed.claims.iter().filter(|claim| {
        let is_retired = claim.labels.contains_key(RETIRED) || is_retired_by_user(observed, claim);
        // One that was terminating when the cluster began again from a snapshot would be gone.
        let is_kept = claim.meta.deleting && claim.labels.contains_key(REPLACED_BY);
        is_held(claim) && is_retired && !is_kept && names::is_generated(cluster, &claim.meta.key.name)
    });
    let released = retired.map(|claim| &**claim).chain(copies(observed)).map(|claim| objects::held(claim, false));
    protect.map(|claim| objects::held(claim, true)).chain(released).collect()
}

/// Terminating copies that a user has made with the operator's finalizer, which only the operator removes.
fn copies(observed: &Observed) -> impl Iterator<Item = &Pvc> {
    let is_retired = |claim: &Pvc| {
        claim.labels.contains_key(RETIRED) && names::is_generated(&observed.cluster, &claim.meta.key.name)
    };
    held_claims(observed)
        .filter(move |claim| claim.meta.deleting && claim_copies::is_unused_copy(observed, claim) && !is_retired(claim))
}

/// Whether a user has retired a member's PVC.
fn is_retired_by_user(observed: &Observed, claim: &Pvc) -> bool {
    observed.claim_lookups.marked.contains(&*claim.meta.key.name)
}

/// Whether a PVC still lacks the operator's finalizer.
fn lacks_finalizer(observed: &Observed, claim: &Pvc) -> bool {
    !is_held(claim) && !claim.meta.deleting && !is_retired_by_user(observed, claim)
}

/// A voter whose PVC a user could still delete with its data. Only when there is none, the operator creates the client Service
/// and reports the cluster as ready.
pub(super) fn unheld<'r, 'a>(
    observed: &Observed,
    members: &'r MemberSet<'a>,
    desired: &Desired,
) -> Option<&'r MemberView<'a>> {
    members
        .voters()
        .find(|member| desired.durable && member.claim.is_some_and(|claim| lacks_finalizer(observed, claim)))
}

/// Whether there is data that a deletion must not take along: clients may have written to a cluster that was latched, and to one
/// that is known only from its PVCs, because its status was lost.
pub(super) fn anything_to_keep(observed: &Observed) -> bool {
    let latched = observed.cluster.status.cluster_id.is_some();
    latched || held_claims(observed).next().is_some() || recovered::has_members(&observed.cluster, &observed.claims)
}

/// Removes the finalizer from a PVC that has it.
pub(super) fn release(claim: &Pvc) -> Option<Effect<EtcdAct>> {
    is_held(claim).then(|| Effect::Apply(objects::held(claim, false)))
}

/// The PVCs of this very cluster.
pub(super) fn own_claims(observed: &Observed) -> impl Iterator<Item = &Pvc> {
    let uid = &*observed.cluster.meta.uid;
    let is_own = move |claim: &&Pvc| claim.labels.get(OWNER_UID).is_some_and(|of| **of == *uid);
    observed.claims.iter().map(|claim| &**claim).filter(is_own)
}

/// Those of them that have the finalizer.
pub(super) fn held_claims(observed: &Observed) -> impl Iterator<Item = &Pvc> {
    own_claims(observed).filter(|claim| is_held(claim))
}

/// PVCs of an earlier cluster of the name that have the finalizer. No controller would release them after this cluster is
/// deleted. Those that a user deletes keep it, unless the namespace is terminating.
pub(super) fn held_claims_of_earlier(observed: &Observed) -> impl Iterator<Item = &Pvc> {
    let cluster = &*observed.cluster;
    observed.claims.iter().map(|claim| &**claim).filter(move |claim| {
        let other = claim.labels.get(OWNER_UID).is_some_and(|of| **of != *cluster.meta.uid);
        let members = other && names::is_generated(cluster, &claim.meta.key.name);
        members && is_held(claim) && (observed.termination.is_some() || !claim.meta.deleting)
    })
}
