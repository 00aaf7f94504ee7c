//! Pure: repair with quorum: members restart on their volumes. The operator replaces a member that has lost its data as long as
//! the others have quorum.

use agent_protocol::FailureReason;
use api::ReconcileReason;
use api::etcd_cluster::EtcdClusterReason;
use jiff::{SignedDuration, Timestamp};

use super::failure::{agent_failure, termination_text, waiting_message};
use super::lost_node;
use super::outdated::same_template;
use super::recreation;
use super::replacement::{replace, replace_without_volume};
use super::restart::restart;
use super::step::EtcdStep;
use super::takeover;
use super::unreachable::{self, UNREACHABLE_AFTER};
use crate::plan::desired::Desired;
use crate::plan::member_set::{MemberSet, MemberView, is_joining_or_learner};
use crate::plan::objects::{ETCD, WAIT};
use crate::plan::{Observed, hold, names, space};

/// How long a joining member may make no progress, or not start at all, before it is replaced, unless the leader is sending it a
/// snapshot.
const CATCH_UP_TIMEOUT: SignedDuration = SignedDuration::from_mins(10);
/// How often a member may crash for no known reason, soon after each start and while all others are healthy, before its data
/// counts as corrupt.
const CRASH_LIMIT: i32 = 3;
/// The exit codes of a fatal error and a panic of etcd. It ends with others when it is killed.
const ETCD_EXIT_CODES: [i32; 2] = [1, 2];
/// Why a member without a pod does not restart, though its data exists.
pub(super) const HELD_CLAIM_TERMINATING: &str =
    "its PVC is terminating, and no new pod can use it; a finalizer of this operator keeps the volume";

/// Parts of etcd's panics and fatal errors, from 3.3 to 3.7, when it cannot read its data, or the data is that of a removed
/// member.
const CORRUPTION_MESSAGES: [&str; 15] = [
    "cannot use none as id",
    "crc mismatch",
    "failed to read WAL",
    "failed reading WAL",
    "failed to open WAL",
    "error listing snapshots",
    "no available snapshot",
    "failed to recover v3 backend from snapshot",
    "snapshot file doesn't exist",
    "file checksum mismatch",
    "invalid database",
    "database file isn't correct file",
    "freepages: failed to get all reachable pages",
    "is out of range [lastIndex",
    "has been permanently removed from the cluster",
];

/// The step that repairs a member, if one needs it. With quorum.
pub(super) fn step(
    observed: &Observed,
    members: &MemberSet<'_>,
    desired: &Desired,
    now: Timestamp,
) -> Option<EtcdStep> {
    let mut waiting = None;
    for member in members.listed() {
        if member.earlier {
            waiting = waiting.or_else(|| takeover::wait_for(observed, members, desired, member));
            continue;
        }
        let step = lost_node::step(observed, members, member, now)
            .or_else(|| without_pod(observed, members, desired, member, now))
            .or_else(|| with_pod(observed, members, desired, member, now));
        match step {
            Some(step @ (EtcdStep::Wait(_) | EtcdStep::Stuck(..))) => waiting = waiting.or(Some(step)),
            Some(step) => return Some(step),
            None => {}
        }
    }
    waiting
}

/// Repairs a listed member without a pod.
fn without_pod(
    observed: &Observed,
    members: &MemberSet<'_>,
    desired: &Desired,
    member: &MemberView<'_>,
    now: Timestamp,
) -> Option<EtcdStep> {
    let replace = |why: String| Some(replace_stopped(observed, members, member, why, now));
    if let Some(pod) = member.pod {
        let message = format!("waiting for pod {} to be deleted", pod.meta.key.name);
        return pod.meta.deleting.then(|| EtcdStep::wait(ReconcileReason::WaitingForDeletion, message));
    }
    if !is_managed(observed, member) {
        return Some(EtcdStep::stuck(
            EtcdClusterReason::ForeignMember,
            format!("member {} was not added by this operator; remove it with etcdctl member remove", member.name),
        ));
    }
    if !member.has_started() {
        return replace("it was added and never started".to_owned());
    }
    match member.claim {
        Some(_) if hold::is_held_and_terminating(member) => replace(HELD_CLAIM_TERMINATING.to_owned()),
        Some(claim) if claim.meta.deleting => Some(EtcdStep::wait(
            ReconcileReason::WaitingForDeletion,
            format!("waiting for PVC {} to be deleted", member.name),
        )),
        Some(claim) if !claim.lost => Some(restart(observed, members, desired, &member.name)),
        Some(_) => replace("its volume is lost".to_owned()),
        None if desired.durable => replace("its PVC is deleted".to_owned()),
        None => replace("its pod is deleted, and its data with it".to_owned()),
    }
}

/// Whether the operator may have added a listed member.
pub(super) fn is_managed(observed: &Observed, member: &MemberView<'_>) -> bool {
    let urls = member.listed.map_or(&[][..], |listed| &listed.peer_urls);
    names::is_own(&observed.cluster, &member.name, urls)
}

/// Whether a listed member belongs to a cluster of another namespace.
pub(super) fn is_elsewhere(observed: &Observed, member: &MemberView<'_>) -> bool {
    let urls = member.listed.map_or(&[][..], |listed| &listed.peer_urls);
    urls.iter().any(|url| names::is_in_other_namespace(&observed.cluster, url))
}

/// Repairs a listed member with a pod.
fn with_pod(
    observed: &Observed,
    members: &MemberSet<'_>,
    desired: &Desired,
    member: &MemberView<'_>,
    now: Timestamp,
) -> Option<EtcdStep> {
    if let Some(why) = data_lost(members, member) {
        return Some(replace_stopped(observed, members, member, why, now));
    }
    if member.is_healthy() {
        return None;
    }
    if member.has_unusable_claim() && member.is_down() {
        return Some(replace_without_volume(members, member));
    }
    // A pod that does not work may be recreated without loss.
    let repaired = recreation::failing(members, desired, member, false);
    let repaired = repaired.or_else(|| recreation::isolated(observed, members, desired, member, false, now));
    if let Some(step) = repaired.or_else(|| recreation::hung(observed, members, desired, member, now)) {
        return Some(step);
    }
    let receives_snapshot = member.listed.is_some_and(|listed| observed.receiving_snapshot.contains(&listed.id));
    if is_catch_up_overdue(observed, member, now) && !receives_snapshot {
        let why = format!("it has made no progress for {} minutes", CATCH_UP_TIMEOUT.as_mins());
        return Some(replace(members, member, why));
    }
    // Promotion waits for a learner.
    (!member.is_learner()).then(|| EtcdStep::poll(EtcdClusterReason::MemberUnhealthy, waiting_message(member)))
}

/// Whether a joining member has made no progress for long, as far as it reports any; counted from when the status first had its
/// id, since before that it waited to be listed.
pub(in crate::plan) fn is_catch_up_overdue(observed: &Observed, member: &MemberView<'_>, now: Timestamp) -> bool {
    let joining = observed
        .cluster
        .status
        .member(&member.name)
        .filter(|status| status.id.is_some() && is_joining_or_learner(status));
    // Not clock::elapsed: a clock that is ahead must not make a member replaceable at once.
    let overdue =
        joining.and_then(|status| status.since).is_some_and(|since| now.duration_since(since) > CATCH_UP_TIMEOUT);
    overdue && member.listed.is_some() && (member.is_learner() || !member.has_started())
}

/// Why a member's data counts as lost, if it does.
pub(super) fn data_lost(members: &MemberSet<'_>, member: &MemberView<'_>) -> Option<String> {
    member.pod_details()?;
    if member.endpoint.is_some() {
        return None;
    }
    for name in [WAIT, ETCD] {
        let Some(container) = member.container(name) else { continue };
        let Some(ended) = container.terminated.as_ref().filter(|ended| !container.running && ended.code != 0) else {
            continue;
        };
        if let Some(result) = agent_failure(&ended.message).filter(|result| result.reason == FailureReason::DataMissing)
        {
            return Some(result.message);
        }
        if ended.message.contains(space::FULL) {
            return None;
        }
        if container.restarts > 0 && CORRUPTION_MESSAGES.iter().any(|sign| ended.message.contains(sign)) {
            return Some(format!("its data cannot be used: {}", termination_text(&ended.message).unwrap_or_default()));
        }
        let others_healthy = members.others(member).all(MemberView::is_healthy);
        let has_same_pod = |other: &MemberView<'_>| other.is_healthy() && same_template(other, member);
        let crashed = ETCD_EXIT_CODES.contains(&ended.code);
        let crashes = container.restarts - member.restarts_before();
        let again_and_again = container.in_backoff && crashes >= CRASH_LIMIT;
        if name == ETCD && crashed && again_and_again && others_healthy && members.voters().any(has_same_pod) {
            return Some(format!(
                "it keeps crashing, {crashes} times so far, and other members with the same pod template are healthy"
            ));
        }
    }
    None
}

/// Replaces a member whose etcd does not run. The manager need not reach all members that hold quorum without it.
fn replace_stopped(
    observed: &Observed,
    members: &MemberSet<'_>,
    member: &MemberView<'_>,
    why: String,
    now: Timestamp,
) -> EtcdStep {
    let step = replace(members, member, why.clone());
    let unreachable = unreachable::hold_quorum_without(members, member).filter(|_| matches!(step, EtcdStep::Stuck(..)));
    let (Some(unreachable), Some(listed)) = (unreachable, member.listed) else { return step };
    if unreachable.iter().all(|other| unreachable::is_unreachable(observed, other, now)) {
        return EtcdStep::Remove {
            name: member.name.clone(),
            id: listed.id,
            replaced_because: Some(why),
            keeps_claim: false,
        };
    }
    let names = unreachable.iter().map(|other| other.name.as_str()).collect::<Vec<_>>().join(", ");
    let message = format!(
        "member {} cannot restart ({why}); the operator replaces it once {names} answers, or has not answered for {} minutes \
         while the kubelet reports it as ready",
        member.name,
        UNREACHABLE_AFTER.as_mins()
    );
    EtcdStep::poll(EtcdClusterReason::MemberUnhealthy, message)
}
