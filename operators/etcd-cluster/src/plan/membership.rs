//! Pure: which one step to take next.
//!
//! In this order: carry through removals that were begun; of more members than are wanted, remove one that does not work;
//! heal; let a learner vote; let etcd take writes again that has room again; grow or shrink; roll; have another member lead,
//! if a person asks for it. One change of membership at a time, and none by which the cluster would lose quorum, or come
//! closer to losing it.

use api::ReconcileReason;
use api::etcd_cluster::EtcdClusterReason;

use super::objects::RETIRING;
use super::roster::{Node, Roster};
use super::wish::Wish;
use super::{Observed, hold, placement, pull, space};

mod adopting;
mod again;
mod beginning;
mod corrupt;
mod failed;
mod healing;
mod leading;
pub(super) mod outdated;
mod repair;
mod replacing;
mod resizing;
mod rolling;
mod spare;
mod step;
mod troubles;
pub(super) mod unreached;
mod without_quorum;

pub(super) use healing::is_late;
pub(super) use leading::{Led, led, why_not_led};
pub(super) use rolling::filling_from;
pub use step::{Step, Wait};
pub(super) use troubles::waiting_for;

use again::again;
use spare::with_a_spare;

/// The member that is the next to lose its pod for another one, while all is well: a follower, if there is one.
pub(super) fn is_about_to_lose_its_pod<'r, 'a>(
    observed: &Observed,
    roster: &'r Roster<'a>,
    wish: &Wish,
) -> Option<&'r Node<'a>> {
    let well = roster.listed && roster.voters().all(|node| node.is_healthy() && node.ready);
    let rolls = |node: &Node<'_>| outdated::rolls(observed, node, wish) && outdated::needs_other_pod(node, wish);
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

/// No member is given up because its PVC is deleted before the API server has said that there is none. Others come back
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
        return Step::stuck(ReconcileReason::NameTaken, message);
    }
    let message = format!("cannot tell whether member {name} has a PVC: it cannot be read now");
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
