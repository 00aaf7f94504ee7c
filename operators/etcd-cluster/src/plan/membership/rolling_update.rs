//! Pure: rolls out a new version or new pods: one member at a time, followers first, the leader last and only after it has
//! transferred leadership.

use api::etcd_cluster::EtcdClusterReason;
use jiff::Timestamp;

use super::corruption;
use super::failure::{failure_message, waiting_message};
use super::outdated::{needs_change, needs_only_new_image};
use super::replacement::replace_without_volume;
use super::step::EtcdStep;
use crate::plan::desired::Desired;
use crate::plan::member_set::{MemberSet, MemberView, transfer_target};
use crate::plan::objects::VERSION;
use crate::plan::version::Version;
use crate::plan::{Observed, image_check, leaving_3_6, placement};

/// The next step of a rolling update, if one is due. All members are healthy here, and as many as desired.
pub(super) fn step(
    observed: &Observed,
    members: &MemberSet<'_>,
    desired: &Desired,
    now: Timestamp,
) -> Option<EtcdStep> {
    let outdated: Vec<&MemberView<'_>> =
        members.voters().filter(|member| needs_change(observed, members, member, desired)).collect();
    if outdated.is_empty() {
        return None;
    }
    if let Some(unstable) = members.voters().find(|member| !is_stable(members, member)) {
        return Some(EtcdStep::poll(EtcdClusterReason::MemberUnsettled, unstable_message(members, unstable)));
    }
    if let Some(message) = must_wait_reason(observed, members, desired) {
        return Some(EtcdStep::poll(EtcdClusterReason::ClusterVersionBehind, message));
    }
    let Some(leader) = members.leader() else {
        return Some(EtcdStep::poll(EtcdClusterReason::NoLeader, "waiting for the members to elect a leader"));
    };
    let Some(next) = outdated.iter().find(|member| member.name != leader.name) else {
        let target = transfer_target(members, leader, |_| true);
        let transfer = target.map(|target| EtcdStep::MoveLeader { to: target.name.clone(), requested: false });
        return Some(transfer.unwrap_or_else(|| roll(observed, members, leader, desired, now)));
    };
    Some(roll(observed, members, next, desired, now))
}

/// Why members must not be upgraded to another minor version yet: etcd raises the cluster version a few seconds after the last
/// member has been upgraded, and a version does not start if the cluster version is more than one minor version behind it.
fn must_wait_reason(observed: &Observed, members: &MemberSet<'_>, desired: &Desired) -> Option<String> {
    let minor = |version: &Version| (version.major, version.minor);
    let wanted = minor(&desired.version);
    if members.voters().filter_map(MemberView::version).all(|runs| minor(&runs) == wanted) {
        return None;
    }
    match observed.cluster_version.as_deref().and_then(Version::parse) {
        Some(agreed) if wanted.1 <= agreed.minor + 1 => None,
        Some(agreed) => Some(format!(
            "waiting for the members to agree on cluster version {}.{}, before which none may run {}.{}; it is {}.{}",
            wanted.0,
            wanted.1 - 1,
            wanted.0,
            wanted.1,
            agreed.major,
            agreed.minor
        )),
        None => Some("waiting for a member to report the cluster version".to_owned()),
    }
}

/// How many entries one step appends, which takes a few seconds.
const ENTRIES_PER_STEP: u64 = 20_000;

/// The entries to append before a member leaves 3.6, if that takes more than one step; or why that is not possible.
fn fill(observed: &Observed, members: &MemberSet<'_>, member: &MemberView<'_>, desired: &Desired) -> Option<EtcdStep> {
    let entries = match leaving_3_6::entries_to_fill(observed, members, member, &desired.version) {
        Ok(entries) => entries.filter(|entries| *entries > ENTRIES_PER_STEP)?,
        Err(why) => return Some(EtcdStep::stuck(EtcdClusterReason::UpgradeRefused, why)),
    };
    let index = member.endpoint?.raft_index;
    let from = observed.cluster.status.filling_from.filter(|from| *from <= index).unwrap_or(index);
    let left = (from + entries).checked_sub(index).filter(|left| *left > 0)?;
    let now = left.min(ENTRIES_PER_STEP);
    Some(EtcdStep::Fill { name: member.name.clone(), entries: now, left: left - now })
}

/// The log index at which the filling began, for the status.
pub(in crate::plan) fn filling_from(observed: &Observed, members: &MemberSet<'_>, step: &EtcdStep) -> Option<u64> {
    let before = observed.cluster.status.filling_from;
    match step {
        EtcdStep::Fill { name, .. } => {
            let member = members.get(name);
            let index = member.and_then(|member| member.endpoint).map(|endpoint| endpoint.raft_index);
            match (before, index) {
                (Some(from), Some(index)) if from > index => Some(index),
                (from, index) => from.or(index),
            }
        }
        // Other steps may come between. The rollout continues from there until the next version is reached.
        EtcdStep::Rest => None,
        _ => before,
    }
}

fn roll(
    observed: &Observed,
    members: &MemberSet<'_>,
    member: &MemberView<'_>,
    desired: &Desired,
    now: Timestamp,
) -> EtcdStep {
    let step = change(observed, members, member, desired);
    let before = match step {
        EtcdStep::Stuck(..) | EtcdStep::Wait(_) => {
            image_check::delete(observed).or_else(|| placement::delete(observed))
        }
        _ => image_check::step(observed, members, member, desired, now),
    };
    before.unwrap_or(step)
}

/// The step that gives a member the desired pod, or that has to precede it.
fn change(observed: &Observed, members: &MemberSet<'_>, member: &MemberView<'_>, desired: &Desired) -> EtcdStep {
    let name = member.name.clone();
    if let Some(fill) = fill(observed, members, member, desired) {
        return fill;
    }
    if needs_only_new_image(member, desired) {
        return EtcdStep::Upgrade { name };
    }
    if let Some(why) = &observed.pod_rejected {
        return rejected(why);
    }
    if desired.durable && member.has_unusable_claim() {
        return replace_without_volume(members, member);
    }
    if desired.durable {
        return EtcdStep::RecreatePod { name };
    }
    if corruption::is_on(observed) {
        return corruption::wait();
    }
    // Without a volume, a new pod is a new member.
    match member.listed {
        Some(listed) if members.voters().count() >= 3 && members.keeps_quorum_without(member) => {
            EtcdStep::Remove { name, id: listed.id, replaced_because: None, keeps_claim: false }
        }
        _ => EtcdStep::stuck(
            EtcdClusterReason::DataInPods,
            "pods are not replaced: the change of spec.pod, spec.options or spec.quota (or the restart) needs new pods, and \
             members keep their data in their pods; use 3 members or more, or storage that is not ephemeral"
                .to_owned(),
        ),
    }
}

/// The step while the API server rejects pods of the current spec.
pub(super) fn rejected(why: &str) -> EtcdStep {
    let message = format!("all members keep their pods: the API server rejects pods of the current spec: {why}");
    EtcdStep::stuck(EtcdClusterReason::PodRefused, message)
}

/// Whether a member runs the version of its pod, is ready, and has caught up.
fn is_stable(members: &MemberSet<'_>, member: &MemberView<'_>) -> bool {
    member.ready
        && member.is_report_current() != Some(false)
        && member.runs_pod_version()
        && members.has_caught_up(member)
}

fn unstable_message(members: &MemberSet<'_>, member: &MemberView<'_>) -> String {
    let name = &member.name;
    match (member.annotation(VERSION), member.version()) {
        (Some(wanted), Some(runs)) if !member.runs_pod_version() => match failure_message(member) {
            Some(failure) => format!("member {name} does not run version {wanted}: {failure}"),
            None => format!("waiting for member {name} to run version {wanted}; it runs {runs}"),
        },
        _ if !members.has_caught_up(member) => format!("waiting for member {name} to catch up with the others"),
        _ if member.endpoint.is_some() => format!("waiting for the pod of member {name} to be ready"),
        _ => waiting_message(member),
    }
}
