//! Pure: members that their kubelets report as ready and the operator does not reach: a network policy blocks the operator, or
//! etcd hangs behind an open port. The operator cannot tell whether clients reach them.

use api::etcd_cluster::{EtcdClusterReason, MemberRole};
use jiff::{SignedDuration, Timestamp};

use super::step::EtcdStep;
use super::{outdated, rolling_update};
use crate::plan::desired::Desired;
use crate::plan::member_set::{MemberSet, MemberView, only_voter};
use crate::plan::objects::CLIENT_PORT;
use crate::plan::{Observed, clock, image_check, known_good};

/// How long a member with a ready pod does not answer before the operator reports it.
pub(super) const UNREACHABLE_AFTER: SignedDuration = SignedDuration::from_mins(2);

/// Whether a member has been unreachable for long. A member that requires authentication has answered.
pub(super) fn is_unreachable(observed: &Observed, member: &MemberView<'_>, now: Timestamp) -> bool {
    let failed = observed.etcd.endpoints.get(member.name.as_str()).is_some_and(Result::is_err);
    let long = is_silent(observed, member, now) && member.runs_for_long();
    long && failed && member.ready && !observed.etcd.auth_required
}

/// Whether a member has not answered for long, whatever the reason.
fn is_silent(observed: &Observed, member: &MemberView<'_>, now: Timestamp) -> bool {
    silent_since(observed, member).is_some_and(|since| clock::elapsed(since, now) >= UNREACHABLE_AFTER)
}

/// Since when a member has not answered, as the status records it.
pub(super) fn silent_since(observed: &Observed, member: &MemberView<'_>) -> Option<Timestamp> {
    let known = observed.cluster.status.member(&member.name);
    known.filter(|status| status.id.is_some() && status.role == MemberRole::Unreachable)?.since
}

/// Whether a member is the only voter, and unreachable. Its new pod costs no other member's quorum, as any change of its pod
/// does.
pub(super) fn is_only_voter(
    observed: &Observed,
    members: &MemberSet<'_>,
    member: &MemberView<'_>,
    now: Timestamp,
) -> bool {
    let only = !members.list_known && only_voter(&observed.cluster, members) == Some(&member.name);
    only && is_unreachable(observed, member, now)
}

/// Gives such a member a new pod if the spec of pods has changed, even if its present pod is known to have run: the change may be
/// what lets the operator reach it. Another minor version has to wait for it.
pub(super) fn another_pod(
    observed: &Observed,
    members: &MemberSet<'_>,
    desired: &Desired,
    member: &MemberView<'_>,
    now: Timestamp,
) -> Option<EtcdStep> {
    if !known_good::keeps_minor(member, desired) || !outdated::needs_rollout(observed, member, desired) {
        return None;
    }
    // The member may serve clients, so the next pod is checked as in a rolling update.
    if let Some(why) = &observed.pod_rejected {
        return Some(rolling_update::rejected(why));
    }
    let before = image_check::step(observed, members, member, desired, now);
    Some(before.unwrap_or_else(|| EtcdStep::RecreatePod { name: member.name.clone() }))
}

/// The only voter, if it is about to lose its pod for a new one though the operator does not reach it.
pub(in crate::plan) fn next_to_lose_its_pod<'r, 'a>(
    observed: &Observed,
    members: &'r MemberSet<'a>,
    desired: &Desired,
    now: Timestamp,
) -> Option<&'r MemberView<'a>> {
    let rolls = |member: &&MemberView<'_>| {
        outdated::needs_rollout(observed, member, desired) && outdated::is_to_be_recreated(member, desired)
    };
    let loses_pod = |member: &&MemberView<'_>| rolls(member) && is_only_voter(observed, members, member, now);
    members.all.iter().find(|member| loses_pod(member) && known_good::keeps_minor(member, desired))
}

/// Whether the others have quorum while a member restarts, counting members that kubelets report as ready though the manager does
/// not reach them. One of two has no quorum alone: there the other one has to be healthy, so that quorum returns with the member.
pub(super) fn hold_quorum_meanwhile(
    observed: &Observed,
    members: &MemberSet<'_>,
    member: &MemberView<'_>,
    now: Timestamp,
) -> bool {
    let voters = members.voters().count();
    if member.is_learner() || voters <= 2 {
        return members.keeps_quorum_without(member);
    }
    let serves = |other: &&MemberView<'_>| other.stays_healthy() || is_unreachable(observed, other, now);
    members.others(member).filter(serves).count() > voters / 2
}

/// The ready members that do not answer the manager, if they have quorum together with those that do. A linearizable read has
/// just succeeded, and a member whose etcd does not run took no part in it: so enough of the others did, and still do once that
/// member is removed. etcd itself allows the removal of a member that it is not connected to, and otherwise checks the
/// connections to the others (`mayRemoveMember` in `server/etcdserver/server.go`).
pub(super) fn hold_quorum_without<'r, 'a>(
    members: &'r MemberSet<'a>,
    member: &MemberView<'_>,
) -> Option<Vec<&'r MemberView<'a>>> {
    let answering = members.others(member).filter(|other| other.stays_healthy()).count();
    let silent: Vec<_> = members.others(member).filter(|other| other.endpoint_error.is_some() && other.ready).collect();
    let enough = answering + silent.len() > members.others(member).count() / 2;
    let stopped = member.pod.is_none() || member.is_down();
    (members.list_known && stopped && enough).then_some(silent)
}

/// Reports such members if there may be quorum with them, in which case it is not reported as lost. `count` says how many answer.
pub(super) fn step(
    observed: &Observed,
    members: &MemberSet<'_>,
    count: &str,
    needed: usize,
    now: Timestamp,
) -> Option<EtcdStep> {
    let unreached: Vec<&MemberView<'_>> =
        members.all.iter().filter(|member| is_unreachable(observed, member, now)).collect();
    if unreached.is_empty() || unreached.len() < needed {
        return None;
    }
    let names = unreached.iter().map(|member| member.name.as_str()).collect::<Vec<_>>().join(", ");
    let message = format!(
        "{count}: the manager has not reached ready members ({names}) for {} minutes; allow connections from the manager to port \
         {CLIENT_PORT} of the pods (network policies), or, if etcd hangs in one, delete that pod",
        UNREACHABLE_AFTER.as_mins()
    );
    Some(EtcdStep::stuck(EtcdClusterReason::MembersUnreachable, message))
}
