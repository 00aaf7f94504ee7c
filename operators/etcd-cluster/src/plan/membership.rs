//! Which one step to take next. Pure.
//!
//! In this order: carry through removals that were begun; of more members than are wanted, remove one that does not work;
//! heal; let a learner vote; let etcd take writes again that has room again; grow or shrink; roll; have another member lead,
//! if a person asks for it. One change of membership at a time, and none by which the cluster would lose quorum, or come
//! closer to losing it.

use api::ReconcileReason;
use api::etcd_cluster::EtcdClusterReason;

use super::Observed;
use super::hold;
use super::objects::{RETIRING, Start};
use super::proven::{self, Made};
use super::roster::{Node, Roster};
use super::space;
use super::wish::Wish;
use super::{placement, pull};

pub(super) mod adopting;
mod beginning;
mod corrupt;
mod failed;
mod healing;
mod leading;
mod repair;
mod resizing;
pub(super) mod rolling;
mod step;
pub(super) mod unreached;
mod without_quorum;

pub(super) use healing::{is_full, is_late, was_full};
pub(super) use leading::{Led, led, why_not_led};
pub(super) use rolling::{filling_from, is_outdated};
pub use step::{Step, Wait};

/// The member that is the next to lose its pod for another one, while all is well: a follower, if there is one.
pub(super) fn is_about_to_lose_its_pod<'r, 'a>(
    observed: &Observed,
    roster: &'r Roster<'a>,
    wish: &Wish,
) -> Option<&'r Node<'a>> {
    let well = roster.listed && roster.voters().all(|node| node.is_healthy() && node.ready);
    let rolls = |node: &Node<'_>| rolling::rolls(observed, node, wish) && rolling::needs_other_pod(node, wish);
    let goes = |node: &&Node<'_>| rolls(node) || space::can_have_more(observed, roster, node);
    // Without volumes a new member is the first to get such a pod: once it has one, there is nothing left to ask.
    let joins = |node: &Node<'_>| node.member.is_none() || node.is_learner();
    let begun = !wish.durable && roster.nodes.iter().any(joins);
    let leader = roster.leader().map(|leader| leader.name.as_str());
    let going = || roster.voters().filter(|node| well && !begun && goes(node));
    going().find(|node| Some(node.name.as_str()) != leader).or_else(|| going().next())
}

/// Whether the next thing may be the pod of one member more.
pub(super) fn is_about_to_grow(observed: &Observed, roster: &Roster<'_>, wish: &Wish) -> bool {
    let begun = observed.cluster.status.cluster_id.is_some() && roster.listed;
    begun && resizing::is_next_to_start(roster, &with_a_spare(observed, roster, wish))
}

/// A member without a pod begins again on its volume.
fn again(observed: &Observed, roster: &Roster<'_>, wish: &Wish, name: &str) -> Step {
    if let Some(step) = placement::release(observed, name) {
        return step;
    }
    if observed.taken.contains(name) {
        let message =
            format!("Pod {name} exists and does not belong to this EtcdCluster: delete it; it is left untouched");
        return Step::wait(ReconcileReason::NameTaken, message);
    }
    match proven::made(observed, roster, wish, name) {
        Made::Unknown => Step::wait(
            EtcdClusterReason::SpecUnknown,
            format!("member {name} comes back as it ran last, which its claim tells, and its claim cannot be read now"),
        ),
        _ => Step::Start { name: name.into(), start: Start::Again },
    }
}

/// The next step.
#[must_use]
pub fn next(observed: &Observed, roster: &Roster<'_>, wish: &Wish, now: jiff::Timestamp) -> Step {
    if let Some(step) = adopting::step(observed, roster) {
        return step;
    }
    if let Some(step) = failed::step(observed, roster, now) {
        return step;
    }
    if observed.cluster.status.cluster_id.is_none() {
        return beginning::step(observed, roster, wish, now);
    }
    if !roster.listed {
        return without_quorum::step(observed, roster, wish, now);
    }
    if let Some(copy) = roster.members().find(|node| node.pod.is_some() && healing::is_elsewhere(observed, node)) {
        return copied(copy);
    }
    let wish = &with_a_spare(observed, roster, wish);
    let verified = |step| verified(observed, roster, wish, step);
    carry_through(observed, roster, wish)
        .or_else(|| resizing::dead(observed, roster, wish).map(verified))
        .or_else(|| healing::step(observed, roster, wish, now).map(verified))
        .or_else(|| resizing::promote(observed, roster, wish, now))
        .or_else(|| space::disarm(observed, roster))
        .or_else(|| resizing::step(observed, roster, wish))
        .or_else(|| pull::clear(observed, roster, wish))
        .or_else(|| placement::clear(observed, roster, wish))
        .or_else(|| rolling::step(observed, roster, wish, now))
        .or_else(|| leading::step(observed, roster))
        .or_else(|| held(observed, roster, wish))
        .unwrap_or(Step::Rest)
}

/// Nothing is done to a cluster that is another namespace's, of which only copies run here.
fn copied(node: &Node<'_>) -> Step {
    let url = node.member.and_then(|member| member.peer_urls.first()).map_or("", String::as_str);
    let message = format!(
        "{} runs on a copy of a volume of another cluster's, whose member it is at {url}, and counts in its quorum: delete \
         this EtcdCluster at once, and restore a snapshot of that cluster (etcdctl snapshot save) into a new one",
        node.name
    );
    Step::stuck(EtcdClusterReason::ForeignMember, message)
}

/// What clients write now would go with a claim that nothing keeps yet.
fn held(observed: &Observed, roster: &Roster<'_>, wish: &Wish) -> Option<Step> {
    let node = hold::unheld(observed, roster, wish)?;
    Some(Step::wait(
        EtcdClusterReason::MemberStarting,
        format!("waiting until a finalizer keeps the volume of member {}", node.name),
    ))
}

/// A claim that somebody deleted goes with its pod, and the data with it; and it cannot be kept. So one member more is wanted, on
/// a volume that stays. When that votes, the one whose claim goes is the first to be removed. The same for members that keep
/// their data in their pods and need others: should the new member never run, none of those that do has been given up.
fn with_a_spare(observed: &Observed, roster: &Roster<'_>, wish: &Wish) -> Wish {
    let few = roster.voters().count() <= wish.size;
    let spare = few
        && is_spare_needed(observed, roster, wish)
        && (wish.durable || observed.refused.is_none() && observed.options_refused.is_none());
    Wish { size: wish.size + usize::from(spare), ..wish.clone() }
}

/// Whether a healthy voter has to make way for a new member. Fewer than three without volumes stay as they are; so do any while the data
/// of one of them differ, with which the leader might fill the new one.
fn is_spare_needed(observed: &Observed, roster: &Roster<'_>, wish: &Wish) -> bool {
    let enough = wish.durable || roster.voters().count() >= 3 && !corrupt::is_on(observed);
    enough && roster.voters().any(|node| node.is_healthy() && makes_way(node, wish))
}

/// Whether a member cannot be kept: its volume goes with its pod, or its data with a pod that has to be another.
fn makes_way(node: &Node<'_>, wish: &Wish) -> bool {
    if wish.durable { node.is_doomed() } else { rolling::needs_other_pod(node, wish) }
}

/// No member is given up because its claim is gone before the API server has said that there is none. Others come back
/// meanwhile.
fn verified(observed: &Observed, roster: &Roster<'_>, wish: &Wish, step: Step) -> Step {
    let Step::Remove { name, .. } = &step else { return step };
    let without = |node: &Node<'_>| node.name == *name && node.pod.is_none() && node.claim.is_none();
    if !wish.durable || observed.found.gone.contains(name.as_str()) || !roster.nodes.iter().any(without) {
        return step;
    }
    let usable = |node: &Node<'_>| node.claim.is_some_and(|claim| !claim.lost && !claim.meta.deleting);
    let comes_back = |node: &&Node<'_>| node.pod.is_none() && node.has_started() && usable(node);
    if let Some(other) = roster.members().find(comes_back) {
        return again(observed, roster, wish, &other.name);
    }
    if observed.found.taken.contains(name.as_str()) {
        let message = format!(
            "PersistentVolumeClaim {name} exists and does not belong to this EtcdCluster: delete or rename it, and the member \
             of that name is replaced; it is left untouched"
        );
        return Step::wait(ReconcileReason::NameTaken, message);
    }
    let message = format!("waiting to learn whether member {name} has a claim: it cannot be read now");
    Step::ask_again(EtcdClusterReason::ClaimUnknown, message)
}

/// What a removal has left to do. One that etcd has yet to make waits while it might take a good copy.
fn carry_through(observed: &Observed, roster: &Roster<'_>, wish: &Wish) -> Option<Step> {
    let grows = roster.members().count() < wish.size;
    for node in &roster.nodes {
        let retiring = node.annotation(RETIRING).is_some();
        match (node.member, node.pod) {
            (Some(member), Some(_)) if retiring && roster.can_lose(node) && corrupt::may_go(observed, roster, node) => {
                return Some(Step::Remove { name: node.name.clone(), id: member.id, dead: None });
            }
            (None, Some(_)) if node.is_leaving() => {}
            // Only who has yet to join is no member and has a pod.
            (None, Some(_)) if retiring || node.has_run() || !node.joins() => {
                return Some(Step::DropPod { name: node.name.clone() });
            }
            (None, None) if grows && node.has_unused_claim() => {}
            (None, None) if node.claim.is_some_and(|claim| !claim.meta.deleting) || hold::is_dying(node) => {
                return Some(Step::DropClaim { name: node.name.clone() });
            }
            _ => {}
        }
    }
    None
}

/// Who leads next: of the others that may, the one that has most of the log. Nobody, if the leader cannot hand over.
fn heir<'r, 'a>(roster: &'r Roster<'a>, leader: &Node<'_>, may: impl Fn(&Node<'_>) -> bool) -> Option<&'r Node<'a>> {
    if !leader.hands_over() {
        return None;
    }
    let others = roster.voters().filter(|node| node.name != leader.name && may(node));
    others.max_by_key(|node| node.endpoint.map(|endpoint| endpoint.raft_index))
}

/// What keeps a member's pod from working, in words.
pub(super) fn trouble(node: &Node<'_>) -> Option<String> {
    if let Some(why) = failed::why(node) {
        return Some(why);
    }
    let trouble = node.pod.filter(|pod| !pod.meta.deleting)?.trouble.as_ref()?;
    let last_words = [super::objects::WAIT, super::objects::ETCD].iter().find_map(|container| {
        let ended = node.container(container).filter(|container| !container.running)?.ended.as_ref()?;
        (ended.code != 0).then(|| healing::words(&ended.message)).flatten()
    });
    Some(match last_words {
        Some(words) => format!("{}: {words}", trouble.message),
        None => trouble.message.clone(),
    })
}

/// What to look at if a member's volume is not there.
fn unbound(node: &Node<'_>) -> String {
    match node.claim.filter(|claim| !claim.bound) {
        Some(claim) => {
            let class = claim.class.as_deref().map_or_else(String::new, |class| format!(" of StorageClass {class}"));
            format!("; its claim{class} is not bound: kubectl describe pvc {} tells more", node.name)
        }
        None => String::new(),
    }
}

/// A sentence on a member that does not work yet.
pub(super) fn waiting_for(node: &Node<'_>) -> String {
    match (trouble(node), &node.silence) {
        (Some(trouble), _) => format!("member {} does not start: {trouble}{}", node.name, unbound(node)),
        (None, Some(silence)) => format!("waiting for member {}, which {silence}", node.name),
        (None, None) => format!("waiting for member {} to start", node.name),
    }
}
