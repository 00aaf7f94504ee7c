//! Pure: the status of an EtcdRestore.

use api::etcd_restore::{EtcdRestoreReason, EtcdRestoreStatus};
use api::{ConditionStatus, Contract, condition_type};
use jiff::Timestamp;
use runtime::message;
use runtime::status::conditions::Summary;

use super::observed::RestoreObserved;
use crate::plan::objects::REPLACED_BY;
use crate::plan::takeover;
use crate::referenced::Referenced;
use crate::{EtcdCluster, EtcdRestore, agent_pod};

type Status = EtcdRestoreStatus;

fn with(
    status: Status,
    summary: &Summary,
    reason: EtcdRestoreReason,
    message: impl Into<String>,
    now: Timestamp,
) -> Status {
    let conditions = summary.conditions(reason, message::shorten(message.into()), now);
    Status { contract: Contract { conditions, ..status.contract }, ..status }
}

/// A user has to act.
pub(super) fn waiting(status: Status, reason: EtcdRestoreReason, message: &str, now: Timestamp) -> Status {
    with(status, &Summary::Stalled, reason, message, now)
}

pub(super) fn cluster_missing(restore: &EtcdRestore) -> String {
    format!(
        "the EtcdCluster {} does not exist: create it, and it begins with the snapshot; nothing is verified before that",
        restore.spec.etcd_cluster.name
    )
}

pub(super) fn data_in_pods(restore: &EtcdRestore) -> String {
    format!(
        "members of the EtcdCluster {} keep their data in their pods, so that nothing would be left of it: create another EtcdCluster \
         with spec.restore",
        restore.spec.etcd_cluster.name
    )
}

pub(super) fn consent_required(restore: &EtcdRestore, cluster: &EtcdCluster, id: &str) -> String {
    let key = &restore.meta.key;
    format!(
        "the EtcdCluster {} exists (clusterID {id}), and a restore would stop its members and begin it again, without what was written \
         since the snapshot; their volumes would stay; to consent: kubectl patch etcdrestore -n {} {} --type merge \
         -p '{{\"spec\":{{\"replaceClusterID\":\"{id}\"}}}}'",
        cluster.meta.key.name, key.namespace, key.name
    )
}

/// A Job verifies the snapshot.
pub(super) fn verifying(observed: &RestoreObserved, status: Status, job: &str, now: Timestamp) -> Status {
    let doing = format!("the snapshot is restored into a throwaway member, and {}", state_of_cluster(observed));
    if let Some(since) = agent_pod::without_pod_since(&observed.jobs, &observed.pods, job, now) {
        let message = format!("{doing}, but {}", agent_pod::no_pod(job, since));
        return with(status, &Summary::Reconciling, EtcdRestoreReason::PodInTrouble, message, now);
    }
    match runtime::job::diagnosis(&observed.pods, job) {
        Some(diagnosis) => {
            let message = format!("{doing}, but the pod of the Job waits: {}", diagnosis.message);
            with(status, &Summary::Reconciling, EtcdRestoreReason::PodInTrouble, message, now)
        }
        None => with(status, &Summary::Reconciling, EtcdRestoreReason::Verifying, doing, now),
    }
}

/// The snapshot could not be verified; the next attempt is due `at` that time.
pub(super) fn failed(observed: &RestoreObserved, status: Status, at: Timestamp, now: Timestamp) -> Status {
    let why = status.reason.clone().unwrap_or_default();
    let again = if at > now { format!("; the next attempt begins at {at:.0}") } else { String::new() };
    let message = format!("the snapshot could not be verified, and {}: {why}{again}", state_of_cluster(observed));
    with(status, &Summary::Stalled, EtcdRestoreReason::VerificationFailed, message, now)
}

/// What a verification leaves the cluster in. One that follows an edit of the spec may come after its members were stopped.
fn state_of_cluster(observed: &RestoreObserved) -> &'static str {
    let Referenced::Found(cluster) = &observed.cluster else { return "there is no cluster" };
    let begun = cluster.status.restore.as_ref().is_some_and(|of| *of.uid == *observed.restore.meta.uid);
    if begun { "the members of the cluster are stopped" } else { "the cluster is untouched" }
}

/// The snapshot is verified, and the cluster has yet to begin.
pub(super) fn handed_over(status: Status, cluster: &EtcdCluster, now: Timestamp) -> Status {
    let name = &cluster.meta.key.name;
    let other = cluster.status.restore.as_ref().filter(|of| of.ended_at.is_none());
    let verified = verified(&status);
    if let Some(other) = other {
        let message = format!("{verified}; the EtcdRestore {} of the EtcdCluster {name} is under way", other.name);
        return with(status, &Summary::Reconciling, EtcdRestoreReason::OtherRestore, message, now);
    }
    if cluster.spec.paused {
        let message = format!("{verified}; the EtcdCluster {name} is paused: set its spec.paused to false");
        return with(status, &Summary::Stalled, EtcdRestoreReason::ClusterPaused, message, now);
    }
    if takeover::is_under_way(cluster) {
        let earlier = cluster.status.earlier_members.join(", ");
        let message = format!(
            "{verified}; the EtcdCluster {name} begins with it once the earlier members {earlier} have left (spec.takeover)"
        );
        return with(status, &Summary::Reconciling, EtcdRestoreReason::Restoring, message, now);
    }
    let unready =
        cluster.status.contract.condition(condition_type::READY).filter(|of| of.status != ConditionStatus::True);
    let why = unready.map_or_else(String::new, |ready| format!("; {}: {}", ready.reason, ready.message));
    let message = format!("{verified}; the EtcdCluster {name} is about to begin with it{why}");
    with(status, &Summary::Reconciling, EtcdRestoreReason::Restoring, message, now)
}

/// The cluster carries it out.
pub(super) fn restoring(status: Status, cluster: &EtcdCluster, now: Timestamp) -> Status {
    let ready = cluster.status.contract.condition(condition_type::READY);
    let message = ready.map_or_else(|| "the cluster begins again".to_owned(), |ready| ready.message.clone());
    if cluster.spec.paused {
        return with(status, &Summary::Stalled, EtcdRestoreReason::ClusterPaused, message, now);
    }
    with(status, &Summary::Reconciling, EtcdRestoreReason::Restoring, message, now)
}

/// The cluster began again.
pub(super) fn restored(status: Status, restore: &EtcdRestore, now: Timestamp) -> Status {
    let (name, id) = (&restore.spec.etcd_cluster.name, status.cluster_id.clone().unwrap_or_default());
    let kept = status.previous_cluster_id.as_ref().map_or_else(String::new, |_| {
        format!(
            "; the volumes of its earlier members stay until you delete them: kubectl get pvc -n {} -l {REPLACED_BY}={}",
            restore.meta.key.namespace, restore.meta.uid
        )
    });
    let message = format!("the EtcdCluster {name} began again from {} (clusterID {id}){kept}", verified(&status));
    with(status, &Summary::Ready, EtcdRestoreReason::Restored, message, now)
}

/// The snapshot, as messages name it.
fn verified(status: &Status) -> String {
    let of = status.verified.clone().unwrap_or_default();
    let backup = status.backup.as_ref().filter(|backup| backup.generation == of.generation);
    let backup = backup.map_or_else(String::new, |backup| format!(" {}", backup.name));
    format!("the verified snapshot{backup} of revision {}", of.revision)
}
