//! Pure: scales up and down, one member at a time.

use std::sync::Arc;

use api::etcd_cluster::EtcdClusterReason;
use jiff::{SignedDuration, Timestamp};

use super::failure::{failure_message, waiting_message};
use super::outdated::is_outdated;
use super::step::EtcdStep;
use super::surge::{must_be_replaced, needs_surge_member};
use super::{corruption, repair};
use crate::plan::desired::Desired;
use crate::plan::member_set::{MemberSet, MemberView, transfer_target};
use crate::plan::objects::{InitialState, WAIT};
use crate::plan::{Observed, clock};

/// How long a learner may wait before the operator appends an entry for it.
const NUDGE_AFTER: SignedDuration = SignedDuration::from_secs(3);

/// Promotes a learner once it is in sync, which etcd itself judges. Meanwhile the pod of the next member may start.
///
/// A learner that has received a snapshot counts as one that has applied nothing until the next entry: only then does etcd set
/// its applied index (`apply` in `server/etcdserver/server.go`). Before that, if more than 5,000 entries are committed, it
/// proposes nothing, and so neither publishes its name nor votes (`processInternalRaftRequestOnce` in `v3_server.go`; seen with
/// 3.6.16 and 3.7.3). If no client writes, there is never a next entry.
pub(super) fn promote(
    observed: &Observed,
    members: &MemberSet<'_>,
    desired: &Desired,
    now: Timestamp,
) -> Option<EtcdStep> {
    let learner = members.listed().find(|member| member.is_learner())?;
    if let Some(listed) = learner.listed.filter(|_| members.listed().count() > desired.size) {
        // The size was lowered before it voted.
        return Some(EtcdStep::Remove {
            name: learner.name.clone(),
            id: listed.id,
            replaced_because: None,
            keeps_claim: false,
        });
    }
    let Some(listed) = learner.listed.filter(|_| learner.endpoint.is_some()) else {
        // The entry first: the API server may reject the pod of the next member.
        let step = nudge(observed, learner, now).or_else(|| start_next(observed, members, desired));
        return Some(
            step.unwrap_or_else(|| EtcdStep::poll(EtcdClusterReason::MemberJoining, waiting_message(learner))),
        );
    };
    if !learner.has_started() || learner.endpoint.is_some_and(|endpoint| endpoint.applied_index == 0) {
        return Some(nudge(observed, learner, now).unwrap_or_else(|| promotion(learner, listed.id)));
    }
    Some(promotion(learner, listed.id))
}

fn promotion(learner: &MemberView<'_>, id: u64) -> EtcdStep {
    EtcdStep::Promote { name: learner.name.clone(), id }
}

/// Appends an entry for a learner that runs and has waited for a while.
fn nudge(observed: &Observed, learner: &MemberView<'_>, now: Timestamp) -> Option<EtcdStep> {
    let status = observed.cluster.status.member(&learner.name)?;
    let waits = clock::elapsed(status.since?, now) >= NUDGE_AFTER;
    (waits && learner.runs_etcd()).then(|| EtcdStep::Nudge { name: learner.name.clone() })
}

/// Removes a failing member first if there are more members than desired.
pub(super) fn remove_failing(observed: &Observed, members: &MemberSet<'_>, desired: &Desired) -> Option<EtcdStep> {
    // With a foreign member in the list there is no scaling: a managed member may only be restarting.
    let foreign = members.listed().any(|member| !repair::is_managed(observed, member));
    if foreign || members.listed().count() <= desired.size {
        return None;
    }
    // The surge member replaces another one; before 3.4 it votes before it has started.
    if members.listed().count() == desired.size + 1 && needs_surge_member(observed, members, desired) {
        return None;
    }
    let failing = members.voters().find(|member| {
        member.endpoint.is_none()
            && members.keeps_quorum_without(member)
            && corruption::may_remove(observed, members, member)
    })?;
    Some(EtcdStep::Remove {
        name: failing.name.clone(),
        id: failing.listed?.id,
        replaced_because: None,
        keeps_claim: false,
    })
}

/// Scales up or down while all members are healthy.
pub(super) fn step(observed: &Observed, members: &MemberSet<'_>, desired: &Desired) -> Option<EtcdStep> {
    match members.listed().count().cmp(&desired.size) {
        std::cmp::Ordering::Equal => pending(members).map(|member| EtcdStep::DeletePod { name: member.name.clone() }),
        std::cmp::Ordering::Less => Some(
            corruption::transfer_leadership(observed, members).unwrap_or_else(|| scale_up(observed, members, desired)),
        ),
        std::cmp::Ordering::Greater => Some(scale_down(observed, members, desired)),
    }
}

/// The member whose pod waits for it to be listed.
fn pending<'r, 'a>(members: &'r MemberSet<'a>) -> Option<&'r MemberView<'a>> {
    members.all.iter().find(|member| member.listed.is_none() && member.pod_details().is_some())
}

fn scale_up(observed: &Observed, members: &MemberSet<'_>, desired: &Desired) -> EtcdStep {
    let desired = &desired.for_new_member(members);
    let Some(member) = pending(members) else {
        // Before it has a PVC: otherwise each rejected pod would leave a volume.
        let refused = observed
            .pod_rejected
            .as_deref()
            .map(|why| EtcdStep::stuck(EtcdClusterReason::PodRefused, rejected_message(why)));
        let unusable = observed.tls.unusable.clone().map(|(reason, why)| EtcdStep::stuck(reason, why));
        return unusable
            .or(refused)
            .unwrap_or_else(|| EtcdStep::Start { name: next_name(observed, members), state: InitialState::Existing });
    };
    if is_outdated(member, desired) || member.has_unusable_claim() {
        return EtcdStep::DeletePod { name: member.name.clone() };
    }
    if is_ready_to_join(observed, member) {
        return EtcdStep::Add {
            name: member.name.clone(),
            learner: desired.version.has_learners() && support_learners(members),
        };
    }
    let step = if failure_message(member).is_some() { EtcdStep::wait } else { EtcdStep::poll };
    step(EtcdClusterReason::MemberJoining, waiting_message(member))
}

fn rejected_message(why: &str) -> String {
    format!("no member is added: the API server rejects the pod of the next member: {why}")
}

/// Creates the pod of the member after the joining one, so that it starts meanwhile. It is not listed before the joining one
/// votes.
fn start_next(observed: &Observed, members: &MemberSet<'_>, desired: &Desired) -> Option<EtcdStep> {
    let healthy = members.voters().all(MemberView::is_healthy);
    let accepted = observed.pod_rejected.is_none() && observed.tls.unusable.is_none();
    (is_next_to_start(members, desired) && healthy && accepted)
        .then(|| EtcdStep::Start { name: next_name(observed, members), state: InitialState::Existing })
}

/// Whether another member is desired, and has no pod yet.
pub(super) fn is_next_to_start(members: &MemberSet<'_>, desired: &Desired) -> bool {
    members.listed().count() < desired.size && pending(members).is_none()
}

/// The name of the next member: that of a PVC, if the manager created it and restarted before it created the pod.
fn next_name(observed: &Observed, members: &MemberSet<'_>) -> Arc<str> {
    let prepared =
        members.all.iter().find(|member| member.listed.is_none() && member.pod.is_none() && member.has_unused_claim());
    prepared.map_or_else(|| observed.new_member_name.clone(), |member| member.name.as_str().into())
}

/// Whether all voters support learners.
fn support_learners(members: &MemberSet<'_>) -> bool {
    members.voters().filter_map(MemberView::version).all(|version| version.has_learners())
}

/// Whether cluster DNS publishes the pod, and its init step runs. The other members resolve the name as soon as it is listed, and
/// resolvers cache for seconds that there was none.
fn is_ready_to_join(observed: &Observed, member: &MemberView<'_>) -> bool {
    let address = member.pod_details().and_then(|details| details.ip.as_deref());
    let published = address.is_some_and(|ip| observed.dns_addresses.iter().any(|published| &**published == ip));
    published && member.container(WAIT).is_some_and(|container| container.running)
}

/// Removes a follower: first one whose data is corrupt, then one that would have to be replaced anyway, or else the last by name.
fn scale_down(observed: &Observed, members: &MemberSet<'_>, desired: &Desired) -> EtcdStep {
    if let Some(member) = pending(members) {
        return EtcdStep::DeletePod { name: member.name.clone() };
    }
    let Some(leader) = members.leader() else {
        return EtcdStep::poll(EtcdClusterReason::NoLeader, "waiting for the members to elect a leader");
    };
    let may = |member: &MemberView<'_>| !member.earlier && corruption::may_remove(observed, members, member);
    let followers = || members.listed().filter(|member| member.name != leader.name && may(member));
    let is_corrupt = |member: &MemberView<'_>| corruption::is_named(observed, member);
    let goes = |member: &MemberView<'_>| may(member) && (is_corrupt(member) || must_be_replaced(member, desired));
    if goes(leader)
        && let Some(target) = transfer_target(members, leader, |member| !goes(member))
    {
        return EtcdStep::MoveLeader { to: target.name.clone(), requested: false };
    }
    let victim = followers()
        .find(|member| is_corrupt(member))
        .or_else(|| followers().find(|member| goes(member)))
        // If it cannot transfer leadership, the others elect a leader.
        .or_else(|| Some(leader).filter(|leader| goes(leader) && !leader.can_transfer_leadership()))
        .or_else(|| followers().find(|member| is_outdated(member, desired)))
        .or_else(|| followers().last());
    if victim.is_none() && corruption::is_on(observed) {
        return corruption::wait();
    }
    match victim.and_then(|victim| Some((victim, victim.listed?))) {
        Some((victim, listed)) if members.keeps_quorum_without(victim) => {
            EtcdStep::Remove { name: victim.name.clone(), id: listed.id, replaced_because: None, keeps_claim: false }
        }
        _ => {
            EtcdStep::poll(EtcdClusterReason::MemberUnhealthy, "waiting until enough members are healthy to remove one")
        }
    }
}
