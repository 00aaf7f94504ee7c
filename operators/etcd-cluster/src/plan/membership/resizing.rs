//! Pure: growing and shrinking, one member at a time.

use std::sync::Arc;

use api::etcd_cluster::EtcdClusterReason;
use jiff::{SignedDuration, Timestamp};

use super::outdated::is_outdated;
use super::spare::{is_spare_needed, makes_way};
use super::step::Step;
use super::troubles::{trouble, waiting_for};
use super::{corrupt, healing};
use crate::plan::objects::{Start, WAIT};
use crate::plan::roster::{Node, Roster, heir};
use crate::plan::wish::Wish;
use crate::plan::{Observed, clock};

/// After which time a learner is helped along.
const PATIENCE: SignedDuration = SignedDuration::from_secs(3);

/// Lets a learner vote once it is in sync, which etcd itself judges. Meanwhile the pod of the next one may start.
///
/// A learner that has received a snapshot counts as one that has applied nothing until the next entry comes: only then etcd
/// sets its applied index (`apply` in `server/etcdserver/server.go`). Before that, where more than 5,000 entries are committed,
/// it proposes nothing, and so neither publishes its name nor votes (`processInternalRaftRequestOnce` in `v3_server.go`; seen
/// with 3.6.16 and 3.7.3). Where nobody writes, no entry ever comes.
pub(super) fn promote(observed: &Observed, roster: &Roster<'_>, wish: &Wish, now: Timestamp) -> Option<Step> {
    let learner = roster.members().find(|node| node.is_learner())?;
    if let Some(member) = learner.member.filter(|_| roster.members().count() > wish.size) {
        // Not wanted any more before it ever voted.
        return Some(Step::Remove { name: learner.name.clone(), id: member.id, dead: None });
    }
    let Some(member) = learner.member.filter(|_| learner.endpoint.is_some()) else {
        // The entry first: the pod of the next one may be refused.
        let step = nudge(observed, learner, now).or_else(|| ahead(observed, roster, wish));
        return Some(step.unwrap_or_else(|| Step::ask_again(EtcdClusterReason::MemberJoining, waiting_for(learner))));
    };
    if !learner.has_started() || learner.endpoint.is_some_and(|endpoint| endpoint.applied_index == 0) {
        return Some(nudge(observed, learner, now).unwrap_or_else(|| promotion(learner, member.id)));
    }
    Some(promotion(learner, member.id))
}

fn promotion(learner: &Node<'_>, id: u64) -> Step {
    Step::Promote { name: learner.name.clone(), id }
}

/// An entry for a learner that runs and has waited for a while.
fn nudge(observed: &Observed, learner: &Node<'_>, now: Timestamp) -> Option<Step> {
    let status = observed.cluster.status.member(&learner.name)?;
    let waits = clock::lasted(status.since?, now) >= PATIENCE;
    (waits && learner.runs_etcd()).then(|| Step::Nudge { name: learner.name.clone() })
}

/// Fewer are asked for, and one of those that are there does not work: that is the one to go, and nobody waits for it.
pub(super) fn dead(observed: &Observed, roster: &Roster<'_>, wish: &Wish) -> Option<Step> {
    // Beside somebody else's member nothing is resized: ours may be away for no longer than a restart takes.
    let foreign = roster.members().any(|node| !healing::is_ours(observed, node));
    if foreign || roster.members().count() <= wish.size {
        return None;
    }
    let may = |node: &Node<'_>| roster.can_lose(node) && corrupt::may_go(observed, roster, node);
    let gone = |node: &&Node<'_>| node.endpoint.is_none() && may(node);
    // The one that is too many takes the place of another whose volume goes; before 3.4 it votes before it has started.
    let spare = roster.members().count() == wish.size + 1;
    if spare && is_spare_needed(observed, roster, wish) {
        return None;
    }
    let dead = roster.voters().find(gone)?;
    Some(Step::Remove { name: dead.name.clone(), id: dead.member?.id, dead: None })
}

/// Grows or shrinks, while all members are well.
pub(super) fn step(observed: &Observed, roster: &Roster<'_>, wish: &Wish) -> Option<Step> {
    let members = roster.members().count();
    match members.cmp(&wish.size) {
        std::cmp::Ordering::Equal => joining(roster).map(|node| Step::DropPod { name: node.name.clone() }),
        std::cmp::Ordering::Less => {
            Some(corrupt::hand_over(observed, roster).unwrap_or_else(|| grow(observed, roster, wish)))
        }
        std::cmp::Ordering::Greater => Some(shrink(observed, roster, wish)),
    }
}

/// The pod that waits to be listed.
fn joining<'r, 'a>(roster: &'r Roster<'a>) -> Option<&'r Node<'a>> {
    roster.nodes.iter().find(|node| node.member.is_none() && node.running().is_some())
}

fn grow(observed: &Observed, roster: &Roster<'_>, wish: &Wish) -> Step {
    let wish = &wish.joining(roster);
    let Some(node) = joining(roster) else {
        // Before it has a claim: one that is made for each pod that is refused would be a volume each.
        let refused =
            observed.refused.as_deref().map(|why| Step::stuck(EtcdClusterReason::PodRefused, cannot_join(why)));
        return refused.unwrap_or_else(|| Step::Start { name: newcomer(observed, roster), start: Start::Join });
    };
    if is_outdated(node, wish) || node.is_doomed() {
        return Step::DropPod { name: node.name.clone() };
    }
    if is_ready_to_join(observed, node) {
        return Step::Add { name: node.name.clone(), learner: wish.version.has_learners() && learners(roster) };
    }
    let step = if trouble(node).is_some() { Step::wait } else { Step::ask_again };
    step(EtcdClusterReason::MemberJoining, waiting_for(node))
}

fn cannot_join(why: &str) -> String {
    format!("the API server rejects the pod of the next member, so none is added: {why}")
}

/// The pod of the member after the one that is joining, so that its start costs no time; listed it is not before.
fn ahead(observed: &Observed, roster: &Roster<'_>, wish: &Wish) -> Option<Step> {
    let well = roster.voters().all(Node::is_healthy);
    (is_next_to_start(roster, wish) && well && observed.refused.is_none())
        .then(|| Step::Start { name: newcomer(observed, roster), start: Start::Join })
}

/// Whether another member is wished for, and has no pod yet.
pub(super) fn is_next_to_start(roster: &Roster<'_>, wish: &Wish) -> bool {
    roster.members().count() < wish.size && joining(roster).is_none()
}

/// The name of who joins next: that of a claim which was made for it, if the manager died before it made the pod.
fn newcomer(observed: &Observed, roster: &Roster<'_>) -> Arc<str> {
    let made = roster.nodes.iter().find(|node| node.member.is_none() && node.pod.is_none() && node.has_unused_claim());
    made.map_or_else(|| observed.fresh_name.clone(), |node| node.name.as_str().into())
}

/// Whether all who vote know of learners: the version that all understand decides.
fn learners(roster: &Roster<'_>) -> bool {
    roster.voters().filter_map(Node::version).all(|version| version.has_learners())
}

/// Whether cluster DNS tells of the pod, and its init step runs. etcd's members ask for the name as soon as it is listed,
/// and resolvers remember for seconds that there was none.
fn is_ready_to_join(observed: &Observed, node: &Node<'_>) -> bool {
    let address = node.running().and_then(|running| running.ip.as_deref());
    let published = address.is_some_and(|ip| observed.published.iter().any(|published| &**published == ip));
    published && node.container(WAIT).is_some_and(|container| container.running)
}

/// Removes a follower: first one whose data differ, then one whose pod would have to be replaced anyway, else the last by name.
fn shrink(observed: &Observed, roster: &Roster<'_>, wish: &Wish) -> Step {
    if let Some(node) = joining(roster) {
        return Step::DropPod { name: node.name.clone() };
    }
    let Some(leader) = roster.leader() else {
        return Step::ask_again(EtcdClusterReason::NoLeader, "waiting for the members to elect a leader");
    };
    let may = |node: &Node<'_>| corrupt::may_go(observed, roster, node);
    let followers = || roster.members().filter(|node| node.name != leader.name && may(node));
    let differs = |node: &Node<'_>| corrupt::differs(observed, node);
    let goes = |node: &Node<'_>| may(node) && (differs(node) || makes_way(node, wish));
    if goes(leader)
        && let Some(heir) = heir(roster, leader, |node| !goes(node))
    {
        return Step::MoveLeader { to: heir.name.clone(), asked: false };
    }
    let victim = followers()
        .find(|node| differs(node))
        .or_else(|| followers().find(|node| goes(node)))
        // Where it cannot hand over, the others elect one of them.
        .or_else(|| Some(leader).filter(|leader| goes(leader) && !leader.hands_over()))
        .or_else(|| followers().find(|node| is_outdated(node, wish)))
        .or_else(|| followers().last());
    if victim.is_none() && corrupt::is_on(observed) {
        return corrupt::wait();
    }
    match victim.and_then(|victim| Some((victim, victim.member?))) {
        Some((victim, member)) if roster.can_lose(victim) => {
            Step::Remove { name: victim.name.clone(), id: member.id, dead: None }
        }
        _ => Step::ask_again(
            EtcdClusterReason::MemberUnhealthy,
            "waiting until enough members are healthy to remove one",
        ),
    }
}
