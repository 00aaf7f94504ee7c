//! Pure: replaces members that are lost with their nodes, after the time that the spec sets.
//!
//! The operator does not read nodes. It goes by what a kubelet leaves undone that is gone: it does not stop a pod that is deleted;
//! it does not restart an etcd that runs and is no longer ready, as probes would have it do. And no node takes a new pod for the
//! volume.

use api::etcd_cluster::EtcdClusterReason;
use api::time::span;
use jiff::Timestamp;

use super::step::EtcdStep;
use super::unreachable::{UNREACHABLE_AFTER, silent_since};
use crate::plan::member_set::{MemberSet, MemberView};
use crate::plan::objects::ETCD;
use crate::plan::{Observed, known_good};

/// Replaces a member that is lost with its node, or waits until that is due.
pub(super) fn step(
    observed: &Observed,
    members: &MemberSet<'_>,
    member: &MemberView<'_>,
    now: Timestamp,
) -> Option<EtcdStep> {
    let text = observed.cluster.spec.replace_after.as_deref()?;
    let after = span(text)?;
    let listed = member.listed.filter(|_| member.endpoint.is_none() && !member.is_learner())?;
    if !is_left_by_its_kubelet(member, now) || !members.keeps_quorum_without(member) {
        return None;
    }
    // Not clock::elapsed: a clock that is ahead must not make a member replaceable at once.
    let silent_since = silent_since(observed, member)?;
    let due = silent_since.checked_add(after).ok()?;
    if now < due {
        if now.duration_since(silent_since) < UNREACHABLE_AFTER {
            return None;
        }
        let message = format!("member {} seems to be lost with its node; it is replaced at {due}", member.name);
        return Some(EtcdStep::wait(EtcdClusterReason::MemberUnhealthy, message));
    }
    Some(EtcdStep::Remove {
        name: member.name.clone(),
        id: listed.id,
        replaced_because: Some(format!("it has not answered for {text}, and neither has the kubelet of its node")),
        keeps_claim: true,
    })
}

/// Whether its kubelet has left something undone.
fn is_left_by_its_kubelet(member: &MemberView<'_>, now: Timestamp) -> bool {
    let Some(details) = member.pod.and_then(|pod| pod.details.as_ref()) else { return false };
    if let Some(due) = details.deleted {
        return now > due;
    }
    if details.node.is_none() {
        // Otherwise the spec of the pod may be why no node takes it.
        return !known_good::is_untested(member);
    }
    let started = details.container(ETCD).filter(|etcd| etcd.running).and_then(|etcd| etcd.since);
    !details.ready && started.zip(details.ready_since).is_some_and(|(started, unready)| started < unready)
}
