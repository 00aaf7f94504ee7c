//! Pure: healing: members come back as themselves on their volumes; who has lost its data is replaced, as long as the others
//! hold quorum.

use agent_protocol::FailureReason;
use api::ReconcileReason;
use api::etcd_cluster::EtcdClusterReason;
use jiff::{SignedDuration, Timestamp};

use super::again::again;
use super::outdated::same_pod;
use super::repair;
use super::replacing::{replace, replace_doomed};
use super::step::Step;
use super::troubles::{result, waiting_for, words};
use super::unreached::{self, SILENCE};
use crate::plan::objects::{ETCD, WAIT};
use crate::plan::roster::{Node, Roster, is_to_vote};
use crate::plan::wish::Wish;
use crate::plan::{Observed, hold, names, space};

/// How long a listed member may get no further (or not start at all) before it is given up, unless a snapshot is on its way
/// to it.
const CATCH_UP: SignedDuration = SignedDuration::from_mins(10);
/// How often a member may crash for no known reason, soon after each start and while all others are well, before it is
/// taken for corrupt.
const CRASHES: i32 = 3;
/// The exit codes of etcd's own making: a fatal error, and a panic. Others are what somebody did to it.
const OF_ITS_OWN: [i32; 2] = [1, 2];
/// Why a member without a pod does not come back, though its data is there.
pub(super) const DYING: &str =
    "its claim is being deleted, and no new pod can use it; a finalizer of this operator keeps the volume";

/// What etcd says when its data is not to be read, or is of a member that is no more (its panics and fatal logs, from
/// 3.3 to 3.7).
const CORRUPT: [&str; 15] = [
    "cannot use none as id",
    "crc mismatch",
    "failed to read WAL",
    "failed reading WAL",
    "failed to open WAL",
    "error listing snapshots",
    "no available snapshot",
    "failed to recover v3 backend from snapshot",
    "snapshot file doesn't exist",
    "file checksum mismatch",
    "invalid database",
    "database file isn't correct file",
    "freepages: failed to get all reachable pages",
    "is out of range [lastIndex",
    "has been permanently removed from the cluster",
];

/// What heals, if anything needs healing. With quorum.
pub(super) fn step(observed: &Observed, roster: &Roster<'_>, wish: &Wish, now: Timestamp) -> Option<Step> {
    let mut waiting = None;
    for node in roster.members() {
        let step = absent(observed, roster, wish, node, now).or_else(|| present(observed, roster, wish, node, now));
        match step {
            Some(step @ (Step::Wait(_) | Step::Stuck(..))) => waiting = waiting.or(Some(step)),
            Some(step) => return Some(step),
            None => {}
        }
    }
    waiting
}

/// A listed member without a pod.
fn absent(observed: &Observed, roster: &Roster<'_>, wish: &Wish, node: &Node<'_>, now: Timestamp) -> Option<Step> {
    let replace = |why: String| Some(replace_stopped(observed, roster, node, why, now));
    if let Some(pod) = node.pod {
        let gone = format!("waiting for pod {} to be deleted", pod.meta.key.name);
        return pod.meta.deleting.then(|| Step::wait(ReconcileReason::WaitingForDeletion, gone));
    }
    if !is_ours(observed, node) {
        return Some(Step::stuck(
            EtcdClusterReason::ForeignMember,
            format!("member {} was not added by this operator: remove it with etcdctl member remove", node.name),
        ));
    }
    if !node.has_started() {
        return replace("it was listed and never started".to_owned());
    }
    match node.claim {
        Some(_) if hold::is_dying(node) => replace(DYING.to_owned()),
        Some(claim) if claim.meta.deleting => Some(Step::wait(
            ReconcileReason::WaitingForDeletion,
            format!("waiting for PVC {} to be deleted", node.name),
        )),
        Some(claim) if !claim.lost => Some(again(observed, roster, wish, &node.name)),
        Some(_) => replace("its volume is lost".to_owned()),
        None if wish.durable => replace("its PVC is deleted".to_owned()),
        None => replace("its pod is deleted, and its data with it".to_owned()),
    }
}

/// Whether a listed member can be one that we have made.
pub(super) fn is_ours(observed: &Observed, node: &Node<'_>) -> bool {
    names::is_ours(&observed.cluster, &node.name) && !is_elsewhere(observed, node)
}

/// Whether a listed member is of another namespace's cluster.
pub(super) fn is_elsewhere(observed: &Observed, node: &Node<'_>) -> bool {
    let urls = node.member.map_or(&[][..], |member| &member.peer_urls);
    urls.iter().any(|url| names::is_elsewhere(&observed.cluster, url))
}

/// A listed member with a pod.
fn present(observed: &Observed, roster: &Roster<'_>, wish: &Wish, node: &Node<'_>, now: Timestamp) -> Option<Step> {
    if let Some(why) = lost(roster, node) {
        return Some(replace_stopped(observed, roster, node, why, now));
    }
    if node.is_healthy() {
        return None;
    }
    if node.is_doomed() && node.is_down() {
        return Some(replace_doomed(roster, node));
    }
    // Replacing a pod that does not work takes nothing away.
    let repaired = repair::failing(roster, wish, node, false);
    let repaired = repaired.or_else(|| repair::isolated(observed, roster, wish, node, false, now));
    if let Some(step) = repaired.or_else(|| repair::hung(observed, roster, wish, node, now)) {
        return Some(step);
    }
    let receives = node.member.is_some_and(|member| observed.receiving.contains(&member.id));
    if is_late(observed, node, now) && !receives {
        let why = format!("it has made no progress for {} minutes", CATCH_UP.as_mins());
        return Some(replace(roster, node, why));
    }
    // A learner is waited for where it is promoted.
    (!node.is_learner()).then(|| Step::ask_again(EtcdClusterReason::MemberUnhealthy, waiting_for(node)))
}

/// Whether a member that joins has been getting no further for long, as far as it tells of that itself; from when status first had
/// its id: before that it waited to be listed.
pub(in crate::plan) fn is_late(observed: &Observed, node: &Node<'_>, now: Timestamp) -> bool {
    let joining = observed.cluster.status.member(&node.name).filter(|status| status.id.is_some() && is_to_vote(status));
    // Not clock::lasted: a clock that is ahead must not make a member replaceable at once.
    let late = joining.and_then(|status| status.since).is_some_and(|since| now.duration_since(since) > CATCH_UP);
    late && node.member.is_some() && (node.is_learner() || !node.has_started())
}

/// Why a member's data is taken for lost, if it is.
pub(super) fn lost(roster: &Roster<'_>, node: &Node<'_>) -> Option<String> {
    node.running()?;
    if node.endpoint.is_some() {
        return None;
    }
    for name in [WAIT, ETCD] {
        let Some(container) = node.container(name) else { continue };
        let Some(ended) = container.ended.as_ref().filter(|ended| !container.running && ended.code != 0) else {
            continue;
        };
        if let Some(result) = result(&ended.message).filter(|result| result.reason == FailureReason::DataMissing) {
            return Some(result.message);
        }
        if ended.message.contains(space::FULL) {
            return None;
        }
        if container.restarts > 0 && CORRUPT.iter().any(|sign| ended.message.contains(sign)) {
            return Some(format!("its data cannot be used: {}", words(&ended.message).unwrap_or_default()));
        }
        let others_well = roster.others(node).all(Node::is_healthy);
        let alike = |other: &Node<'_>| other.is_healthy() && same_pod(other, node);
        let own = OF_ITS_OWN.contains(&ended.code);
        let crashes = container.restarts - node.restarts_before();
        let again_and_again = container.backs_off && crashes >= CRASHES;
        if name == ETCD && own && again_and_again && others_well && roster.voters().any(alike) {
            return Some(format!("it keeps crashing, {crashes} times so far, and others of its kind run well"));
        }
    }
    None
}

/// Takes a member off the list whose etcd does not run. Those that hold quorum without it need not be those that the manager reaches.
fn replace_stopped(observed: &Observed, roster: &Roster<'_>, node: &Node<'_>, why: String, now: Timestamp) -> Step {
    let step = replace(roster, node, why.clone());
    let silent = unreached::hold_quorum_without(roster, node).filter(|_| matches!(step, Step::Stuck(..)));
    let (Some(silent), Some(member)) = (silent, node.member) else { return step };
    if silent.iter().all(|other| unreached::is_unreached(observed, other, now)) {
        return Step::Remove { name: node.name.clone(), id: member.id, dead: Some(why) };
    }
    let names = silent.iter().map(|other| other.name.as_str()).collect::<Vec<_>>().join(", ");
    let message = format!(
        "member {} cannot come back ({why}); it is replaced once {names} answers, or has not for {} minutes and is found ready by the \
         kubelet all the same",
        node.name,
        SILENCE.as_mins()
    );
    Step::ask_again(EtcdClusterReason::MemberUnhealthy, message)
}
