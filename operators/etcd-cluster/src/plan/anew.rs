//! A list of members that cannot be the cluster's: a first member that lost its disk with its node, in a pod that an earlier manager made,
//! has begun its cluster anew. It has the same ids, and lists itself alone. Pure.

use super::objects::{Facts, RETIRED, RETIRING};
use super::roster;
use super::{Observed, claim_copies, hold};

/// How many others have to be missing: the operator removes one member at a time, and status tells of that before the next one.
const MISSING: usize = 2;

/// Takes such a list for none, so that nobody loses a pod or a volume by it: without quorum, members come back on their volumes, and
/// nothing else is done.
pub fn distrust(observed: &mut Observed) {
    if let Some(why) = why(observed) {
        observed.etcd.members = Err(why);
    }
}

/// Why the list is not believed, if it is not, and what to do if it is right: several members may have been removed by hand meanwhile.
fn why(observed: &Observed) -> Option<String> {
    let [alone] = observed.etcd.members.as_deref().ok()? else { return None };
    let alone = roster::name(alone);
    let missing = missing(observed, &alone);
    if missing.len() < MISSING {
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

/// The members of whose removal nothing tells: status has them, their volumes hold this cluster's data, and no mark says that the operator
/// was about to remove them.
fn missing<'o>(observed: &'o Observed, alone: &str) -> Vec<&'o str> {
    let latched = observed.cluster.status.cluster_id.as_deref();
    let holds = |name: &str| {
        let mut claims = observed.claims.iter().filter(|claim| claim_copies::is_members_observed(observed, claim));
        claims.find(|claim| *claim.meta.key.name == *name).is_some_and(|claim| {
            let stays = !claim.meta.deleting || hold::is_held(claim);
            stays && Facts::of(claim).is_some_and(|facts| latched == Some(&*facts.cluster_id))
        })
    };
    let goes = |name: &str| {
        let pod = observed.pods.iter().find(|pod| *pod.meta.key.name == *name);
        pod.and_then(|pod| pod.running.as_ref()).is_some_and(|running| running.annotations.contains_key(RETIRING))
    };
    let listed = observed.cluster.status.listed().map(|status| status.name.as_str());
    listed.filter(|name| *name != alone && holds(name) && !goes(name)).collect()
}
