//! Pure: the members of an EtcdCluster that is being deleted leave the cluster that they have joined, before their pods are deleted:
//! its earlier members might have no quorum without them otherwise.

use api::etcd_cluster::EtcdClusterReason;
use jiff::Timestamp;
use runtime::plan::{Plan, Requeue};

use super::desired::{self, Desired};
use super::member_set::MemberSet;
use super::membership::{EtcdStep, Wait, takeover as steps};
use super::{EtcdPlan, Observed, effects, requeue, status, takeover, upkeep};

/// The plan that makes them leave, and the reason and message of the condition Terminating. None once they have left.
pub(super) fn plan(observed: &Observed, now: Timestamp) -> Option<(EtcdPlan, EtcdClusterReason, String)> {
    let cluster = &*observed.cluster;
    if !takeover::is_under_way(cluster) {
        return None;
    }
    let members = MemberSet::of(observed, now);
    let (namespace, name) = (&cluster.meta.key.namespace, &cluster.meta.key.name);
    let way_out = format!(
        "to delete this EtcdCluster all the same, which may leave the earlier members without quorum for good: kubectl patch etcd -n \
         {namespace} {name} --subresource status --type merge -p '{{\"status\":{{\"earlierMembers\":null}}}}', and remove spec.takeover"
    );
    if !members.list_known {
        let earlier = &cluster.status.earlier_members;
        let joined = cluster.status.listed().any(|status| !earlier.contains(&status.name));
        let why = observed.etcd.members.as_ref().err().map_or("", String::as_str);
        let message = format!(
            "the members cannot leave the cluster of {}, which has no quorum ({why}): start its members; {way_out}",
            earlier.join(", ")
        );
        // It only restarts members on their volumes.
        let plan = upkeep::plan(observed, now);
        return joined.then_some((plan, EtcdClusterReason::DeletionBlocked, message));
    }
    let own = members.own().count();
    let earlier: Vec<&str> = members.earlier().map(|member| member.name.as_str()).collect();
    if own == 0 || earlier.is_empty() {
        return None;
    }
    let desired = Desired::of(observed, &members, desired::durable(observed)?);
    let step = steps::remove(observed, &members, |member| !member.earlier, |member| member.earlier);
    let mut message = format!("{own} members leave the cluster of {} before they are deleted", earlier.join(", "));
    if let EtcdStep::Wait(Wait { message: waiting, .. }) = &step {
        message = format!("{message}: {waiting}; {way_out}");
    }
    let effects = effects::of(observed, &members, &desired, &step);
    let next = Requeue::After(requeue::after(observed, &members, &step, &effects, false, now));
    let status = Some(status::of(observed, &members, &desired, &step, now));
    Some((Plan { effects, next, status, ..Plan::nothing() }, EtcdClusterReason::LeavingCluster, message))
}
