//! The metrics of each cluster, by its namespace and name. None is by member, because the names of members change.

use runtime::metrics::objects::{MetricFamily, ObjectMetrics};

use crate::kind::CONTROLLER;
use crate::plan::member_set::{MemberSet, MemberView};
use crate::plan::{Observed, effective_tls, hibernation, space};

const HAS_QUORUM: MetricFamily = MetricFamily {
    name: "etcd_cluster_has_quorum",
    help: "1 if etcd answers a linearizable read, else 0; absent while only the operator's certificate is rejected, and while the cluster hibernates or resumes",
    counter: false,
};
const LEADER_CHANGES: MetricFamily = MetricFamily {
    name: "etcd_cluster_leader_changes_total",
    help: "Number of leader changes that the manager has observed",
    counter: true,
};
const DB_SIZE: MetricFamily = MetricFamily {
    name: "etcd_cluster_db_size_bytes",
    help: "Size of the largest member's database in bytes",
    counter: false,
};
const DB_QUOTA: MetricFamily = MetricFamily {
    name: "etcd_cluster_db_quota_bytes",
    help: "Size in bytes that a member's database may grow to",
    counter: false,
};
const ALARM: MetricFamily = MetricFamily {
    name: "etcd_cluster_alarm",
    help: "1 while this alarm of etcd is raised; absent otherwise",
    counter: false,
};
const RAFT_INDEX: MetricFamily = MetricFamily {
    name: "etcd_cluster_raft_index",
    help: "Index of the last Raft log entry known to be committed",
    counter: false,
};
const VOLUMES: MetricFamily = MetricFamily {
    name: "etcd_cluster_volumes",
    help: "Number of member volumes with a problem, by state",
    counter: false,
};
const FREE_BYTES: MetricFamily = MetricFamily {
    name: "etcd_cluster_volume_free_bytes",
    help: "Free bytes on the member volume with the fewest; absent if no member reports them",
    counter: false,
};
const FREE_FILES: MetricFamily = MetricFamily {
    name: "etcd_cluster_volume_free_files",
    help: "Free inodes on the member volume with the fewest; absent if no member reports them",
    counter: false,
};
const CERTIFICATE_EXPIRY: MetricFamily = MetricFamily {
    name: "etcd_cluster_certificate_expiry_timestamp_seconds",
    help: "Time at which the certificate of spec.TLS expires that has to be renewed first; absent without TLS",
    counter: false,
};
const CERTIFICATE_RENEWAL: MetricFamily = MetricFamily {
    name: "etcd_cluster_certificate_renewal_timestamp_seconds",
    help: "Time at which that certificate has to be renewed: a tenth of its life, and 14 days at most, before it expires",
    counter: false,
};
const MEMBERS: MetricFamily =
    MetricFamily { name: "etcd_cluster_members", help: "Number of members, by state", counter: false };

/// Sets the metrics of a cluster.
pub(crate) fn set(observed: &Observed) {
    let of = ObjectMetrics { controller: CONTROLLER, key: &observed.cluster.meta.key };
    let members = MemberSet::of(observed, runtime::clock::now());
    match effective_tls::only_operator_is_rejected(observed) || is_stopped(observed, &members) {
        true => of.unset(HAS_QUORUM),
        false => of.set(HAS_QUORUM, None, number(usize::from(members.list_known))),
    }
    let (before, now) =
        (observed.cluster.status.leader.as_deref(), members.leader().map(|leader| leader.name.as_str()));
    // This reconcile writes the status, so each change counts once.
    of.add(LEADER_CHANGES, number(usize::from(before.is_some() && now.is_some() && before != now)));
    let endpoints = || members.all.iter().filter_map(|member| member.endpoint);
    let largest = endpoints().map(|endpoint| endpoint.db_size).max().unwrap_or(0);
    #[allow(clippy::cast_precision_loss, reason = "sizes of databases are far below 2^52")]
    of.set(DB_SIZE, None, largest as f64);
    match space::quota(observed, &members) {
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
    let learners = members.listed().filter(|member| member.is_learner()).count();
    let healthy = members.voters().filter(|member| member.is_healthy()).count();
    let unhealthy = members.listed().count() - learners - healthy;
    for (state, count) in bad_volumes(observed, &members) {
        of.set(VOLUMES, Some(("state", state)), number(count));
    }
    let (bytes, files) = space::least_free(observed, &members);
    for (family, least) in [(FREE_BYTES, bytes), (FREE_FILES, files)] {
        match least {
            #[allow(clippy::cast_precision_loss, reason = "sizes of volumes are far below 2^52")]
            Some(least) => of.set(family, None, least as f64),
            None => of.unset(family),
        }
    }
    let renewal = observed.tls.renewal.as_ref();
    for (family, at) in [
        (CERTIFICATE_EXPIRY, renewal.map(|renewal| renewal.expires)),
        (CERTIFICATE_RENEWAL, renewal.map(|renewal| renewal.due)),
    ] {
        match at {
            #[allow(clippy::cast_precision_loss, reason = "times are far below 2^52")]
            Some(at) => of.set(family, None, at.as_second() as f64),
            None => of.unset(family),
        }
    }
    for (state, count) in [("healthy", healthy), ("unhealthy", unhealthy), ("learner", learners)] {
        of.set(MEMBERS, Some(("state", state)), number(count));
    }
}

/// Whether there is no quorum because the members are stopped, as the spec asks, or start again.
fn is_stopped(observed: &Observed, members: &MemberSet<'_>) -> bool {
    let durable = observed.cluster.status.storage.as_ref().is_some_and(|storage| storage.durable);
    hibernation::state(observed, durable).is_some()
        || hibernation::resumes(observed, members, durable, runtime::clock::now())
}

/// The number of member volumes with a problem, by state.
pub(crate) fn bad_volumes(observed: &Observed, members: &MemberSet<'_>) -> [(&'static str, usize); 3] {
    let count = |bad: &dyn Fn(&MemberView<'_>) -> bool| members.all.iter().filter(|member| bad(member)).count();
    [
        (
            "terminating",
            count(&|member| space::has_terminating_volume(member) || hibernation::cannot_resume(observed, member)),
        ),
        ("full", count(&space::is_full)),
        ("low", count(&|member| space::is_low(observed, member))),
    ]
}

fn number(count: usize) -> f64 {
    f64::from(u32::try_from(count).unwrap_or(u32::MAX))
}
