//! Pure: the first member, and the pod of the second. As long as no cluster id has been latched, nothing has been acknowledged to
//! anybody: the Service of clients is made after it.

use std::collections::BTreeMap;

use api::condition_type::READY;
use api::etcd_cluster::EtcdClusterReason;
use api::{ConditionStatus, ReconcileReason};
use jiff::{SignedDuration, Timestamp};
use runtime::plan::ChildState;
use runtime::plan::meta::selector_text;
use runtime::projections::Container;

use super::again::again;
use super::outdated;
use super::step::Step;
use super::troubles::{trouble, waiting_for};
use crate::plan::objects::{CLUSTER_ID, ETCD, OWNER_UID, RETIRED, START, Start, selector};
use crate::plan::roster::{Node, Roster};
use crate::plan::wish::Wish;
use crate::plan::{Observed, clock, names, objects, recovered};

/// What is said first where only claims and pods are left of a cluster.
const LOST: &str = "the status of this cluster was lost";
/// How long members may take to answer after the status was lost, before a person is needed.
const UNANSWERED: SignedDuration = SignedDuration::from_mins(2);

/// The next step towards a cluster.
pub(super) fn step(observed: &Observed, roster: &Roster<'_>, wish: &Wish, now: Timestamp) -> Step {
    let clusters = recovered::clusters(observed);
    if clusters.len() > 1 {
        return Step::stuck(EtcdClusterReason::VolumesAmbiguous, ambiguous(observed, &clusters));
    }
    if was_made(observed, roster) {
        return recovery(observed, roster, wish, now);
    }
    let Some(seed) = roster.nodes.iter().find(|node| node.pod.is_some() && !node.joins()) else {
        return strangers(observed).unwrap_or_else(|| first(observed, roster));
    };
    if seed.is_leaving() {
        return Step::wait(ReconcileReason::WaitingForDeletion, format!("waiting for pod {} to be deleted", seed.name));
    }
    // If it answers, it is the cluster from now on.
    let useless = || seed.is_doomed() || is_hopeless(seed, wish) || is_isolated(seed, wish);
    if seed.endpoint.is_none() && useless() && may_lose_pod(observed, seed, wish) {
        return Step::DropPod { name: seed.name.clone() };
    }
    second(observed, roster, wish, seed)
        .unwrap_or_else(|| Step::ask_again(EtcdClusterReason::Creating, waiting_for(seed)))
}

/// The way back of a cluster that has been made, and of which only the status is gone that told of it. As soon as a member
/// answers, the cluster is latched again; until then members come back on their volumes, and nothing new is made.
fn recovery(observed: &Observed, roster: &Roster<'_>, wish: &Wish, now: Timestamp) -> Step {
    if let Some(node) = roster.nodes.iter().find(|node| node.endpoint.is_some()) {
        return Step::ask_again(
            EtcdClusterReason::StatusLost,
            format!("{LOST}; restoring it from member {}", node.name),
        );
    }
    let volumes = || {
        let usable = |node: &&Node<'_>| node.claim.is_some_and(|claim| !claim.lost && !claim.meta.deleting);
        roster.nodes.iter().filter(usable)
    };
    if let Some(node) = volumes().find(|node| node.pod.is_none()) {
        return again(observed, roster, wish, &node.name);
    }
    if let Some(node) = volumes().find(|node| !node.is_leaving() && is_hopeless(node, wish)) {
        return Step::DropPod { name: node.name.clone() };
    }
    let waiting = roster.nodes.iter().find(|node| node.pod.is_some()).map(waiting_for).unwrap_or_default();
    let ready = observed.cluster.status.contract.condition(READY);
    let waits = ready.filter(|ready| ready.status != ConditionStatus::True).map(|ready| ready.last_transition_time);
    if waits.is_some_and(|since| clock::lasted(since, now) >= UNANSWERED) {
        return Step::stuck(EtcdClusterReason::StatusLost, unanswered(observed, &waiting));
    }
    Step::ask_again(
        EtcdClusterReason::StatusLost,
        format!("{LOST}, and no member that could restore it answers yet: {waiting}"),
    )
}

/// What to do where no member comes back that could tell of the cluster.
fn unanswered(observed: &Observed, waiting: &str) -> String {
    let cluster = &observed.cluster;
    let (namespace, name, uid) = (&cluster.meta.key.namespace, &cluster.meta.key.name, &cluster.meta.uid);
    let pods = selector_text(&selector(cluster));
    format!(
        "{LOST}, and no member has answered for {} minutes: {waiting}; find out why the members do not start, and correct \
         that; or, to give their data up and begin a new cluster, put the volumes aside and delete the pods: kubectl label \
         pvc -n {namespace} -l etcd_cluster={name},{OWNER_UID}={uid} {RETIRED}=true && kubectl delete pod -n {namespace} -l \
         {pods}",
        UNANSWERED.as_mins()
    )
}

/// Which clusters claims tell of, and how to put aside those that are not meant.
fn ambiguous(observed: &Observed, clusters: &BTreeMap<String, Vec<&str>>) -> String {
    let (namespace, name) = (&observed.cluster.meta.key.namespace, &observed.cluster.meta.key.name);
    let each = clusters.iter().map(|(id, claims)| {
        let claims = claims.join(", ");
        format!("{claims}: kubectl label pvc -n {namespace} -l etcd_cluster={name},{CLUSTER_ID}={id} {RETIRED}=true")
    });
    format!(
        "{LOST}, and its claims tell of several clusters (label {CLUSTER_ID}): put the claims aside of those that are not \
         meant; {}",
        each.collect::<Vec<_>>().join("; ")
    )
}

/// Whether members have joined, which happens only once the first one's cluster has been latched.
fn was_made(observed: &Observed, roster: &Roster<'_>) -> bool {
    let joined = |node: &Node<'_>| node.joins() && node.has_run();
    let comes_again = |node: &Node<'_>| node.annotation(START) == Some(Start::Again.word());
    if roster.nodes.iter().any(|node| joined(node) || comes_again(node)) {
        return true;
    }
    // Until then there are a first member's claim and those of members that have yet to vote.
    let first = names::first(&observed.cluster);
    let voted = |node: &&Node<'_>| node.claim.is_some_and(|claim| !objects::has_yet_to_vote(claim));
    let others = roster.nodes.iter().filter(voted).filter(|node| node.name != first).count();
    others > 1
}

/// Why there must be no first member: other pods, of an earlier operator perhaps, bear the labels by which the Service of
/// clients finds members. They would get requests that are meant for this cluster, and it those that are meant for them.
fn strangers(observed: &Observed) -> Option<Step> {
    let strangers = match &observed.strangers {
        Some(strangers) => strangers,
        None if !observed.pods.is_empty() => return None,
        None => {
            let why = "cannot tell whether other pods have this cluster's labels: pods cannot be listed";
            return Some(Step::wait(EtcdClusterReason::PodsUnknown, why));
        }
    };
    let names = |leaving| {
        let names = strangers.iter().filter(|stranger| stranger.leaving == leaving).map(|stranger| &*stranger.name);
        names.collect::<Vec<_>>().join(", ")
    };
    let labels = selector_text(&selector(&observed.cluster));
    match (names(false), names(true)) {
        (stay, _) if !stay.is_empty() => Some(Step::stuck(
            EtcdClusterReason::ForeignPods,
            format!(
                "foreign pods have this cluster's labels ({labels}), so clients would reach them too: {stay}; \
                 if they are an earlier operator's cluster, back it up and restore it into a cluster of another name; \
                 else delete them"
            ),
        )),
        (_, leave) if !leave.is_empty() => Some(Step::wait(
            ReconcileReason::WaitingForDeletion,
            format!("waiting for earlier pods to be deleted: {leave}"),
        )),
        _ => None,
    }
}

/// The first member, on the volume that it may have already; not on one that was put aside, be it that of an earlier first member.
fn first(observed: &Observed, roster: &Roster<'_>) -> Step {
    let name = names::first(&observed.cluster);
    let mut claims = roster.nodes.iter().filter(|node| node.claim.is_some() && node.pod.is_none());
    // Without the first member's, the one claim is that of the second, which has never been listed.
    let seed = claims.clone().find(|node| node.name == name).or_else(|| claims.next());
    let is_claim = |name: &str| observed.claims.iter().any(|claim| *claim.meta.key.name == *name);
    let name = match seed {
        Some(seed) => seed.name.as_str().into(),
        None => names::first_but(&observed.cluster, is_claim).into(),
    };
    Step::Start { name, start: Start::New }
}

/// A first member that cannot start, and whose spec has been mended since. One that ran and was killed comes back.
fn is_hopeless(seed: &Node<'_>, wish: &Wish) -> bool {
    const KILLED: [i32; 3] = [0, 137, 143];
    let once_killed =
        |etcd: &Container| !etcd.backs_off && etcd.ended.as_ref().is_some_and(|ended| KILLED.contains(&ended.code));
    let comes_back = seed.runs_etcd() || seed.container(ETCD).is_some_and(once_killed);
    outdated::is_outdated(seed, wish) && trouble(seed).is_some() && !comes_back
}

/// A first member whose etcd runs and cannot be reached, and whose spec has been corrected since.
fn is_isolated(seed: &Node<'_>, wish: &Wish) -> bool {
    seed.endpoint.is_none() && seed.runs_for_long() && outdated::needs_other_pod(seed, wish)
}

/// Whether a first member keeps its data without its pod, or has none: where it would go with the pod, nobody must ever have been
/// let in.
fn may_lose_pod(observed: &Observed, seed: &Node<'_>, wish: &Wish) -> bool {
    wish.durable || !seed.has_run() || matches!(observed.clients, ChildState::Absent)
}

/// The pod of the second member, which starts while the first does; it waits until it is listed.
fn second(observed: &Observed, roster: &Roster<'_>, wish: &Wish, seed: &Node<'_>) -> Option<Step> {
    if wish.size < 2 || trouble(seed).is_some() {
        return None;
    }
    let start = |name| Some(Step::Start { name, start: Start::Join });
    let others = || roster.nodes.iter().filter(|node| node.name != seed.name);
    if let Some(node) = others().find(|node| node.pod.is_some()) {
        let hopeless = node.is_doomed() || outdated::is_outdated(node, wish) && trouble(node).is_some();
        return (hopeless && !node.is_leaving()).then(|| Step::DropPod { name: node.name.clone() });
    }
    match others().find_map(|node| Some((node, node.claim?))) {
        Some((_, claim)) if claim.meta.deleting || claim.lost => None,
        Some((node, _)) => start(node.name.as_str().into()),
        None => start(observed.fresh_name.clone()),
    }
}
