//! Pure: when the next reconcile is due.

use std::time::Duration;

use api::ConditionStatus;
use api::condition_type::READY;
use jiff::{SignedDuration, Timestamp};
use runtime::plan::Effect;

use super::member_set::MemberSet;
use super::membership::{EtcdStep, Wait};
use super::{EtcdAct, Observed, clock, objects};
use crate::EtcdCluster;

/// After a step, whose own watch events do not requeue the cluster.
pub(super) const AFTER_STEP: Duration = Duration::from_millis(50);
/// While the step waits for etcd, which no watch reports.
const POLL_ETCD: Duration = Duration::from_millis(120);
/// After an entry that was appended for a learner.
pub(super) const AFTER_NUDGE: Duration = Duration::from_secs(1);
/// While the step waits for etcd and no member has changed for [`STAGNANT_AFTER`]: a reconcile may take requests to the API
/// server as well.
pub(super) const POLL_STAGNANT: Duration = Duration::from_secs(5);
/// After a repeated removal: etcd rejects it until the other members have been connected for 5 s.
const RETRY_REMOVAL: Duration = Duration::from_secs(1);
/// After a repeated removal, while the cluster has not been Ready and no member has changed for [`STAGNANT_AFTER`], and another
/// member is not healthy either, so that etcd may reject it for good: each try takes a request to the API server for each member,
/// and some more.
const RETRY_REJECTED_REMOVAL: Duration = Duration::from_secs(30);
/// How long no member changes before the operator polls less often.
const STAGNANT_AFTER: SignedDuration = SignedDuration::from_mins(2);
/// While the step waits for a watch event, or for a user. A reconcile takes up to five requests to the API server, and there
/// should be at most twenty a minute while nothing improves.
pub(super) const RETRY: Duration = Duration::from_secs(15);
/// While the kubelet may still take back that a member is ready.
const POLL_READINESS: Duration = Duration::from_millis(500);
/// While the cluster hibernates: watches report whatever matters, except for Secrets.
const HIBERNATES: Duration = Duration::from_secs(3600);
const HIBERNATES_WITH_TLS: Duration = Duration::from_secs(60);
/// How often members are queried while they need no change.
pub(super) const POLL_HEALTH: Duration = Duration::from_secs(10);

/// When to requeue after `step`, which Ready has reported before, if it `repeats`.
pub(super) fn after(
    observed: &Observed,
    members: &MemberSet<'_>,
    step: &EtcdStep,
    effects: &[Effect<EtcdAct>],
    repeats: bool,
    now: Timestamp,
) -> Duration {
    let cluster = &*observed.cluster;
    if cluster.status.storage.is_none() {
        return AFTER_STEP;
    }
    // If something else fails as well, Ready reports that.
    let repeats = |name: &str| repeats || is_marked(members, name);
    match step {
        _ if cluster.spec.paused => POLL_HEALTH,
        EtcdStep::Rest if effects.is_empty() && members.has_unstable_readiness() => POLL_READINESS,
        EtcdStep::Rest if effects.is_empty() => POLL_HEALTH,
        EtcdStep::Hibernate if cluster.spec.tls.is_some() => HIBERNATES_WITH_TLS,
        EtcdStep::Hibernate => HIBERNATES,
        // Clients may have raised the alarm again by then.
        EtcdStep::Disarm { .. } => POLL_HEALTH,
        EtcdStep::Wait(Wait { polls: false, .. }) | EtcdStep::Stuck(..) => RETRY,
        EtcdStep::Wait(_) | EtcdStep::Add { .. } | EtcdStep::Promote { .. } | EtcdStep::MoveLeader { .. } => {
            if stagnates(cluster, now) {
                POLL_STAGNANT
            } else {
                POLL_ETCD
            }
        }
        EtcdStep::Remove { name, .. } if repeats(name) && is_rejected_for_long(cluster, members, name, now) => {
            RETRY_REJECTED_REMOVAL
        }
        EtcdStep::Remove { name, .. } if repeats(name) => RETRY_REMOVAL,
        EtcdStep::Nudge { .. } if !stagnates(cluster, now) => AFTER_NUDGE,
        EtcdStep::Nudge { .. } => POLL_STAGNANT,
        _ => AFTER_STEP,
    }
}

/// Whether an earlier reconcile has marked a member for removal.
fn is_marked(members: &MemberSet<'_>, name: &str) -> bool {
    let claim = || members.listed().find(|member| member.name == name).and_then(|member| member.claim);
    members.is_retiring(name) || claim().is_some_and(objects::is_retiring)
}

/// Whether no member has taken up another role for some time.
fn stagnates(cluster: &EtcdCluster, now: Timestamp) -> bool {
    let last = cluster.status.member_statuses.iter().filter_map(|status| status.since).max();
    last.is_some_and(|last| clock::elapsed(last, now) >= STAGNANT_AFTER)
}

/// Whether etcd may have rejected a removal for long. It accepts one that leaves only healthy members within seconds; then no
/// watch may report that the next step is due.
fn is_rejected_for_long(cluster: &EtcdCluster, members: &MemberSet<'_>, name: &str, now: Timestamp) -> bool {
    let unready = cluster.status.contract.condition(READY).filter(|ready| ready.status == ConditionStatus::False);
    let lasts = unready.is_some_and(|unready| clock::elapsed(unready.last_transition_time, now) >= STAGNANT_AFTER);
    let others = || members.listed().filter(|other| other.name != name);
    lasts && stagnates(cluster, now) && others().any(|other| !other.is_healthy())
}
