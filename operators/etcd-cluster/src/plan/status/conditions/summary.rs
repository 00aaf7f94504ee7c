//! Pure: the summary: whether the cluster is Ready, Reconciling or Stalled, and why.

use api::etcd_cluster::{EtcdClusterReason, MemberStatus};
use api::{PodReason, Reason, ReconcileReason};
use runtime::status::conditions::Summary;

use crate::plan::desired::Desired;
use crate::plan::hibernation::{self, HIBERNATES, Hibernation};
use crate::plan::member_set::MemberSet;
use crate::plan::membership::outdated::is_outdated;
use crate::plan::membership::{EtcdStep, Wait};
use crate::plan::space::is_full;
use crate::plan::status::members::serves;
use crate::plan::status::messages::{alarm, alarm_message, step_message};
use crate::plan::{Observed, known_good, quorum, unlabeled};

/// The summary, with its reason and message.
pub(super) fn summarize(
    observed: &Observed,
    members: &MemberSet<'_>,
    desired: &Desired,
    step: &EtcdStep,
    lost: bool,
    resuming: bool,
) -> (Summary, Reason, String) {
    let summary = summarize_members(observed, members, desired, step, lost, resuming);
    let refusal = desired.refusal.clone().or_else(|| unlabeled::foreign_pods(observed));
    let refusal = refusal.map(|(reason, why)| (Reason::from(reason), why)).or_else(|| unreadable(observed));
    match (refusal, summary) {
        (Some((reason, why)), (Summary::Ready, ..)) => (Summary::Stalled, reason, why),
        // Problems of members are reported as well, once there are any.
        (Some((reason, why)), _) if members.all.is_empty() => (Summary::Stalled, reason, why),
        (Some((reason, why)), (_, also, message)) if also != reason => {
            (Summary::Stalled, reason, format!("{why}; in addition, {message}"))
        }
        (_, summary) => summary,
    }
}

/// The Service of clients or the PodDisruptionBudget, if it does not decode. Members need neither, but the operator cannot
/// reconcile it.
fn unreadable(observed: &Observed) -> Option<(Reason, String)> {
    let clients = observed.clients.blocking_reason("client Service");
    let obstacles = clients.into_iter().chain(observed.budget.blocking_reason("PodDisruptionBudget"));
    let mut unreadable = obstacles.filter(|(reason, _)| *reason == ReconcileReason::Unreadable);
    unreadable.next().map(|(reason, why)| (reason.into(), why))
}

/// The summary without what the operator rejects in the spec.
fn summarize_members(
    observed: &Observed,
    members: &MemberSet<'_>,
    desired: &Desired,
    step: &EtcdStep,
    lost: bool,
    resuming: bool,
) -> (Summary, Reason, String) {
    let ready = members.own_voters().filter(|member| serves(member)).count();
    let mut count = format!("{ready} of {} members are ready", desired.size);
    let earlier: Vec<&str> = members.earlier().map(|member| member.name.as_str()).collect();
    if !earlier.is_empty() && observed.cluster.status.cluster_id.is_some() {
        count = format!("{count}, beside the earlier members {}", earlier.join(", "));
    }
    let full: Vec<&str> =
        members.all.iter().filter(|member| is_full(member)).map(|member| member.name.as_str()).collect();
    if !full.is_empty() {
        let message = format!(
            "{count}; the volumes of {} are full, so etcd exits there: raise spec.storage.size, if the StorageClass allows \
             expansion; members restart as soon as there is space",
            full.join(", ")
        );
        return (Summary::Stalled, EtcdClusterReason::VolumeFull.into(), message);
    }
    if let EtcdStep::Stuck(reason, message) = step {
        return (Summary::Stalled, reason.clone(), message.clone());
    }
    if hibernation::state(observed, desired.durable) == Some(Hibernation::Stopped) {
        return (Summary::Ready, EtcdClusterReason::Hibernated.into(), HIBERNATES.to_owned());
    }
    if let Some((id, alarm)) = alarm(observed) {
        let message = alarm_message(observed, members, id, alarm);
        return match step {
            // Room is being made.
            EtcdStep::Compact { .. } | EtcdStep::Defragment { .. } | EtcdStep::Disarm { .. } => {
                (Summary::Reconciling, alarm.reason().into(), format!("{count}; {message}"))
            }
            EtcdStep::Wait(Wait { reason, message: waiting, .. }) if *reason == EtcdClusterReason::NoSpace => {
                (Summary::Reconciling, reason.clone(), format!("{count}; {message}; {waiting}"))
            }
            // A step that waits because of the alarm.
            EtcdStep::Wait(Wait { reason, message: waiting, .. }) if *reason == alarm.reason() => {
                (Summary::Stalled, reason.clone(), format!("{message}; {waiting}"))
            }
            _ => (Summary::Stalled, alarm.reason().into(), message),
        };
    }
    match step {
        EtcdStep::Rest if observed.cluster.status.storage.is_none() => (
            Summary::Reconciling,
            EtcdClusterReason::Creating.into(),
            "the first member is about to be created".to_owned(),
        ),
        EtcdStep::Rest
            if ready == desired.size && members.list_known && has_paused_changes(observed, members, desired) =>
        {
            (
                Summary::Reconciling,
                EtcdClusterReason::Paused.into(),
                format!("{count}, and not all run the current spec"),
            )
        }
        EtcdStep::Rest if ready == desired.size && members.list_known => {
            (Summary::Ready, EtcdClusterReason::Running.into(), count)
        }
        EtcdStep::Rest if !members.list_known => {
            let why = observed.etcd.members.as_ref().err().map_or("", String::as_str);
            let (reason, message) = without_quorum(lost, resuming, format!("{count}: {why}"));
            (Summary::Reconciling, reason, message)
        }
        EtcdStep::Rest => (Summary::Reconciling, EtcdClusterReason::MembersNotReady.into(), count),
        // The cluster serves as desired during the transfer.
        EtcdStep::MoveLeader { requested: true, .. } if ready == desired.size => {
            (Summary::Ready, EtcdClusterReason::Running.into(), count)
        }
        EtcdStep::Wait(Wait { reason, message, .. })
            if *reason == EtcdClusterReason::QuorumLost && is_restarting(observed, members, desired) =>
        {
            (
                Summary::Reconciling,
                EtcdClusterReason::RestartingMember.into(),
                format!("{count}; restarting members with the current spec: {message}"),
            )
        }
        EtcdStep::Wait(Wait { reason, message, .. }) => {
            let summary = if needs_attention(members) { Summary::Stalled } else { Summary::Reconciling };
            let message = format!("{count}; {message}");
            if *reason == EtcdClusterReason::QuorumLost {
                let (reason, message) = without_quorum(lost, resuming, message);
                (summary, reason, message)
            } else {
                (summary, reason.clone(), message)
            }
        }
        step => {
            let (reason, message) = step_message(&observed.cluster, members, step, desired);
            (Summary::Reconciling, reason.into(), format!("{count}; {message}"))
        }
    }
}

/// The reason and message while there is no quorum.
fn without_quorum(lost: bool, resuming: bool, message: String) -> (Reason, String) {
    if resuming {
        return (EtcdClusterReason::Resuming.into(), format!("{message}; the members start again after hibernation"));
    }
    (quorum::reason(lost).into(), quorum::message(lost, &message))
}

/// Whether members get other pods as soon as the cluster is no longer paused.
fn has_paused_changes(observed: &Observed, members: &MemberSet<'_>, desired: &Desired) -> bool {
    observed.cluster.spec.paused && members.voters().any(|member| is_outdated(member, desired))
}

/// Whether a member's pod does not start for a reason that needs attention, such as a missing image. Crashes do not: members
/// restart, or are replaced.
fn needs_attention(members: &MemberSet<'_>) -> bool {
    let failing = members.all.iter().filter(|member| member.pod_details().is_some() && !member.is_healthy());
    let crashes = [PodReason::CrashLoopBackOff, PodReason::RunContainerError];
    failing
        .filter_map(|member| member.pod?.diagnosis.as_ref())
        .any(|diagnosis| diagnosis.permanent && !diagnosis.reason.is_one_of(&crashes))
}

/// Whether the only reason for the missing quorum is that members restart with the current spec.
pub(super) fn is_restarting(observed: &Observed, members: &MemberSet<'_>, desired: &Desired) -> bool {
    let member = |status: &MemberStatus| members.all.iter().find(|member| member.name == status.name);
    let listed = observed.cluster.status.listed();
    let mut missing = listed.filter(|status| member(status).is_none_or(|member| member.endpoint.is_none())).peekable();
    let planned = |status: &MemberStatus| {
        member(status).is_some_and(|member| known_good::is_being_updated(&observed.cluster, member, desired))
    };
    !members.list_known && missing.peek().is_some() && missing.all(planned)
}
