//! What is measured of each cluster: by its namespace and name, and never by member, whose names come and go.

use ::metrics::{counter, gauge};
use jiff::Timestamp;

use crate::plan::Observed;
use crate::plan::roster::Roster;

/// Sets the gauges of a cluster.
pub(crate) fn tell(observed: &Observed) {
    let key = &observed.cluster.meta.key;
    let labels = [("namespace", key.namespace.to_string()), ("name", key.name.to_string())];
    let roster = Roster::of(observed, Timestamp::now());
    let number = |count: usize| f64::from(u32::try_from(count).unwrap_or(u32::MAX));
    gauge!("etcd_cluster_has_quorum", &labels).set(number(usize::from(roster.listed)));
    let changes = counter!("etcd_cluster_leader_changes_total", &labels);
    let (before, now) = (observed.cluster.status.leader.as_deref(), roster.leader().map(|leader| leader.name.as_str()));
    // The status is about to be written, so each change is seen once.
    changes.increment(u64::from(before.is_some() && now.is_some() && before != now));
    let endpoints = || roster.nodes.iter().filter_map(|node| node.endpoint);
    let largest = endpoints().map(|endpoint| endpoint.db_size).max().unwrap_or(0);
    #[allow(clippy::cast_precision_loss, reason = "sizes of databases are far below 2^52")]
    gauge!("etcd_cluster_db_size_bytes", &labels).set(largest as f64);
    let newest = endpoints().map(|endpoint| endpoint.raft_index).max().unwrap_or(0);
    #[allow(clippy::cast_precision_loss, reason = "an index of 2^52 takes centuries")]
    gauge!("etcd_cluster_raft_index", &labels).set(newest as f64);
    let learners = roster.members().filter(|node| node.is_learner()).count();
    let healthy = roster.voters().filter(|node| node.is_healthy()).count();
    let unhealthy = roster.members().count() - learners - healthy;
    for (state, count) in [("healthy", healthy), ("unhealthy", unhealthy), ("learner", learners)] {
        let [namespace, name] = labels.clone();
        gauge!("etcd_cluster_members", &[namespace, name, ("state", state.to_owned())]).set(number(count));
    }
}
