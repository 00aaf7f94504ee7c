//! Pure: what keeps volumes: our finalizer on the claims of members that have voted, and one on the cluster, without which nobody
//! would release claims any more. A claim is released when its member is off the list of those who hold quorum, when a person
//! puts it aside, and with the cluster.

use api::UNSAVED_DATA;
use api::etcd_cluster::ETCD_VOLUMES;
use runtime::cache::Projection as _;
use runtime::plan::{Apply, Effect};
use runtime::projections::Claim;

use super::objects::{self, Facts, OWNER_UID, RETIRED};
use super::roster::{Node, Roster};
use super::wish::Wish;
use super::{EtcdAct, Observed, claim_copies, names, recovered};
use crate::EtcdCluster;

/// Whether our finalizer keeps a claim.
pub(super) fn is_held(claim: &Claim) -> bool {
    claim.meta.is_held_by(UNSAVED_DATA)
}

/// Whether a member's claim is being deleted, and no more than our finalizer and perhaps its pod keeps it.
pub(super) fn is_dying(node: &Node<'_>) -> bool {
    node.claim.is_some_and(|claim| claim.meta.deleting && is_held(claim))
}

/// The finalizer of the cluster, where it lacks it.
pub(super) fn cluster(cluster: &EtcdCluster, durable: bool) -> Option<Effect<EtcdAct>> {
    let wanted = durable && !cluster.meta.deleting && !cluster.meta.is_held_by(ETCD_VOLUMES);
    wanted.then(|| Effect::Apply(Apply::finalizers(EtcdCluster::KIND, &cluster.meta, &[ETCD_VOLUMES])))
}

/// What claims lack, or have that they should not have. No finalizer is added to what is being deleted: the API server refuses
/// that.
pub(super) fn claims(observed: &Observed, roster: &Roster<'_>) -> Vec<Apply> {
    let cluster = &*observed.cluster;
    let keep = roster.nodes.iter().filter_map(|node| node.claim).filter(|claim| {
        cluster.meta.is_held_by(ETCD_VOLUMES) && lacks_hold(observed, claim) && Facts::of(claim).is_some()
    });
    let put_aside = observed.claims.iter().filter(|claim| {
        let aside = claim.labels.contains_key(RETIRED) || is_marked(observed, claim);
        is_held(claim) && aside && names::is_ours(cluster, &claim.meta.key.name)
    });
    let released = put_aside.map(|claim| &**claim).chain(copies(observed)).map(|claim| objects::held(claim, false));
    keep.map(|claim| objects::held(claim, true)).chain(released).collect()
}

/// Copies that a person has made with our finalizer, and deletes: nobody else lets them go.
fn copies(observed: &Observed) -> impl Iterator<Item = &Claim> {
    let aside =
        |claim: &Claim| claim.labels.contains_key(RETIRED) && names::is_ours(&observed.cluster, &claim.meta.key.name);
    own(observed)
        .filter(move |claim| claim.meta.deleting && claim_copies::is_unused_copy(observed, claim) && !aside(claim))
}

/// Whether a person has put a member's claim aside.
fn is_marked(observed: &Observed, claim: &Claim) -> bool {
    observed.found.marked.contains(&*claim.meta.key.name)
}

/// Whether our finalizer is to keep a claim, and does not yet.
fn lacks_hold(observed: &Observed, claim: &Claim) -> bool {
    !is_held(claim) && !claim.meta.deleting && !is_marked(observed, claim)
}

/// A voter whose claim could still go with a deletion: clients are let in, and the cluster is ready, only once nothing takes
/// away what they write.
pub(super) fn unheld<'r, 'a>(observed: &Observed, roster: &'r Roster<'a>, wish: &Wish) -> Option<&'r Node<'a>> {
    roster.voters().find(|node| wish.durable && node.claim.is_some_and(|claim| lacks_hold(observed, claim)))
}

/// Whether there is data that a deletion must not take along: clients may have written to a cluster that was latched, and to
/// one of which only claims tell, because its status is lost.
pub(super) fn anything_to_keep(observed: &Observed) -> bool {
    let latched = observed.cluster.status.cluster_id.is_some();
    latched || own(observed).next().is_some() || recovered::tells_of_members(&observed.cluster, &observed.claims)
}

/// Releases a claim, if it is held.
pub(super) fn release(claim: &Claim) -> Option<Effect<EtcdAct>> {
    is_held(claim).then(|| Effect::Apply(objects::held(claim, false)))
}

/// The claims of this very cluster.
pub(super) fn made_for(observed: &Observed) -> impl Iterator<Item = &Claim> {
    let uid = &*observed.cluster.meta.uid;
    let ours = move |claim: &&Claim| claim.labels.get(OWNER_UID).is_some_and(|of| **of == *uid);
    observed.claims.iter().map(|claim| &**claim).filter(ours)
}

/// Those of them that are held.
pub(super) fn own(observed: &Observed) -> impl Iterator<Item = &Claim> {
    made_for(observed).filter(|claim| is_held(claim))
}

/// Those that are held for an earlier cluster of the name, and that nobody is left to release once this one has gone. What a person
/// deletes of them is kept, but for a namespace that goes.
pub(super) fn earlier(observed: &Observed) -> impl Iterator<Item = &Claim> {
    let cluster = &*observed.cluster;
    observed.claims.iter().map(|claim| &**claim).filter(move |claim| {
        let other = claim.labels.get(OWNER_UID).is_some_and(|of| **of != *cluster.meta.uid);
        let members = other && names::is_ours(cluster, &claim.meta.key.name);
        members && is_held(claim) && (observed.termination.is_some() || !claim.meta.deleting)
    })
}
