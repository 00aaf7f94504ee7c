//! What is measured of each cluster: by its namespace and name, and never by member, whose names come and go.

use jiff::Timestamp;
use runtime::metrics::objects::{Family, Of};

use crate::kind::CONTROLLER;
use crate::plan::Observed;
use crate::plan::roster::{Node, Roster};
use crate::plan::space;

const HAS_QUORUM: Family =
    Family { name: "etcd_cluster_has_quorum", help: "1 if etcd answers a linearizable read, else 0", counter: false };
const LEADER_CHANGES: Family = Family {
    name: "etcd_cluster_leader_changes_total",
    help: "Number of leader changes that the manager has observed",
    counter: true,
};
const DB_SIZE: Family = Family {
    name: "etcd_cluster_db_size_bytes",
    help: "Size of the largest member's database in bytes",
    counter: false,
};
const DB_QUOTA: Family = Family {
    name: "etcd_cluster_db_quota_bytes",
    help: "Size in bytes that a member's database may grow to",
    counter: false,
};
const ALARM: Family = Family {
    name: "etcd_cluster_alarm",
    help: "1 while this alarm of etcd is raised; absent otherwise",
    counter: false,
};
const RAFT_INDEX: Family = Family {
    name: "etcd_cluster_raft_index",
    help: "Index of the last Raft log entry known to be committed",
    counter: false,
};
const VOLUMES: Family =
    Family { name: "etcd_cluster_volumes", help: "Number of member volumes with a problem, by state", counter: false };
const FREE_BYTES: Family = Family {
    name: "etcd_cluster_volume_free_bytes",
    help: "Free bytes on the member volume with the fewest; absent if no member reports them",
    counter: false,
};
const FREE_FILES: Family = Family {
    name: "etcd_cluster_volume_free_files",
    help: "Free inodes on the member volume with the fewest; absent if no member reports them",
    counter: false,
};
const MEMBERS: Family = Family { name: "etcd_cluster_members", help: "Number of members, by state", counter: false };

/// Tells of a cluster.
pub(crate) fn tell(observed: &Observed) {
    let of = Of { controller: CONTROLLER, key: &observed.cluster.meta.key };
    let roster = Roster::of(observed, Timestamp::now());
    of.set(HAS_QUORUM, None, number(usize::from(roster.listed)));
    let (before, now) = (observed.cluster.status.leader.as_deref(), roster.leader().map(|leader| leader.name.as_str()));
    // The status is about to be written, so each change is seen once.
    of.add(LEADER_CHANGES, number(usize::from(before.is_some() && now.is_some() && before != now)));
    let endpoints = || roster.nodes.iter().filter_map(|node| node.endpoint);
    let largest = endpoints().map(|endpoint| endpoint.db_size).max().unwrap_or(0);
    #[allow(clippy::cast_precision_loss, reason = "sizes of databases are far below 2^52")]
    of.set(DB_SIZE, None, largest as f64);
    match space::quota(observed, &roster) {
        #[allow(clippy::cast_precision_loss, reason = "quotas are below 2^50")]
        Some(quota) => of.set(DB_QUOTA, None, quota as f64),
        None => of.unset(DB_QUOTA),
    }
    let mut raised: Vec<&str> = observed.etcd.alarms.iter().map(|(_, alarm)| alarm.name()).collect();
    raised.sort_unstable();
    raised.dedup();
    of.set_each(ALARM, "alarm", &raised, 1.0);
    let newest = endpoints().map(|endpoint| endpoint.raft_index).max().unwrap_or(0);
    #[allow(clippy::cast_precision_loss, reason = "an index of 2^52 takes centuries")]
    of.set(RAFT_INDEX, None, newest as f64);
    let learners = roster.members().filter(|node| node.is_learner()).count();
    let healthy = roster.voters().filter(|node| node.is_healthy()).count();
    let unhealthy = roster.members().count() - learners - healthy;
    for (state, count) in bad_volumes(observed, &roster) {
        of.set(VOLUMES, Some(("state", state)), number(count));
    }
    let (bytes, files) = space::least_free(observed, &roster);
    for (family, least) in [(FREE_BYTES, bytes), (FREE_FILES, files)] {
        match least {
            #[allow(clippy::cast_precision_loss, reason = "sizes of volumes are far below 2^52")]
            Some(least) => of.set(family, None, least as f64),
            None => of.unset(family),
        }
    }
    for (state, count) in [("healthy", healthy), ("unhealthy", unhealthy), ("learner", learners)] {
        of.set(MEMBERS, Some(("state", state)), number(count));
    }
}

/// How many volumes of members are in each state that somebody should know of.
pub(crate) fn bad_volumes(observed: &Observed, roster: &Roster<'_>) -> [(&'static str, usize); 3] {
    let count = |bad: &dyn Fn(&Node<'_>) -> bool| roster.nodes.iter().filter(|node| bad(node)).count();
    [
        ("terminating", count(&space::is_terminating)),
        ("full", count(&space::is_full)),
        ("low", count(&|node| space::is_low(observed, node))),
    ]
}

fn number(count: usize) -> f64 {
    f64::from(u32::try_from(count).unwrap_or(u32::MAX))
}
