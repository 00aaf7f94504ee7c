//! Pure: what to do about a cluster that is to go on.

use api::ReconcileReason;
use api::condition_type::STALLED;
use jiff::Timestamp;
use runtime::plan::{Apply, ChildState, Effect, Plan, Requeue};
use runtime::projections::Kept;

use super::membership::Step;
use super::roster::Roster;
use super::wish::Wish;
use super::{
    EtcdAct, EtcdPlan, Observed, anew, effects, hold, membership, objects, options, pause, proven, quorum, retired,
    status, unlabeled, wish,
};
use crate::EtcdCluster;

/// Decides about a cluster that is to go on, for the time being at least.
pub(super) fn plan(observed: &Observed, now: Timestamp) -> EtcdPlan {
    let cluster = &*observed.cluster;
    let roster = Roster::of(observed, now);
    let Some(durable) = wish::durable(observed) else {
        let status = status::undecided(observed, now);
        return Plan { status: Some(status), next: Requeue::After(pause::LATER), ..Plan::nothing() };
    };
    let wish = Wish::of(observed, &roster, durable);
    let (step, mut effects, aside) = decide(observed, &roster, &wish, now);
    // Healing comes first; but no data is written before it is clear that a deletion will be noticed. What waits, or is refused
    // by the API server again and again, heals nothing.
    let waits = matches!(step, Step::Rest | Step::Wait(_) | Step::Stuck(..));
    let idle = cluster.status.cluster_id.is_none() || waits || cluster.status.contract.is_true(STALLED);
    if let Some(hold) = hold::cluster(cluster, wish.durable).filter(|_| idle && !cluster.spec.paused) {
        return Plan { effects: vec![hold], next: Requeue::After(pause::STEP), ..Plan::nothing() };
    }
    let rests = step == Step::Rest && effects.is_empty() && !cluster.spec.paused;
    let excess = retired::excess(observed, &roster, &wish).filter(|_| rests);
    effects.extend(excess.map(|claim| Effect::Delete(retired::delete(claim))));
    let status = status::of(observed, &roster, &wish, &step, now);
    let repeats = status::says_the_same(&cluster.status, &status);
    let mut next = Requeue::After(pause::of(observed, &roster, &step, &effects, repeats, now));
    if status.leader_moving_from.is_some() && cluster.status.leader_moving_from.is_none() {
        next = next.no_later_than(pause::STEP);
    }
    if status::is_quorum_unconfirmed(&status) {
        next = next.no_later_than(quorum::look_again(cluster, now));
    }
    let (events, mut done) = (status::events(cluster, &status), status::done(&step));
    done.extend(excess.map(|claim| retired::deleted(claim, wish.size)));
    Plan { effects, independent: aside, events, done, status: Some(status), next }
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
    let kept = || observed.clients.owned().is_some() || hold::unheld(observed, roster, wish).is_none();
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

/// A child that selects pods: by the label that foreign pods do not have, once all members' pods have it. From then on a pod
/// that loses its labels gets them back, and is not selected before, rather than foreign ones with it.
fn told_apart<V: Kept>(
    seen: &ChildState<V>,
    cluster: &EtcdCluster,
    roster: &Roster<'_>,
    wanted: impl Fn(bool) -> Apply,
) -> Option<Apply> {
    // It takes a person. An apply may correct nothing, and would be repeated in each reconcile.
    if matches!(seen, ChildState::Undecodable(_)) {
        return None;
    }
    let narrow = wanted(true);
    let is_narrow = seen.owned().is_some_and(|child| narrow.has_made(child.fingerprint, child.additions()));
    let apart = is_narrow || unlabeled::can_be_told_apart(cluster, roster);
    seen.kept(if apart { narrow } else { wanted(false) })
}
