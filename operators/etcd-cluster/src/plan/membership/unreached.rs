//! Pure: members that their kubelets find ready and the operator does not reach: a network policy is in the way, or etcd hangs
//! behind a port that is open. Whether clients reach them cannot be seen from here.

use api::etcd_cluster::{EtcdClusterReason, MemberRole};
use jiff::{SignedDuration, Timestamp};

use super::step::Step;
use super::{outdated, rolling};
use crate::plan::objects::CLIENT_PORT;
use crate::plan::roster::{Node, Roster, only_voter};
use crate::plan::wish::Wish;
use crate::plan::{Observed, clock, proven, pull};

/// How long a member does not answer, though its pod is ready, before somebody should know.
pub(super) const SILENCE: SignedDuration = SignedDuration::from_mins(2);

/// Whether a member is one of those, for long. One that wants to know who asks has answered.
pub(super) fn is_unreached(observed: &Observed, node: &Node<'_>, now: Timestamp) -> bool {
    let asked_in_vain = observed.etcd.endpoints.get(node.name.as_str()).is_some_and(Result::is_err);
    let long = is_silent(observed, node, now) && node.runs_for_long();
    long && asked_in_vain && node.ready && !observed.etcd.denied
}

/// Whether a member has not answered for long, whatever the reason.
fn is_silent(observed: &Observed, node: &Node<'_>, now: Timestamp) -> bool {
    silent_since(observed, node).is_some_and(|since| clock::lasted(since, now) >= SILENCE)
}

/// Since when a member has not answered, as status remembers.
pub(super) fn silent_since(observed: &Observed, node: &Node<'_>) -> Option<Timestamp> {
    let known = observed.cluster.status.member(&node.name);
    known.filter(|status| status.id.is_some() && status.role == MemberRole::Unreachable)?.since
}

/// Whether an only voter is one of those. With its pod nobody else's quorum goes, and each change of its spec costs it that.
pub(super) fn is_alone(observed: &Observed, roster: &Roster<'_>, node: &Node<'_>, now: Timestamp) -> bool {
    let alone = !roster.listed && only_voter(&observed.cluster, roster) == Some(&node.name);
    alone && is_unreached(observed, node, now)
}

/// Another pod for such a member, where the spec by now says something else of pods, whatever is known to have run in it: what lets
/// the operator through may be just that. Another minor version has to wait for it.
pub(super) fn another_pod(
    observed: &Observed,
    roster: &Roster<'_>,
    wish: &Wish,
    node: &Node<'_>,
    now: Timestamp,
) -> Option<Step> {
    if !proven::keeps_minor(node, wish) || !outdated::rolls(observed, node, wish) {
        return None;
    }
    // Clients may be served, so the next pod is proved as in a roll.
    if let Some(why) = &observed.refused {
        return Some(rolling::refused(why));
    }
    let before = pull::step(observed, roster, node, wish, now);
    Some(before.unwrap_or_else(|| Step::Renew { name: node.name.clone() }))
}

/// The only member that is about to lose its pod for another one, though the operator does not reach it.
pub(in crate::plan) fn is_about_to_lose_its_pod<'r, 'a>(
    observed: &Observed,
    roster: &'r Roster<'a>,
    wish: &Wish,
    now: Timestamp,
) -> Option<&'r Node<'a>> {
    let rolls = |node: &&Node<'_>| outdated::rolls(observed, node, wish) && outdated::takes_other_pod(node, wish);
    let lacks = |node: &&Node<'_>| rolls(node) && is_alone(observed, roster, node, now);
    roster.nodes.iter().find(|node| lacks(node) && proven::keeps_minor(node, wish))
}

/// Whether the others hold quorum while a member is started again: with those that kubelets find ready, though the manager does not
/// reach them. Of two, none can do without the other: there it is whether the other one is well, so that quorum is back with the
/// member.
pub(super) fn hold_quorum_meanwhile(observed: &Observed, roster: &Roster<'_>, node: &Node<'_>, now: Timestamp) -> bool {
    let voters = roster.voters().count();
    if node.is_learner() || voters <= 2 {
        return roster.can_lose(node);
    }
    let serves = |other: &&Node<'_>| other.serves_on() || is_unreached(observed, other, now);
    roster.others(node).filter(serves).count() > voters / 2
}

/// Those that do not answer the manager, and hold quorum with those that do, if there is no quorum but with them. A read that takes
/// quorum has just been answered, and a member whose etcd does not run has not agreed to it: so enough of the others have, and are still
/// enough once that one is off the list. etcd itself lets a member go that it is not connected to, and looks whether the others are
/// there otherwise (`mayRemoveMember` in `server/etcdserver/server.go`).
pub(super) fn hold_quorum_without<'r, 'a>(roster: &'r Roster<'a>, node: &Node<'_>) -> Option<Vec<&'r Node<'a>>> {
    let answering = roster.others(node).filter(|other| other.serves_on()).count();
    let silent: Vec<_> = roster.others(node).filter(|other| other.silence.is_some() && other.ready).collect();
    let enough = answering + silent.len() > roster.others(node).count() / 2;
    let stopped = node.pod.is_none() || node.is_down();
    (roster.listed && stopped && enough).then_some(silent)
}

/// What is told of such members, where there may be a quorum with them: then nothing is said to be lost. `count` says who answers.
pub(super) fn told(
    observed: &Observed,
    roster: &Roster<'_>,
    count: &str,
    needed: usize,
    now: Timestamp,
) -> Option<Step> {
    let unreached: Vec<&Node<'_>> = roster.nodes.iter().filter(|node| is_unreached(observed, node, now)).collect();
    if unreached.is_empty() || unreached.len() < needed {
        return None;
    }
    let names = unreached.iter().map(|node| node.name.as_str()).collect::<Vec<_>>().join(", ");
    let message = format!(
        "{count}, and the kubelet finds {names} ready: the manager has not reached that for {} minutes; let it through to port \
         {CLIENT_PORT} of the pods (network policies), or, if etcd hangs in one, delete that pod",
        SILENCE.as_mins()
    );
    Some(Step::stuck(EtcdClusterReason::MembersUnreachable, message))
}
