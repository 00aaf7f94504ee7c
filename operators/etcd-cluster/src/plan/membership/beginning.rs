//! The first member, and the pod of the second. As long as no cluster id has been latched, nothing has been acknowledged to
//! anybody: the Service of clients is made after it.

use runtime::plan::meta::selector_text;
use runtime::views::Container;

use super::{Observed, Roster, Step, Wish, rolling, trouble, waiting_for};
use crate::plan::names;
use crate::plan::objects::{ETCD, Start, selector};
use crate::plan::roster::Node;

/// The next step towards a cluster.
pub(super) fn step(observed: &Observed, roster: &Roster<'_>, wish: &Wish) -> Step {
    let Some(seed) = roster.nodes.iter().find(|node| node.pod.is_some() && !node.joins()) else {
        return strangers(observed).unwrap_or_else(|| first(observed, roster));
    };
    if seed.is_leaving() {
        return Step::wait("WaitingForDeletion", format!("waiting until the pod {} is gone", seed.name));
    }
    // If it answers, it is the cluster from now on.
    if seed.endpoint.is_none() && (seed.is_doomed() || is_hopeless(seed, wish)) {
        return Step::DropPod { name: seed.name.clone() };
    }
    second(observed, roster, wish, seed).unwrap_or_else(|| Step::ask_again("Creating", waiting_for(seed)))
}

/// Why there must be no first member: other pods, of an earlier operator perhaps, bear the labels by which the Service of
/// clients finds members. They would get requests that are meant for this cluster, and it those that are meant for them.
fn strangers(observed: &Observed) -> Option<Step> {
    let strangers = match &observed.strangers {
        Some(strangers) => strangers,
        None if !observed.pods.is_empty() => return None,
        None => {
            let why = "waiting to learn whether other pods bear this cluster's labels: pods cannot be listed";
            return Some(Step::wait("PodsUnknown", why));
        }
    };
    let names = |leaving| {
        let names = strangers.iter().filter(|stranger| stranger.leaving == leaving).map(|stranger| &*stranger.name);
        names.collect::<Vec<_>>().join(", ")
    };
    let labels = selector_text(&selector(&observed.cluster));
    match (names(false), names(true)) {
        (stay, _) if !stay.is_empty() => Some(Step::Stuck(
            "ForeignPods",
            format!(
                "pods that are not this cluster's bear its labels ({labels}), and clients would reach them too: {stay}; \
                 if they are an earlier operator's cluster, back it up and restore it into a cluster of another name; \
                 else delete them"
            ),
        )),
        (_, leave) if !leave.is_empty() => {
            Some(Step::wait("WaitingForDeletion", format!("waiting until earlier pods are gone: {leave}")))
        }
        _ => None,
    }
}

/// The first member, on the volume that it may have already.
fn first(observed: &Observed, roster: &Roster<'_>) -> Step {
    let name = names::first(&observed.cluster);
    let claims: Vec<&Node<'_>> =
        roster.nodes.iter().filter(|node| node.claim.is_some() && node.pod.is_none()).collect();
    let has_own = claims.iter().any(|node| node.name == name);
    match claims.as_slice() {
        [] => Step::Start { name: name.into(), start: Start::New },
        // Beside the first member's, that of the second, which has never been listed.
        [_] | [_, _] if has_own => Step::Start { name: name.into(), start: Start::New },
        [seed] => Step::Start { name: seed.name.as_str().into(), start: Start::New },
        _ => Step::Stuck(
            "VolumesAmbiguous",
            "there are volumes of several members and no member runs, but the status that tells of the cluster is \
             gone: restore the object's status, or delete the object and make a new cluster"
                .to_owned(),
        ),
    }
}

/// A first member that cannot start, and whose spec has been mended since. One that ran and was killed comes back.
fn is_hopeless(seed: &Node<'_>, wish: &Wish) -> bool {
    const KILLED: [i32; 3] = [0, 137, 143];
    let once_killed =
        |etcd: &Container| !etcd.backs_off && etcd.ended.as_ref().is_some_and(|ended| KILLED.contains(&ended.code));
    let comes_back = seed.runs_etcd() || seed.container(ETCD).is_some_and(once_killed);
    rolling::is_outdated(seed, wish) && trouble(seed).is_some() && !comes_back
}

/// The pod of the second member, which starts while the first does; it waits until it is listed.
fn second(observed: &Observed, roster: &Roster<'_>, wish: &Wish, seed: &Node<'_>) -> Option<Step> {
    if wish.size < 2 || trouble(seed).is_some() {
        return None;
    }
    let start = |name| Some(Step::Start { name, start: Start::Join });
    let others = || roster.nodes.iter().filter(|node| node.name != seed.name);
    if let Some(node) = others().find(|node| node.pod.is_some()) {
        let hopeless = node.is_doomed() || rolling::is_outdated(node, wish) && trouble(node).is_some();
        return (hopeless && !node.is_leaving()).then(|| Step::DropPod { name: node.name.clone() });
    }
    match others().find_map(|node| Some((node, node.claim?))) {
        Some((_, claim)) if claim.meta.deleting || claim.lost => None,
        Some((node, _)) => start(node.name.as_str().into()),
        None => start(observed.fresh_name.clone()),
    }
}
