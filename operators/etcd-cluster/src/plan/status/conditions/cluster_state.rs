//! Pure: the cluster's state, as its conditions report it.

use api::Reason;
use jiff::Timestamp;
use runtime::status::conditions::Summary;

use super::summary::{is_restarting, summarize};
use crate::plan::desired::Desired;
use crate::plan::member_set::{MemberSet, MemberView};
use crate::plan::membership::{EtcdStep, waiting_message, why_leader_not_transferred};
use crate::plan::status::messages::alarm;
use crate::plan::status::warnings;
use crate::plan::{
    Alarm, Explanation, Observed, defragmentation, effective_tls, hibernation, quorum, recovery, restore, space,
};

/// The cluster's state, as its conditions report it.
pub(in crate::plan::status) struct ClusterState {
    pub(in crate::plan::status) summary: Summary,
    pub(in crate::plan::status) reason: Reason,
    pub(in crate::plan::status) message: String,
    /// Whether any member answers.
    pub(in crate::plan::status) answers: bool,
    pub(super) quorum: Result<(), String>,
    /// Whether quorum counts as lost, if there is none.
    pub(super) lost: bool,
    /// Whether a first member has ever reported the cluster id.
    pub(super) bootstrapped: bool,
    pub(super) members: usize,
    /// Why a member needs repair, if one does.
    pub(super) repair: Option<String>,
    /// Whether the number of members is to change; none if the number is unknown.
    pub(super) scaling: Option<bool>,
    pub(super) upgrading: bool,
    pub(super) alarm: Option<Alarm>,
    /// Whether etcd requires authentication for its status.
    pub(super) auth_required: bool,
    /// Whether members reject only the operator.
    pub(super) operator_rejected: bool,
    /// Whether the only missing members are those that restart with the current spec.
    pub(super) restarting: bool,
    /// Whether the cluster begins again from a snapshot.
    pub(super) restoring: bool,
    /// Whether all members are stopped, or about to be, as the spec asks.
    pub(in crate::plan::status) hibernating: bool,
    /// Whether members start again after they were stopped.
    pub(super) resuming: bool,
    /// Whether PVCs with data are terminating.
    pub(super) terminating: bool,
    /// The reason and message of the condition Warning.
    pub(super) warning: Option<Explanation>,
}

impl ClusterState {
    /// Whether etcd rejects writes, or all requests, because of an alarm.
    pub(in crate::plan::status) fn has_alarm(&self) -> bool {
        self.alarm.is_some()
    }

    /// Whether quorum is lost. A cluster that requires authentication may have it, and so may one that only rejects the operator.
    pub(in crate::plan::status) fn has_no_quorum(&self) -> bool {
        self.quorum.is_err()
            && !self.restoring
            && !self.hibernating
            && !self.resuming
            && !self.auth_required
            && !self.operator_rejected
            && self.lost
    }

    pub(in crate::plan::status) fn of(
        observed: &Observed,
        members: &MemberSet<'_>,
        desired: &Desired,
        step: &EtcdStep,
        now: Timestamp,
    ) -> Self {
        let cluster = &*observed.cluster;
        let bootstrapped = cluster.status.cluster_id.is_some();
        let size =
            if members.list_known { members.own().count() } else { usize::try_from(cluster.status.size).unwrap_or(0) };
        let fails = |member: &&MemberView<'_>| {
            !member.is_learner() && !member.is_healthy() && !defragmentation::is_running(observed, &member.name)
        };
        let unhealthy = members.listed().find(fails);
        let restoring = restore::under_way(cluster).is_some();
        let hibernating = hibernation::state(observed, desired.durable).is_some();
        let resuming = hibernation::resumes(observed, members, desired.durable, now);
        let repair = match step {
            _ if restoring => Some("the cluster begins again from a snapshot".to_owned()),
            _ if hibernating || resuming => None,
            _ if !bootstrapped => None,
            _ if observed.etcd.auth_required || effective_tls::only_operator_is_rejected(observed) => None,
            _ if is_restarting(observed, members, desired) => None,
            _ if !members.list_known => Some(match recovery::under_way(cluster) {
                Some(recovery) => format!("continuing with member {}", recovery.from),
                None => "waiting for quorum".to_owned(),
            }),
            EtcdStep::Remove { name, replaced_because: Some(why), .. } => {
                Some(format!("replacing member {name}: {why}"))
            }
            _ => unhealthy.map(waiting_message),
        };
        let current = cluster.status.current_version.as_deref();
        let upgrading = bootstrapped && current.is_some_and(|current| current != desired.version.to_string());
        let lost = quorum::is_lost(cluster, now);
        let (summary, reason, mut message) = summarize(observed, members, desired, step, lost, resuming);
        if hibernation::is_wanted(cluster, desired.durable) && !hibernating && !bootstrapped {
            message = format!("{message}; {}", hibernation::COMES_LATER);
        }
        if let Some(why) = why_leader_not_transferred(observed, members, step) {
            message = format!("{message}; {why}");
        }
        Self {
            summary,
            reason,
            message,
            answers: members.all.iter().any(|member| member.endpoint.is_some()),
            quorum: has_quorum(observed),
            lost,
            bootstrapped,
            members: size,
            repair,
            scaling: is_scaling(observed, members, desired, size),
            upgrading,
            alarm: alarm(observed).map(|(_, alarm)| alarm),
            auth_required: observed.etcd.auth_required,
            operator_rejected: effective_tls::only_operator_is_rejected(observed),
            restarting: is_restarting(observed, members, desired),
            restoring,
            hibernating,
            resuming,
            terminating: members
                .all
                .iter()
                .any(|member| space::has_terminating_volume(member) || hibernation::cannot_resume(observed, member)),
            warning: warnings::worst(observed, members),
        }
    }
}

/// Whether the cluster has quorum, or why not: one that is not taken over yet is another one.
fn has_quorum(observed: &Observed) -> Result<(), String> {
    let cluster = &observed.cluster;
    if cluster.spec.takeover.is_some() && cluster.status.cluster_id.is_none() {
        return Err("the cluster of spec.takeover is not taken over yet".to_owned());
    }
    observed.etcd.members.as_ref().map(drop).map_err(Clone::clone)
}

/// Whether etcd's list does not have the desired length. Without quorum, the last known list counts. None if the number is
/// unknown.
fn is_scaling(observed: &Observed, members: &MemberSet<'_>, desired: &Desired, size: usize) -> Option<bool> {
    let bootstrapped = observed.cluster.status.cluster_id.is_some();
    let own_voters = members.own_voters().count();
    let known = !bootstrapped || members.list_known || size > 0;
    let differs = size != desired.size || members.list_known && own_voters != desired.size;
    known.then_some(bootstrapped && differs)
}
