//! Pure: when a quorum that does not answer is called lost.
//!
//! A look in which no linearizable read is answered tells an outage no better than an election, or an answer that came too late
//! from a slow node. Whoever is told of a lost quorum gets up at night, and Argo CD ends a sync. So what does not answer is told at
//! once, and called lost once it has lasted.

use std::time::Duration;

use api::ConditionStatus;
use api::etcd_cluster::EtcdClusterReason;
use api::etcd_cluster::condition_type::QUORUM_HEALTHY;
use jiff::{SignedDuration, Timestamp};

use crate::EtcdCluster;

/// For how long no linearizable read is answered before quorum is called lost.
///
/// The kubelet takes three probes that fail, with seconds between them, before it takes back that a pod is ready
/// (`failureThreshold`). A member of etcd stands for election one to two election timeouts after it last heard of a leader
/// (`--election-timeout`, 1 s), and again after as long where votes are split; on a slow node, several times. Elections are over
/// in 1 to 5 s.
const TOLERATED: SignedDuration = SignedDuration::from_secs(10);
/// Until then it is asked again so often.
const AGAIN: Duration = Duration::from_secs(1);

/// Whether quorum that does not answer now is called lost.
pub(super) fn is_lost(cluster: &EtcdCluster, now: Timestamp) -> bool {
    left(cluster, now).is_zero()
}

/// The reason by which it is told now that quorum does not answer.
pub(super) fn reason(lost: bool) -> EtcdClusterReason {
    if lost { EtcdClusterReason::QuorumLost } else { EtcdClusterReason::QuorumUnconfirmed }
}

/// What does not answer, in words, and what will be said of that if it lasts.
pub(super) fn told(lost: bool, why: &str) -> String {
    if lost {
        return why.to_owned();
    }
    format!("{why}; quorum is reported lost if no linearizable read succeeds for {} s", TOLERATED.as_secs())
}

/// When to look again, at the latest, while quorum does not answer: a watch does not tell that it is lost by now.
pub(super) fn look_again(cluster: &EtcdCluster, now: Timestamp) -> Duration {
    left(cluster, now).try_into().unwrap_or(Duration::ZERO).min(AGAIN)
}

/// For how much longer it is not called lost. The condition tells since when: it is False as long as no read is answered. Where
/// status is lost, that begins now.
fn left(cluster: &EtcdCluster, now: Timestamp) -> SignedDuration {
    let told = cluster.status.contract.condition(QUORUM_HEALTHY);
    let since = told.filter(|told| told.status == ConditionStatus::False).map(|told| told.last_transition_time);
    // A manager whose clock was far ahead when it wrote that must not put it off.
    let lasted = since.map_or(SignedDuration::ZERO, |since| now.duration_since(since).abs());
    (TOLERATED - lasted).max(SignedDuration::ZERO)
}
