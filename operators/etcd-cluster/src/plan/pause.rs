//! Pure: when to look again.

use std::time::Duration;

use api::ConditionStatus;
use api::condition_type::READY;
use jiff::{SignedDuration, Timestamp};
use runtime::plan::Effect;

use super::membership::{Step, Wait};
use super::roster::Roster;
use super::{EtcdAct, Observed, clock, objects};
use crate::EtcdCluster;

/// After a step: its own events are no news, so look again by ourselves.
pub(super) const STEP: Duration = Duration::from_millis(50);
/// While something of etcd's is waited for, which no watch tells.
const SOON: Duration = Duration::from_millis(120);
/// After an entry for a learner, which takes it that far.
pub(super) const NUDGED: Duration = Duration::from_secs(1);
/// The same, while no member has changed for [`STAGNATION`]: each look may take requests to the API server as well.
pub(super) const SLOWLY: Duration = Duration::from_secs(5);
/// After a removal that is not the first try: etcd refuses it for as long as the others have not been connected for 5 s.
const REFUSED: Duration = Duration::from_secs(1);
/// The same, while a cluster has not been Ready, and no member has changed, for [`STAGNATION`], and another member is not healthy either,
/// by which etcd may refuse it for good: each try takes a request to the API server for each member, and some more.
const SELDOM: Duration = Duration::from_secs(30);
/// For how long members change before it is looked less often.
const STAGNATION: SignedDuration = SignedDuration::from_mins(2);
/// While something is waited for that a watch tells; and for a person. A look takes up to five requests to the API server, of
/// which there are to be twenty a minute at most while nothing gets better.
pub(super) const LATER: Duration = Duration::from_secs(15);
/// While the kubelet's word that a member is ready cannot be relied upon yet, which time alone tells.
const SETTLES: Duration = Duration::from_millis(500);
/// How often members are asked how they fare while all is well.
pub(super) const HEALTH: Duration = Duration::from_secs(10);

/// When to look again after `step`, which Ready told of before, if it `repeats`.
pub(super) fn of(
    observed: &Observed,
    roster: &Roster<'_>,
    step: &Step,
    effects: &[Effect<EtcdAct>],
    repeats: bool,
    now: Timestamp,
) -> Duration {
    let cluster = &*observed.cluster;
    if cluster.status.storage.is_none() {
        return STEP;
    }
    // Where something else fails as well, Ready tells of that.
    let repeats = |name: &str| repeats || is_noted(roster, name);
    match step {
        _ if cluster.spec.paused => HEALTH,
        Step::Rest if effects.is_empty() && roster.settles() => SETTLES,
        Step::Rest if effects.is_empty() => HEALTH,
        // Whoever writes may have raised it again by then, and nothing will have changed for the better.
        Step::Disarm { .. } => HEALTH,
        Step::Wait(Wait { soon: false, .. }) | Step::Stuck(..) => LATER,
        Step::Wait(_) | Step::Add { .. } | Step::Promote { .. } | Step::MoveLeader { .. } => {
            if stagnates(cluster, now) { SLOWLY } else { SOON }
        }
        Step::Remove { name, .. } if repeats(name) && is_refused_for_long(cluster, roster, name, now) => SELDOM,
        Step::Remove { name, .. } if repeats(name) => REFUSED,
        Step::Nudge { .. } if !stagnates(cluster, now) => NUDGED,
        Step::Nudge { .. } => SLOWLY,
        _ => STEP,
    }
}

/// Whether a pass before has marked a member as one that is about to be removed.
fn is_noted(roster: &Roster<'_>, name: &str) -> bool {
    let claim = || roster.members().find(|node| node.name == name).and_then(|node| node.claim);
    roster.is_retiring(name) || claim().is_some_and(objects::is_retiring)
}

/// Whether no member has taken up another role for some time.
fn stagnates(cluster: &EtcdCluster, now: Timestamp) -> bool {
    let last = cluster.status.member_statuses.iter().filter_map(|status| status.since).max();
    last.is_some_and(|last| clock::lasted(last, now) >= STAGNATION)
}

/// Whether etcd may have refused a removal for long, and go on. It takes one that leaves healthy members alone within seconds; then nobody
/// would tell that it is time for what comes next, be there no pod that goes.
fn is_refused_for_long(cluster: &EtcdCluster, roster: &Roster<'_>, name: &str, now: Timestamp) -> bool {
    let unready = cluster.status.contract.condition(READY).filter(|ready| ready.status == ConditionStatus::False);
    let lasts = unready.is_some_and(|unready| clock::lasted(unready.last_transition_time, now) >= STAGNATION);
    let others = || roster.members().filter(|other| other.name != name);
    lasts && stagnates(cluster, now) && others().any(|other| !other.is_healthy())
}
