//! What to do about an EtcdCluster. Pure.
//!
//! One step of [`membership`] a pass, and aside from it what stands beside the members (the Service of clients, the budget,
//! the sizes of claims). Whatever the step, the status says how the cluster fares now.

use api::ReconcileReason;
use api::condition_type::STALLED;
use api::etcd_cluster::{EtcdClusterReason, EtcdClusterStatus};
use jiff::Timestamp;
use runtime::plan::{Apply, Create, Effect, Next, Plan, Seen};
use runtime::views::{Kept, Pod, Running};

use crate::EtcdCluster;

pub mod anew;
mod claim_copies;
mod clock;
mod deletion;
mod effects;
mod hold;
mod leaving_3_6;
pub mod membership;
pub mod names;
pub mod objects;
mod observed;
pub mod options;
mod pause;
pub mod placement;
pub mod proven;
pub mod pull;
mod quorum;
pub mod recovered;
mod retired;
pub mod roster;
pub mod size;
pub mod space;
mod status;
pub mod unlabeled;
pub mod version;
mod volume;
pub mod wish;

pub use observed::{Alarm, Change, Endpoint, Etcd, EtcdAct, Member, Observed, Room, Stranger};

use membership::Step;
use objects::Start;
use roster::Roster;
use wish::Wish;

/// The reason and the message of a condition.
pub type Explanation = (EtcdClusterReason, String);

/// A plan for an EtcdCluster.
pub type EtcdPlan = Plan<EtcdClusterStatus, EtcdAct>;

/// Decides.
#[must_use]
pub fn plan(observed: &Observed, now: Timestamp) -> EtcdPlan {
    if observed.cluster.meta.deleting { deletion::plan(observed, now) } else { living(observed, now) }
}

/// Decides about a cluster that is to go on, for the time being at least.
fn living(observed: &Observed, now: Timestamp) -> EtcdPlan {
    let cluster = &*observed.cluster;
    let roster = Roster::of(observed, now);
    let Some(durable) = wish::durable(observed) else {
        let status = status::undecided(observed, now);
        return Plan { status: Some(status), next: Next::After(pause::LATER), ..Plan::nothing() };
    };
    let wish = Wish::of(observed, &roster, durable);
    let (step, mut effects, aside) = decide(observed, &roster, &wish, now);
    // Healing comes first; but no data is written before it is clear that a deletion will be noticed. What waits, or is refused
    // by the API server again and again, heals nothing.
    let waits = matches!(step, Step::Rest | Step::Wait(_) | Step::Stuck(..));
    let idle = cluster.status.cluster_id.is_none() || waits || cluster.status.contract.is_true(STALLED);
    if let Some(hold) = hold::cluster(cluster, wish.durable).filter(|_| idle && !cluster.spec.paused) {
        return Plan { effects: vec![hold], next: Next::After(pause::STEP), ..Plan::nothing() };
    }
    let rests = step == Step::Rest && effects.is_empty() && !cluster.spec.paused;
    let excess = retired::excess(observed, &roster, &wish).filter(|_| rests);
    effects.extend(excess.map(|claim| Effect::Delete(retired::delete(claim))));
    let status = status::of(observed, &roster, &wish, &step, now);
    let repeats = status::says_the_same(&cluster.status, &status);
    let mut next = Next::After(pause::of(observed, &roster, &step, &effects, repeats, now));
    if status.leader_moving_from.is_some() && cluster.status.leader_moving_from.is_none() {
        next = next.no_later_than(pause::STEP);
    }
    if status::is_quorum_unconfirmed(&status) {
        next = next.no_later_than(quorum::look_again(cluster, now));
    }
    let (events, mut done) = (status::events(cluster, &status), status::done(&step));
    done.extend(excess.map(|claim| retired::deleted(claim, wish.size)));
    Plan { effects, aside, events, done, status: Some(status), next }
}

/// The step, its effects, and what to do beside it.
fn decide(
    observed: &Observed,
    roster: &Roster<'_>,
    wish: &Wish,
    now: Timestamp,
) -> (Step, Vec<Effect<EtcdAct>>, Vec<Apply>) {
    let cluster = &*observed.cluster;
    let latched = cluster.status.storage.is_some();
    if cluster.spec.paused || !latched {
        // What was decided about storage is written down before the first member relies on it.
        return (Step::Rest, Vec::new(), Vec::new());
    }
    if let (Some((reason, message)), None) = (wish::unsupported(cluster), &cluster.status.cluster_id) {
        return (Step::stuck(reason, message), Vec::new(), Vec::new());
    }
    if let Some((reason, message)) = options::keep_from_beginning(observed, roster) {
        return (Step::stuck(reason, message), Vec::new(), Vec::new());
    }
    if let Some((reason, message)) = observed.peers.obstacle("headless Service") {
        // What is being deleted goes by itself; what does not decode takes a person.
        let told = if reason == ReconcileReason::Unreadable { Step::stuck } else { Step::wait };
        return (told(reason, message), Vec::new(), Vec::new());
    }
    let step = membership::next(observed, roster, wish, now);
    let peers = told_apart(&observed.peers, cluster, roster, |apart| objects::peers(cluster, apart)).map(Effect::Apply);
    let effects = peers.into_iter().chain(effects::of(observed, roster, wish, &step)).collect();
    let beside = beside(observed, roster, wish, &step);
    (step, effects, beside)
}

/// What stands beside the members. Trouble with it keeps no member from being healed.
fn beside(observed: &Observed, roster: &Roster<'_>, wish: &Wish, step: &Step) -> Vec<Apply> {
    let cluster = &*observed.cluster;
    let mut beside = unlabeled::repairs(cluster, roster);
    if cluster.status.cluster_id.is_some() {
        // The first member is not to begin the cluster once more, whatever it loses.
        let first = roster.nodes.iter().filter(|node| node.begins() && !node.is_leaving());
        beside.extend(first.filter_map(|node| node.pod).map(objects::begun));
    }
    // Nobody can have written anything before the cluster's id is latched, nor before a finalizer keeps it.
    let kept = || observed.clients.ours().is_some() || hold::unheld(observed, roster, wish).is_none();
    if cluster.status.cluster_id.is_some() && kept() {
        beside.extend(told_apart(&observed.clients, cluster, roster, |apart| objects::clients(cluster, apart)));
    }
    let voters = roster.voters().count().max(wish.size);
    let budget = |apart| objects::budget(cluster, voters, apart);
    beside.extend(told_apart(&observed.budget, cluster, roster, budget));
    let claims = roster.nodes.iter().filter(|node| wish.durable && node.running().is_some());
    for node in claims {
        let live = node.claim.map(|claim| (&claim.meta, claim.fingerprint));
        let leaving = node.claim.is_some_and(|claim| claim.meta.deleting);
        let votes = node.member.is_some() && !node.is_learner() && node.has_started();
        let joining = node.claim.is_some_and(objects::has_yet_to_vote) && !votes;
        // What tells of the cluster on claims is never ahead of what status does: that alone lets clients in.
        let facts = node.facts().filter(|_| cluster.status.cluster_id.is_some());
        let known = objects::Known { live: node.claim, facts, joining, peer: None };
        // One that is being deleted keeps its labels as well, by which it is released once its member has been replaced.
        beside.extend(objects::claim(cluster, &node.name, known).unless(live));
        beside.extend(node.claim.and_then(|claim| objects::grown(cluster, claim)).filter(|_| !leaving));
    }
    if wish.durable {
        beside.extend(anew::stays(roster, step));
        beside.extend(proven::notes(cluster, roster, wish));
        beside.extend(hold::claims(observed, roster));
    }
    beside
}

/// A pod of which the API server should say whether it would take it: before a member that is well loses its own for one like that,
/// and then that member's name; or before one member more gets a claim.
#[must_use]
pub fn trial(observed: &Observed, now: Timestamp) -> Option<(Create, Option<String>)> {
    let durable = observed.cluster.status.storage.as_ref()?.durable;
    let roster = Roster::of(observed, now);
    let wish = Wish::of(observed, &roster, durable);
    let name = format!("{}-probe", observed.cluster.meta.key.name);
    let pod = |wish: &Wish, start| objects::pod(observed, &observed.cluster, wish, &name, start);
    let next = membership::is_about_to_lose_its_pod(observed, &roster, &wish);
    let next = next.or_else(|| membership::unreached::is_about_to_lose_its_pod(observed, &roster, &wish, now));
    if let Some(next) = next {
        return Some((pod(&wish, Start::Again), Some(next.name.clone())));
    }
    let grows = membership::is_about_to_grow(observed, &roster, &wish);
    grows.then(|| (pod(&wish.joining(&roster), Start::Join), None))
}

/// What is about to be found out by a pod of its own before a member gives up what it has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NextTrial {
    /// Whether an image can be pulled.
    Image,
    /// Whether a pod as the spec asks starts, beside the pod of this member.
    Placement(Box<str>),
}

/// What is about to be found out, and the pod that does so, of which the API server should say whether it would take it. There is none
/// as long as the present pod is not known that it is to stand beside.
#[must_use]
pub fn next_trial(observed: &Observed, now: Timestamp) -> Option<(NextTrial, Option<Create>)> {
    let durable = observed.cluster.status.storage.as_ref()?.durable;
    let roster = Roster::of(observed, now);
    let wish = Wish::of(observed, &roster, durable);
    match membership::next(observed, &roster, &wish, now) {
        Step::Pull { beside } => Some((NextTrial::Image, Some(pull::pod(observed, &roster, &wish, &beside)))),
        Step::Try { member, whole } => {
            let pod = placement::pod(observed, &wish, &member, whole);
            Some((NextTrial::Placement(member.into()), pod))
        }
        _ => None,
    }
}

/// Whether the etcd of a pod may be asked. The address of a pod that has ended for good may be somebody else's by now.
#[must_use]
pub fn may_be_asked(pod: &Pod) -> bool {
    !pod.meta.deleting && pod.running.as_ref().is_some_and(|running| !running.over)
}

/// Whether it matters of which pods cluster DNS tells: one waits to be listed, its init step included, and no learner is in its
/// way.
#[must_use]
pub fn awaits_dns(observed: &Observed) -> bool {
    let Ok(members) = &observed.etcd.members else { return false };
    let learns = members.iter().any(|member| member.learner);
    let listed = |pod: &Pod| members.iter().any(|member| roster::name(member) == *pod.meta.key.name);
    let waits = |running: &Running| running.container(objects::WAIT).is_some_and(|wait| wait.running);
    !members.is_empty() && !learns && observed.staying().any(|(pod, running)| !listed(pod) && waits(running))
}

/// The address of the leader, if a member that joins has been getting no further for long: perhaps a snapshot is on its way
/// to it, which nothing else tells.
#[must_use]
pub fn late_behind(observed: &Observed, now: Timestamp) -> Option<Box<str>> {
    let roster = Roster::of(observed, now);
    let late = roster.members().any(|node| membership::is_late(observed, node, now));
    late.then(|| roster.leader()?.running()?.ip.clone()).flatten()
}

/// A child that selects pods: by the label that foreign pods do not have, once all members' pods have it. From then on a pod
/// that loses its labels gets them back, and is not selected before, rather than foreign ones with it.
fn told_apart<V: Kept>(
    seen: &Seen<V>,
    cluster: &EtcdCluster,
    roster: &Roster<'_>,
    wanted: impl Fn(bool) -> Apply,
) -> Option<Apply> {
    let narrow = wanted(true);
    let is_narrow = seen.ours().is_some_and(|child| narrow.has_made(child.fingerprint, child.additions()));
    let apart = is_narrow || unlabeled::can_be_told_apart(cluster, roster);
    seen.kept(if apart { narrow } else { wanted(false) })
}

#[cfg(test)]
mod tests;
