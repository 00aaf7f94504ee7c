//! Pure: a list of members that cannot be the cluster's: a first member that lost its disk with its node, in a pod that an
//! earlier manager made, has begun its cluster anew. It has the same ids, and lists itself alone.

use runtime::plan::Apply;
use runtime::projections::Claim;

use super::membership::Step;
use super::objects::{self, Facts, RETIRED, RETIRING};
use super::roster::{self, Node, Roster};
use super::{Observed, claim_copies, hold};

/// Takes such a list for none, so that nobody loses a pod or a volume by it: without quorum, members come back on their volumes, and
/// nothing else is done.
pub fn distrust(observed: &mut Observed) {
    if let Some(why) = why(observed) {
        observed.etcd.members = Err(why);
        observed.etcd.alone = true;
    }
}

/// Why the list is not believed, if it is not, and what to do if it is right: the others may have been removed by hand meanwhile.
fn why(observed: &Observed) -> Option<String> {
    let [alone] = observed.etcd.members.as_deref().ok()? else { return None };
    let alone = roster::name(alone);
    let missing = missing(observed, &alone);
    if missing.is_empty() {
        return None;
    }
    let namespace = &observed.cluster.meta.key.namespace;
    Some(format!(
        "member {alone} lists itself alone, and the volumes of {} tell that these are members, too: {alone} may have lost its disk and begun \
         anew, so nothing is removed; start the others; or, if they were removed by hand (etcdctl member remove), put their volumes \
         aside: kubectl label pvc -n {namespace} {} {RETIRED}=true",
        missing.join(", "),
        missing.join(" ")
    ))
}

/// The members of whose removal nothing tells: status has them, and neither pod nor claim is marked. The operator marks both before it
/// asks etcd, so that its own removals are known however many members there were.
fn missing<'o>(observed: &'o Observed, alone: &str) -> Vec<&'o str> {
    let holds = |name: &str| {
        let mut claims = observed.claims.iter().filter(|claim| claim_copies::is_members_observed(observed, claim));
        claims.find(|claim| *claim.meta.key.name == *name).is_some_and(|claim| may_hold_data(observed, claim))
    };
    let goes = |name: &str| {
        let pod = observed.pods.iter().find(|pod| *pod.meta.key.name == *name);
        pod.and_then(|pod| pod.running.as_ref()).is_some_and(|running| running.annotations.contains_key(RETIRING))
    };
    let listed = observed.cluster.status.listed().map(|status| status.name.as_str());
    listed.filter(|name| *name != alone && holds(name) && !goes(name)).collect()
}

/// Whether a claim's volume may hold this cluster's data: a learner's may be the only copy.
fn may_hold_data(observed: &Observed, claim: &Claim) -> bool {
    let latched = observed.cluster.status.cluster_id.as_deref();
    let stays = !claim.lost && (!claim.meta.deleting || hold::is_held(claim));
    let of_this = match Facts::of(claim) {
        Some(facts) => latched == Some(&*facts.cluster_id),
        None => claim.bound && objects::has_yet_to_vote(claim),
    };
    stays && of_this && !objects::is_retiring(claim)
}

/// The claims of members that were to be removed, and are not any more.
pub(super) fn stays<'r>(roster: &'r Roster<'_>, step: &'r Step) -> impl Iterator<Item = Apply> + 'r {
    let goes = move |node: &Node<'_>| {
        roster.is_retiring(&node.name) || matches!(step, Step::Remove { name, .. } if *name == node.name)
    };
    let healthy = roster.members().filter(move |node| node.is_healthy() && !goes(node));
    let marked = healthy.filter_map(|node| node.claim).filter(|claim| objects::is_retiring(claim));
    marked.map(|claim| objects::marked_as_retiring(claim, false))
}
