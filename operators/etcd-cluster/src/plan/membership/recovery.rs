//! Pure: the steps of a recovery from a lost quorum, which the status records from the first one on.
//!
//! The operator stops all members but one, and waits until their pods are gone, so that they can never form a cluster of their own. The
//! one that is left then starts as the only member of the cluster (`agent etcd-recover`), and the cluster grows back from it.

use api::etcd_cluster::{EtcdClusterReason, EtcdRecoveryStatus};
use jiff::Timestamp;

use super::failure::waiting_message;
use super::from_backup::{self, FromBackup};
use super::repair::data_lost;
use super::restart::restart;
use super::step::{EtcdStep, Wait};
use super::survivor::{self, Choice};
use super::{terminating, without_quorum};
use crate::plan::desired::Desired;
use crate::plan::member_set::{MemberSet, MemberView};
use crate::plan::objects::{self, InitialState};
use crate::plan::{Observed, recovery, takeover};

/// The next step without quorum.
pub(super) fn step(observed: &Observed, members: &MemberSet<'_>, desired: &Desired, now: Timestamp) -> EtcdStep {
    if let Some(recovery) = recovery::under_way(&observed.cluster) {
        return proceed(observed, members, desired, recovery);
    }
    // Of a recovery that was canceled: with its data back, the member would continue alone all the same.
    let alone = |member: &&MemberView<'_>| member.has_recovering_pod() && !member.is_terminating();
    if let Some(member) = members.all.iter().find(alone) {
        return EtcdStep::DeletePod { name: member.name.clone() };
    }
    if takeover::is_under_way(&observed.cluster) {
        // Its earlier members hold the same data, and are not the operator's to restart or to give up.
        return without_quorum::step(observed, members, desired, now);
    }
    let explain = |why: &str| match without_quorum::step(observed, members, desired, now) {
        EtcdStep::Stuck(reason, message) => EtcdStep::Stuck(reason, format!("{message}; {why}")),
        EtcdStep::Wait(wait) => EtcdStep::Wait(Wait { message: format!("{}; {why}", wait.message), ..wait }),
        step => step,
    };
    match from_backup::choose(observed, members, desired, now) {
        Some(FromBackup::Begin { backup, entry }) => return EtcdStep::RequestRestore { backup, entry },
        Some(FromBackup::Explain(why)) => return explain(&why),
        None => {}
    }
    match survivor::choose(observed, members, desired, now) {
        Choice::GoOnWith { from, without } => EtcdStep::BeginRecovery { from, without },
        Choice::Refused(why) => explain(&why),
        Choice::None => match survivor::hint(observed, members, desired, now) {
            Some(hint) => explain(&hint),
            None => without_quorum::step(observed, members, desired, now),
        },
    }
}

fn proceed(observed: &Observed, members: &MemberSet<'_>, desired: &Desired, recovery: &EtcdRecoveryStatus) -> EtcdStep {
    let from = &recovery.from;
    let has_data = |member: &&MemberView<'_>| member.usable_claim().is_some() && data_lost(members, member).is_none();
    let Some(member) = members.get(from).filter(has_data) else { return EtcdStep::CancelRecovery };
    if !member.has_recovering_pod() && !survivor::is_wanted(&observed.cluster) {
        return EtcdStep::CancelRecovery;
    }
    let others = || members.all.iter().filter(|other| other.name != *from);
    if let Some(other) = others().find(|other| needs_fence(other)) {
        return EtcdStep::Fence { name: other.name.clone(), from: from.clone() };
    }
    let what = format!("the cluster continues with member {from} once the pods of the others are deleted");
    if let Some(message) = terminating::message(&what, others().filter_map(|other| other.pod)) {
        return EtcdStep::poll(EtcdClusterReason::Recovering, message);
    }
    match member.pod {
        Some(pod) if pod.meta.deleting => {
            EtcdStep::poll(EtcdClusterReason::Recovering, format!("waiting for pod {from} to be deleted"))
        }
        Some(_) if member.has_recovering_pod() => {
            let message = format!("the cluster continues with member {from} alone: {}", waiting_message(member));
            EtcdStep::poll(EtcdClusterReason::Recovering, message)
        }
        Some(_) => EtcdStep::DeletePod { name: from.clone() },
        None => match restart(observed, members, desired, from) {
            EtcdStep::Start { name, .. } => EtcdStep::Start { name, state: InitialState::Recover },
            wait => wait,
        },
    }
}

/// Whether a member still has to be stopped, or its PVC to be marked, so that its return is not waited for.
fn needs_fence(member: &MemberView<'_>) -> bool {
    member.pod_details().is_some() || member.claim.is_some_and(|claim| !objects::is_retiring(claim))
}
