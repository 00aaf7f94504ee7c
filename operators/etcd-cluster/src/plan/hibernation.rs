//! Pure: stops all members while `spec.hibernate` is set, and keeps their volumes.
//!
//! The operator deletes all pods, and creates none until `spec.hibernate` is false. Then it restarts the same members on their
//! volumes, as it does after all pods were lost: nothing about membership changes in between. A restore from a snapshot and a recovery from
//! a lost quorum finish first. A cluster that is terminating resumes, since its deletion may have to replace members.

use api::etcd_cluster::EtcdClusterReason;
use api::etcd_cluster::condition_type::QUORUM_HEALTHY;
use jiff::{SignedDuration, Timestamp};
use runtime::projections::Pod;

use super::desired::Desired;
use super::member_set::{MemberSet, MemberView};
use super::membership::EtcdStep;
use super::membership::terminating;
use super::{Observed, clock, hold, placement, recovery, restore, takeover};
use crate::EtcdCluster;

/// What waits for the pods of members.
const STOPS: &str = "the cluster hibernates once the pods of its members are deleted";
/// What the conditions report about a cluster that hibernates.
pub(super) const HIBERNATES: &str = "the cluster hibernates: its members are stopped, and keep their volumes; set spec.hibernate to false \
    to start them";
/// What the conditions report about a cluster that is to hibernate, and has not begun yet.
pub(super) const COMES_LATER: &str = "the cluster hibernates once its first member has answered";
/// How long members may take to resume, in which time a missing quorum is not reported as lost: nodes attach volumes and pull images.
const RESUMES_WITHIN: SignedDuration = SignedDuration::from_mins(5);

/// How far a cluster is that is to hibernate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hibernation {
    /// Its pods are being deleted.
    Stopping,
    /// It has no pods.
    Stopped,
}

/// How far it is; none if it does not hibernate, or cannot yet.
#[must_use]
pub fn state(observed: &Observed, durable: bool) -> Option<Hibernation> {
    let cluster = &observed.cluster;
    if !is_wanted(cluster, durable) {
        return None;
    }
    if pods(observed).next().is_none() {
        return Some(Hibernation::Stopped);
    }
    // A first member has to report which cluster it is; so has any member, if the status was lost.
    let is_known = cluster.status.cluster_id.is_some() || pods(observed).all(|pod| pod.meta.deleting);
    (is_known && !cluster.spec.paused).then_some(Hibernation::Stopping)
}

/// Whether the spec asks for it, and nothing has to finish first.
pub(super) fn is_wanted(cluster: &EtcdCluster, durable: bool) -> bool {
    let joins = takeover::is_under_way(cluster);
    let busy = cluster.meta.deleting
        || joins
        || restore::under_way(cluster).is_some()
        || recovery::under_way(cluster).is_some();
    cluster.spec.hibernate && durable && !busy
}

/// The next step of a cluster that hibernates.
pub(super) fn step(observed: &Observed, members: &MemberSet<'_>, desired: &Desired) -> Option<EtcdStep> {
    match state(observed, desired.durable)? {
        Hibernation::Stopped => Some(EtcdStep::Hibernate),
        // The records on a PVC, and its finalizer, are written while its pod exists.
        Hibernation::Stopping if members.list_known && hold::unheld(observed, members, desired).is_some() => None,
        Hibernation::Stopping if pods(observed).any(|pod| !pod.meta.deleting) => Some(EtcdStep::Stop),
        Hibernation::Stopping => {
            let message = terminating::message(STOPS, pods(observed));
            message.map(|message| EtcdStep::wait(EtcdClusterReason::Hibernating, message))
        }
    }
}

/// Whether members start again after they were stopped, and may still take some time until they have quorum. The status has no time for
/// the role of a member while it is stopped.
#[must_use]
pub fn resumes(observed: &Observed, members: &MemberSet<'_>, durable: bool, now: Timestamp) -> bool {
    let status = &observed.cluster.status;
    let stopped = [EtcdClusterReason::Hibernated, EtcdClusterReason::Resuming];
    let was_stopped = status.contract.condition(QUORUM_HEALTHY).is_some_and(|of| of.reason.is_one_of(&stopped));
    let since = status.listed().filter_map(|member| member.since).min();
    let in_time = since.is_none_or(|since| clock::elapsed(since, now) < RESUMES_WITHIN);
    was_stopped && in_time && !members.list_known && state(observed, durable).is_none()
}

/// Whether a member will not resume, since its PVC is terminating: no new pod can use that.
#[must_use]
pub fn cannot_resume(observed: &Observed, member: &MemberView<'_>) -> bool {
    let durable = observed.cluster.status.storage.as_ref().is_some_and(|storage| storage.durable);
    let deleting = member.claim.is_some_and(|claim| claim.meta.deleting);
    deleting && state(observed, durable) == Some(Hibernation::Stopped)
}

/// All pods of the cluster, those of checks included.
pub(super) fn pods(observed: &Observed) -> impl Iterator<Item = &Pod> {
    let members = observed.pods.iter().map(|pod| &**pod);
    members.chain(observed.image_check.as_deref()).chain(placement::live_trials(observed))
}
