//! Members that their kubelets find ready and the operator does not reach: a network policy is in the way, or etcd hangs behind a
//! port that is open. Whether clients reach them cannot be seen from here.

use api::etcd_cluster::MemberRole;
use jiff::{SignedDuration, Timestamp};

use super::{Observed, Roster, Step, Wish, pull, rolling};
use crate::plan::objects::{CLIENT_PORT, VERSION};
use crate::plan::proven;
use crate::plan::roster::Node;

/// How long a member does not answer, though its pod is ready, before somebody should know.
pub(super) const SILENCE: SignedDuration = SignedDuration::from_mins(2);

/// Whether a member is one of those, for long. One that wants to know who asks has answered.
pub(super) fn is_unreached(observed: &Observed, node: &Node<'_>, now: Timestamp) -> bool {
    let known = observed.cluster.status.member_statuses.iter().find(|status| status.name == node.name);
    let silent = known.filter(|status| status.id.is_some() && status.role == MemberRole::Unreachable);
    let since = silent.and_then(|status| status.since);
    let asked_in_vain = observed.etcd.endpoints.get(node.name.as_str()).is_some_and(Result::is_err);
    let long = since.is_some_and(|since| now.duration_since(since) >= SILENCE) && node.runs_for_long();
    long && asked_in_vain && node.ready && !observed.etcd.denied
}

/// Whether an only voter is one of those. With its pod nobody else's quorum goes, and each change of its spec costs it that. One that
/// says that it only learns is no voter; had it not heard yet that it is one, quorum would come back with the pod.
pub(super) fn is_alone(observed: &Observed, roster: &Roster<'_>, node: &Node<'_>, now: Timestamp) -> bool {
    let learns =
        |name: &str| roster.nodes.iter().any(|node| node.name == name && node.endpoint.is_some_and(|of| of.learner));
    let listed = observed.cluster.status.member_statuses.iter().filter(|status| status.id.is_some());
    let mut voters = listed.filter(|status| !learns(&status.name));
    let first = voters.next().is_some_and(|status| status.name == node.name);
    let alone = first && voters.next().is_none();
    alone && !roster.listed && is_unreached(observed, node, now)
}

/// Another pod for such a member, where the spec by now says something else of pods, whatever is known to have run in it: what lets
/// the operator through may be just that. What comes before another minor version takes a member that answers; so where one is asked
/// for as well, it comes back as it ran last, if that was of the version that it runs now.
pub(super) fn another_pod(
    observed: &Observed,
    roster: &Roster<'_>,
    wish: &Wish,
    node: &Node<'_>,
    now: Timestamp,
) -> Option<Step> {
    if proven::keeps_minor(node, wish) {
        return Some(renewed(observed, roster, wish, node, now));
    }
    comes_back(node).then(|| Step::DropPod { name: node.name.clone() })
}

/// Whether what a member ran last, before its pod of now, is of the version that it runs.
fn comes_back(node: &Node<'_>) -> bool {
    let versions = proven::version_of_data(node).zip(node.version_found_ready());
    let same = versions.is_some_and(|(ran, runs)| ran.same_minor(&runs));
    same && proven::is_unproven(node) && proven::is_told(node)
}

/// The pod that is wished, or what comes before: clients may be served, so the next pod is proved as in a roll.
fn renewed(observed: &Observed, roster: &Roster<'_>, wish: &Wish, node: &Node<'_>, now: Timestamp) -> Step {
    if let Some(why) = &observed.refused {
        return rolling::refused(why);
    }
    let before = pull::step(observed, roster, node, wish, now);
    before.unwrap_or_else(|| Step::Renew { name: node.name.clone() })
}

/// The only member that is about to lose its pod for another one, though the operator does not reach it.
pub(in crate::plan) fn is_about_to_lose_its_pod<'r, 'a>(
    observed: &Observed,
    roster: &'r Roster<'a>,
    wish: &Wish,
    now: Timestamp,
) -> Option<&'r Node<'a>> {
    let lacks = |node: &&Node<'_>| lacks_pod(observed, roster, wish, node, now);
    roster.nodes.iter().find(|node| lacks(node) && proven::keeps_minor(node, wish))
}

/// Whether such a member is to get another pod on its volume.
fn lacks_pod(observed: &Observed, roster: &Roster<'_>, wish: &Wish, node: &Node<'_>, now: Timestamp) -> bool {
    rolling::takes_other_pod(node, wish) && is_alone(observed, roster, node, now)
}

/// Those that do not answer the manager, and hold quorum with those that do, if there is no quorum but with them. A read that takes
/// quorum has just been answered, and somebody who has no pod has not agreed to it: so enough of the others have, and are still
/// enough once that one is off the list. etcd itself lets a member go that it is not connected to, and looks whether the others are
/// there otherwise (`mayRemoveMember` in `server/etcdserver/server.go`).
pub(super) fn hold_quorum_without<'r, 'a>(roster: &'r Roster<'a>, node: &Node<'_>) -> Option<Vec<&'r Node<'a>>> {
    let others = || roster.voters().filter(|other| other.name != node.name);
    let answering = others().filter(|other| other.is_healthy() && !other.is_restarting()).count();
    let silent: Vec<_> = others().filter(|other| other.silence.is_some() && other.ready).collect();
    let enough = answering + silent.len() > others().count() / 2;
    (roster.listed && node.pod.is_none() && enough).then_some(silent)
}

/// What is told of such members, where there may be a quorum with them: then nothing is said to be lost. `count` says who answers.
pub(super) fn told(
    observed: &Observed,
    roster: &Roster<'_>,
    wish: &Wish,
    count: &str,
    needed: usize,
    now: Timestamp,
) -> Option<Step> {
    let unreached: Vec<&Node<'_>> = roster.nodes.iter().filter(|node| is_unreached(observed, node, now)).collect();
    if unreached.is_empty() || unreached.len() < needed {
        return None;
    }
    let names = unreached.iter().map(|node| node.name.as_str()).collect::<Vec<_>>().join(", ");
    let mut message = format!(
        "{count}, and the kubelet finds {names} ready: the manager has not reached that for {} minutes; let it through to port \
         {CLIENT_PORT} of the pods (network policies), or, if etcd hangs in one, delete that pod",
        SILENCE.as_mins()
    );
    if let Some(node) = unreached.iter().find(|node| lacks_pod(observed, roster, wish, node, now)) {
        let made = node.annotation(VERSION).unwrap_or_default();
        message = format!(
            "{message}; what else the spec says of pods has to wait for that, since it asks for version {}, too: set \
             spec.version to {made} to have the rest at once",
            wish.version
        );
    }
    Some(Step::Stuck("MembersUnreachable", message))
}
