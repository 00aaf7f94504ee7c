//! One change of an EtcdCluster, through which the manager dies.

use std::time::Duration;

use api::etcd_cluster::{EtcdCluster, MemberRole};
use e2e::etcd::{Etcd, Writer, ids, runs};
use e2e::patience::{Deadline, Moment};
use kube::ResourceExt;
use tokio::time::sleep;

use crate::manager::Manager;
use crate::members::Lists;

/// How long a change may take, deaths included.
const RECOVERY_TIMEOUT: Duration = Duration::from_secs(150);
const RETIRED: &str = "multi-operator.example.com/retired";

/// What shall have become of the cluster.
pub struct Outcome {
    /// Its members.
    pub members: usize,
    /// PVCs of earlier members that are kept.
    pub retired: usize,
    /// How many members etcd may list meanwhile, at least and at most.
    pub between: (usize, usize),
}

/// Makes `change`, with managers that die whenever an effect was performed whose debug text contains `boundary`; returns
/// the cluster when all is as it should be.
pub async fn dying_after(
    manager: &Manager,
    (etcd, writer): (&Etcd<'_>, &Writer<'_>),
    boundary: &str,
    change: impl Future<Output = ()>,
    outcome: &Outcome,
) -> EtcdCluster {
    manager.lives_until(boundary).await;
    let (lists, history) = (Lists::record(etcd), etcd.record().await);
    let (begun, deadline) = (Moment::now(), Deadline::after(RECOVERY_TIMEOUT));
    change.await;
    let mut deaths = 0;
    let cluster = loop {
        if manager.is_dead().await {
            deaths += 1;
            manager.lives_until(boundary).await;
        }
        let last = match settled(etcd, outcome).await {
            Ok(cluster) if deaths > 0 && manager.serves().await => break cluster,
            Ok(_) => "all is as it should be".to_owned(),
            Err(missing) => missing,
        };
        if deadline.is_over() {
            let hint = if deaths == 0 { "; has it the feature failpoints?" } else { "" };
            let around = etcd.ns.around().await;
            let late = deadline.late();
            panic!("{deaths} deaths of the manager after `{boundary}`{hint}; {late}; last: {last}\n{around}");
        }
        sleep(Duration::from_millis(200)).await;
    };
    println!("{deaths} deaths after `{boundary}`: done after {}", begun.passed());
    writer.writes(5).await;
    writer.verdict(&cluster).await;
    lists.one_at_a_time(outcome.between.0, outcome.between.1);
    one_at_a_time(&history.objects());
    cluster
}

/// The cluster, if it is done, and if there is nothing of it that its members have no use for.
async fn settled(etcd: &Etcd<'_>, outcome: &Outcome) -> Result<EtcdCluster, String> {
    let cluster = etcd.now().await;
    if !runs(&cluster, outcome.members) {
        return Err(format!("{:?}", cluster.status));
    }
    let (members, pods) = (ids(&cluster), etcd.pods().await);
    if !pods.keys().eq(members.keys()) {
        return Err(format!("members {:?}, pods {:?}", members.keys(), pods.keys()));
    }
    let (retired, used): (Vec<_>, Vec<_>) =
        etcd.claims().await.into_iter().partition(|(_, claim)| claim.labels().contains_key(RETIRED));
    let names: Vec<&String> = used.iter().map(|(name, _)| name).collect();
    if !names.iter().copied().eq(members.keys()) || retired.len() != outcome.retired {
        return Err(format!("members {:?}, claims {names:?}, and {} retired", members.keys(), retired.len()));
    }
    Ok(cluster)
}

/// By the recorded status: there are never two learners, and size changes by one at a time.
fn one_at_a_time(history: &[EtcdCluster]) {
    let statuses = || history.iter().filter_map(|cluster| cluster.status.as_ref());
    for status in statuses() {
        let learn = status.member_statuses.iter().filter(|member| member.role == MemberRole::Learner).count();
        assert!(learn <= 1, "{:?}", status.member_statuses);
    }
    let sizes: Vec<i32> = statuses().map(|status| status.size).collect();
    assert!(sizes.windows(2).all(|pair| (pair[1] - pair[0]).abs() <= 1), "{sizes:?}");
}
