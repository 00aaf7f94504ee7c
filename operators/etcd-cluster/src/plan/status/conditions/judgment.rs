//! Pure: whether all is as asked, and if not, why.

use api::etcd_cluster::{EtcdClusterReason, MemberStatus};
use api::{PodReason, Reason, ReconcileReason};
use runtime::status::conditions::Summary;

use crate::plan::membership::outdated::is_outdated;
use crate::plan::membership::{Step, Wait};
use crate::plan::roster::Roster;
use crate::plan::space::is_full;
use crate::plan::status::members::serves;
use crate::plan::status::words::{alarm, alarmed, doing};
use crate::plan::wish::Wish;
use crate::plan::{Observed, proven, quorum, unlabeled};

/// The summary: whether all is as asked, and if not, why.
pub(super) fn judge(
    observed: &Observed,
    roster: &Roster<'_>,
    wish: &Wish,
    step: &Step,
    lost: bool,
) -> (Summary, Reason, String) {
    let judged = judge_members(observed, roster, wish, step, lost);
    let refusal = wish.refusal.clone().or_else(|| unlabeled::foreign_pods(observed));
    let refusal = refusal.map(|(reason, why)| (Reason::from(reason), why)).or_else(|| unreadable(observed));
    match (refusal, judged) {
        (Some((reason, why)), (Summary::Ready, ..)) => (Summary::Stalled, reason, why),
        // What befalls the members meanwhile is told too.
        (Some((reason, why)), (_, also, message)) if also != reason => {
            (Summary::Stalled, reason, format!("{why}; besides, {message}"))
        }
        (_, judged) => judged,
    }
}

/// A child next to the members that does not decode, so that the operator cannot keep it as it should be. The members need neither.
fn unreadable(observed: &Observed) -> Option<(Reason, String)> {
    let clients = observed.clients.obstacle("client Service");
    let obstacles = clients.into_iter().chain(observed.budget.obstacle("PodDisruptionBudget"));
    let mut unreadable = obstacles.filter(|(reason, _)| *reason == ReconcileReason::Unreadable);
    unreadable.next().map(|(reason, why)| (reason.into(), why))
}

/// The same, but for what of the spec cannot be had.
fn judge_members(
    observed: &Observed,
    roster: &Roster<'_>,
    wish: &Wish,
    step: &Step,
    lost: bool,
) -> (Summary, Reason, String) {
    let ready = roster.voters().filter(|node| serves(node)).count();
    let count = format!("{ready} of {} members are ready", wish.size);
    let full: Vec<&str> = roster.nodes.iter().filter(|node| is_full(node)).map(|node| node.name.as_str()).collect();
    if !full.is_empty() {
        let message = format!(
            "{count}; no space is left on the volumes of {}, so etcd ends there: raise spec.storage.size, where the \
             StorageClass lets volumes grow; members start again by themselves once there is room",
            full.join(", ")
        );
        return (Summary::Stalled, EtcdClusterReason::VolumeFull.into(), message);
    }
    if let Step::Stuck(reason, message) = step {
        return (Summary::Stalled, reason.clone(), message.clone());
    }
    if let Some((id, alarm)) = alarm(observed) {
        let told = alarmed(observed, roster, id, alarm);
        return match step {
            // What does not go on because of it.
            Step::Wait(Wait { reason, message, .. }) if *reason == alarm.reason() => {
                (Summary::Stalled, reason.clone(), format!("{told}; {message}"))
            }
            _ => (Summary::Stalled, alarm.reason().into(), told),
        };
    }
    match step {
        Step::Rest if observed.cluster.status.storage.is_none() => (
            Summary::Reconciling,
            EtcdClusterReason::Creating.into(),
            "the first member is about to be created".to_owned(),
        ),
        Step::Rest if ready == wish.size && roster.listed && is_left_as_it_is(observed, roster, wish) => (
            Summary::Reconciling,
            EtcdClusterReason::Paused.into(),
            format!("{count}, and not all run what the spec asks for"),
        ),
        Step::Rest if ready == wish.size && roster.listed => (Summary::Ready, EtcdClusterReason::Running.into(), count),
        Step::Rest if !roster.listed => {
            let why = observed.etcd.members.as_ref().err().map_or("", String::as_str);
            (Summary::Reconciling, quorum::reason(lost).into(), quorum::told(lost, &format!("{count}: {why}")))
        }
        Step::Rest => (Summary::Reconciling, EtcdClusterReason::MembersNotReady.into(), count),
        // Nothing of what is asked for is missing meanwhile.
        Step::MoveLeader { asked: true, .. } if ready == wish.size => {
            (Summary::Ready, EtcdClusterReason::Running.into(), count)
        }
        Step::Wait(Wait { reason, message, .. })
            if *reason == EtcdClusterReason::QuorumLost && is_restarting(observed, roster, wish) =>
        {
            (
                Summary::Reconciling,
                EtcdClusterReason::RestartingMember.into(),
                format!("{count}; restarting as the spec asks: {message}"),
            )
        }
        Step::Wait(Wait { reason, message, .. }) => {
            let summary = if needs_person(roster) { Summary::Stalled } else { Summary::Reconciling };
            let message = format!("{count}; {message}");
            if *reason == EtcdClusterReason::QuorumLost {
                (summary, quorum::reason(lost).into(), quorum::told(lost, &message))
            } else {
                (summary, reason.clone(), message)
            }
        }
        step => {
            let (reason, doing) = doing(&observed.cluster, roster, step, wish);
            (Summary::Reconciling, reason.into(), format!("{count}; {doing}"))
        }
    }
}

/// Whether members are to get other pods once the cluster is paused no longer.
fn is_left_as_it_is(observed: &Observed, roster: &Roster<'_>, wish: &Wish) -> bool {
    observed.cluster.spec.paused && roster.voters().any(|node| is_outdated(node, wish))
}

/// Whether what keeps a member's pod from starting will not go away by itself: an image that is not there, for example.
/// Crashes may: members are started again, and replaced.
fn needs_person(roster: &Roster<'_>) -> bool {
    let troubles = roster.nodes.iter().filter(|node| node.running().is_some() && !node.is_healthy());
    let crashes = [PodReason::CrashLoopBackOff, PodReason::RunContainerError];
    troubles
        .filter_map(|node| node.pod?.diagnosis.as_ref())
        .any(|trouble| trouble.permanent && !trouble.reason.is_one_of(&crashes))
}

/// Whether there is no quorum for no other reason than that members are being restarted as the spec asks.
pub(super) fn is_restarting(observed: &Observed, roster: &Roster<'_>, wish: &Wish) -> bool {
    let node = |status: &MemberStatus| roster.nodes.iter().find(|node| node.name == status.name);
    let listed = observed.cluster.status.listed();
    let mut silent = listed.filter(|status| node(status).is_none_or(|node| node.endpoint.is_none())).peekable();
    let planned = |status: &MemberStatus| {
        node(status).is_some_and(|node| proven::is_being_renewed(&observed.cluster, node, wish))
    };
    !roster.listed && silent.peek().is_some() && silent.all(planned)
}
