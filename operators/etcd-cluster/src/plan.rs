//! What to do about an EtcdCluster. Pure.
//!
//! First what stands beside the members (services, budget, claims), then one step of [`membership`]. Whatever the step,
//! the status says how the cluster fares now.

use std::time::Duration;

use api::etcd_cluster::EtcdClusterStatus;
use jiff::Timestamp;
use runtime::cache::View;
use runtime::plan::{Effect, Next, Plan, Seen};
use runtime::views::{Child, Claim};

mod effects;
pub mod membership;
pub mod names;
pub mod objects;
mod observed;
pub mod roster;
mod size;
mod status;
pub mod version;
pub mod wish;

pub use observed::{Alarm, Change, Endpoint, Etcd, EtcdAct, Member, Observed};

pub use status::QUORUM_HEALTHY;

use membership::{Step, Wait};
use roster::Roster;
use wish::Wish;

/// After a step: its own events are no news, so look again by ourselves.
const STEP: Duration = Duration::from_millis(50);
/// While something of etcd's is waited for, which no watch tells.
const SOON: Duration = Duration::from_millis(120);
/// While something is waited for that a watch tells; and for a person.
const LATER: Duration = Duration::from_secs(5);
/// How often members are asked how they fare while all is well.
const HEALTH: Duration = Duration::from_secs(10);

/// A plan for an EtcdCluster.
pub type EtcdPlan = Plan<EtcdClusterStatus, EtcdAct>;

/// Decides.
#[must_use]
pub fn plan(observed: &Observed, now: Timestamp) -> EtcdPlan {
    let cluster = &*observed.cluster;
    if cluster.meta.deleting {
        return Plan::nothing();
    }
    let roster = Roster::of(observed);
    let Some(durable) = wish::durable(observed) else {
        let status = status::undecided(observed, now);
        return Plan { status: Some(status), next: Next::After(LATER), ..Plan::nothing() };
    };
    let wish = Wish::of(observed, &roster, durable);
    let (step, effects) = decide(observed, &roster, &wish, now);
    let next = Next::After(look_again(observed, &step, &effects));
    let status = status::of(observed, &roster, &wish, &step, now);
    let events = status::events(cluster, &status, &step);
    Plan { effects, events, status: Some(status), next }
}

/// The step, and everything to do in this pass.
fn decide(observed: &Observed, roster: &Roster<'_>, wish: &Wish, now: Timestamp) -> (Step, Vec<Effect<EtcdAct>>) {
    let cluster = &*observed.cluster;
    let latched = cluster.status.storage.is_some();
    if cluster.spec.paused || !latched {
        // What was decided about storage is written down before the first member relies on it.
        return (Step::Rest, Vec::new());
    }
    if let (Some((reason, message)), None) = (wish::unsupported(cluster), &cluster.status.cluster_id) {
        return (Step::Stuck(reason, message), Vec::new());
    }
    if let Some((reason, message)) = obstacle(observed) {
        return (Step::Wait(Wait { reason, message, soon: false }), Vec::new());
    }
    let step = membership::next(observed, roster, wish, now);
    let mut effects: Vec<_> = kept(&observed.peers, objects::peers(cluster)).into_iter().collect();
    effects.extend(effects::of(observed, roster, wish, &step));
    effects.extend(beside(observed, roster, wish));
    (step, effects)
}

/// What stands beside the members. It comes last, so that trouble with it keeps no member from being healed.
fn beside(observed: &Observed, roster: &Roster<'_>, wish: &Wish) -> Vec<Effect<EtcdAct>> {
    let cluster = &*observed.cluster;
    let mut effects = Vec::new();
    // Nobody can have written anything before the cluster's id is latched.
    if cluster.status.cluster_id.is_some() {
        effects.extend(kept(&observed.clients, objects::clients(cluster)));
    }
    let voters = roster.voters().count().max(wish.size);
    effects.extend(kept(&observed.budget, objects::budget(cluster, voters)));
    let claims = roster.nodes.iter().filter(|node| wish.durable && node.running().is_some());
    for node in claims {
        let live = node.claim.map(|claim| (&claim.meta, claim.fingerprint));
        let leaving = node.claim.is_some_and(|claim| claim.meta.deleting);
        effects.extend(objects::claim(cluster, &node.name).unless(live).filter(|_| !leaving).map(Effect::Apply));
    }
    effects
}

/// A child that is always wanted: applied unless it already is so.
fn kept<K>(seen: &Seen<Child<K>>, wanted: runtime::plan::Apply) -> Option<Effect<EtcdAct>>
where
    Child<K>: View,
{
    wanted.unless(seen.ours().map(|child| (&child.meta, child.fingerprint))).map(Effect::Apply)
}

/// Why not everything that belongs to the cluster can be judged now.
fn obstacle(observed: &Observed) -> Option<(&'static str, String)> {
    fn of<V>(what: &str, seen: &Seen<V>) -> Option<(&'static str, String)> {
        match seen {
            Seen::Leaving => {
                Some(("WaitingForDeletion", format!("waiting until the {what} that is being deleted is gone")))
            }
            Seen::Unreadable(why) => Some(("Unreadable", format!("the {what} is not of the shape expected: {why}"))),
            Seen::Absent | Seen::Ours(_) => None,
        }
    }
    of("headless Service", &observed.peers)
        .or_else(|| of("client Service", &observed.clients))
        .or_else(|| of("PodDisruptionBudget", &observed.budget))
}

fn look_again(observed: &Observed, step: &Step, effects: &[Effect<EtcdAct>]) -> Duration {
    let cluster = &*observed.cluster;
    if cluster.status.storage.is_none() {
        return STEP;
    }
    match step {
        _ if cluster.spec.paused => HEALTH,
        Step::Rest if effects.is_empty() => HEALTH,
        Step::Wait(Wait { soon: false, .. }) | Step::Stuck(..) => LATER,
        Step::Wait(_) | Step::Add { .. } | Step::Promote { .. } | Step::MoveLeader { .. } => SOON,
        _ => STEP,
    }
}

/// The claim under that name, be it retired.
fn any_claim<'a>(observed: &'a Observed, name: &str) -> Option<&'a Claim> {
    observed.claims.iter().find(|claim| &*claim.meta.key.name == name).map(|claim| &**claim)
}

#[cfg(test)]
mod tests;
