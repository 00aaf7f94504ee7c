//! Pure: when the operator reports quorum as lost.
//!
//! One reconcile in which no linearizable read succeeds may be an outage, an election, or an answer that came too late from a
//! slow node. A lost quorum pages an administrator, and fails a sync of Argo CD. So the operator reports at once that quorum is
//! not confirmed, and that it is lost only after some time.

use std::time::Duration;

use api::ConditionStatus;
use api::etcd_cluster::EtcdClusterReason;
use api::etcd_cluster::condition_type::QUORUM_HEALTHY;
use jiff::{SignedDuration, Timestamp};

use crate::EtcdCluster;

/// How long no linearizable read succeeds before the operator reports quorum as lost.
///
/// The kubelet reports a pod as not ready after three failed probes, seconds apart (`failureThreshold`). A member of etcd starts
/// an election one to two election timeouts after it last heard from a leader (`--election-timeout`, 1 s), and again if votes are
/// split; on a slow node, several times. Elections take 1 to 5 s.
const REPORT_LOST_AFTER: SignedDuration = SignedDuration::from_secs(10);
/// How often the operator queries etcd until then.
const POLL_UNCONFIRMED: Duration = Duration::from_secs(1);

/// Whether an unconfirmed quorum counts as lost.
pub(super) fn is_lost(cluster: &EtcdCluster, now: Timestamp) -> bool {
    left(cluster, now).is_zero()
}

/// The reason of conditions about an unconfirmed or lost quorum.
pub(super) fn reason(lost: bool) -> EtcdClusterReason {
    if lost { EtcdClusterReason::QuorumLost } else { EtcdClusterReason::QuorumUnconfirmed }
}

/// The message about an unconfirmed or lost quorum.
pub(super) fn message(lost: bool, why: &str) -> String {
    if lost {
        return why.to_owned();
    }
    format!("{why}; quorum is reported lost if no linearizable read succeeds for {} s", REPORT_LOST_AFTER.as_secs())
}

/// When to requeue, at the latest, while quorum is not confirmed: no watch reports that it is lost by then.
pub(super) fn requeue_after(cluster: &EtcdCluster, now: Timestamp) -> Duration {
    left(cluster, now).try_into().unwrap_or(Duration::ZERO).min(POLL_UNCONFIRMED)
}

/// How much longer it does not count as lost. The condition, which is False as long as no read succeeds, has the time since when.
/// If the status was lost, the time starts now.
fn left(cluster: &EtcdCluster, now: Timestamp) -> SignedDuration {
    let condition = cluster.status.contract.condition(QUORUM_HEALTHY);
    let since = condition.filter(|of| of.status == ConditionStatus::False).map(|of| of.last_transition_time);
    // The clock of the manager that wrote it may have been far ahead, which must not delay the report.
    let elapsed = since.map_or(SignedDuration::ZERO, |since| now.duration_since(since).abs());
    (REPORT_LOST_AFTER - elapsed).max(SignedDuration::ZERO)
}
