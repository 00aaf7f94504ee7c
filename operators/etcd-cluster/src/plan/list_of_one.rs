//! Pure: distrusts a member list of one that cannot be right: a first member that lost its disk with its node, in a pod that an
//! earlier manager created, has bootstrapped its cluster again. It has the same ids, and lists itself alone.

use runtime::plan::Apply;
use runtime::projections::Pvc;

use super::member_set::{self, MemberSet, MemberView};
use super::membership::EtcdStep;
use super::objects::{self, RETIRED, RETIRING, Retiring, VolumeFacts};
use super::{Observed, claim_copies, hold};

/// Discards such a list, so that it costs no pod or volume: without a list, the operator restarts members on their volumes and
/// does nothing else.
pub fn distrust(observed: &mut Observed) {
    if let Some(why) = distrust_reason(observed) {
        observed.etcd.members = Err(why);
        observed.etcd.list_distrusted = true;
    }
}

/// Why the list is not trusted, if so, and what to do if it is right: a user may have removed the others meanwhile.
fn distrust_reason(observed: &Observed) -> Option<String> {
    let [alone] = observed.etcd.members.as_deref().ok()? else { return None };
    let alone = member_set::name(alone);
    let missing = unlisted_members(observed, &alone);
    if missing.is_empty() {
        return None;
    }
    let namespace = &observed.cluster.meta.key.namespace;
    Some(format!(
        "nothing is removed: member {alone} lists only itself, but the volumes of {} show that these are members, too, so \
         {alone} may have lost its disk and bootstrapped again; start the others; or, if they were removed with etcdctl member \
         remove, retire their \
         volumes: kubectl label pvc -n {namespace} {} {RETIRED}=true",
        missing.join(", "),
        missing.join(" ")
    ))
}

/// The other members that are not known to be removed: the status lists them, and neither pod nor PVC is marked. The operator
/// marks both before it removes a member, so that it recognizes its own removals.
fn unlisted_members<'o>(observed: &'o Observed, alone: &str) -> Vec<&'o str> {
    let has_data = |name: &str| {
        let mut claims = observed.claims.iter().filter(|claim| claim_copies::is_members_observed(observed, claim));
        claims.find(|claim| *claim.meta.key.name == *name).is_some_and(|claim| may_hold_data(observed, claim))
    };
    let is_marked = |name: &str| {
        let pod = observed.pods.iter().find(|pod| *pod.meta.key.name == *name);
        pod.and_then(|pod| pod.details.as_ref()).is_some_and(|details| details.annotations.contains_key(RETIRING))
    };
    let listed = observed.cluster.status.listed().map(|status| status.name.as_str());
    listed.filter(|name| *name != alone && has_data(name) && !is_marked(name)).collect()
}

/// Whether the volume of a PVC may hold this cluster's data. The data of a learner may be the only copy.
fn may_hold_data(observed: &Observed, claim: &Pvc) -> bool {
    let latched = observed.cluster.status.cluster_id.as_deref();
    let stays = !claim.lost && (!claim.meta.deleting || hold::is_held(claim));
    let of_this = match VolumeFacts::of(claim) {
        Some(facts) => latched == Some(&*facts.cluster_id),
        None => claim.bound && objects::has_yet_to_vote(claim),
    };
    stays && of_this && !objects::is_retiring(claim)
}

/// Unmarks the PVCs of members that were marked for removal and will not be removed.
pub(super) fn unmark_claims<'r>(members: &'r MemberSet<'_>, step: &'r EtcdStep) -> impl Iterator<Item = Apply> + 'r {
    let will_be_removed = move |member: &MemberView<'_>| {
        members.is_retiring(&member.name) || matches!(step, EtcdStep::Remove { name, .. } if *name == member.name)
    };
    let healthy = members.listed().filter(move |member| member.is_healthy() && !will_be_removed(member));
    let marked = healthy.filter_map(|member| member.claim).filter(|claim| objects::is_retiring(claim));
    marked.map(|claim| objects::marked_as_retiring(claim, Retiring::No))
}
