//! Pure: steps without quorum: the operator restarts the same members on their volumes and changes nothing else.

use api::etcd_cluster::{EtcdClusterReason, MemberRole, MemberStatus};
use jiff::Timestamp;

use super::failure::waiting_message;
use super::restart::restart;
use super::step::EtcdStep;
use super::{recreation, repair, unreachable};
use crate::plan::desired::Desired;
use crate::plan::member_set::{MemberSet, MemberView};
use crate::plan::objects::{InitialState, VolumeFacts};
use crate::plan::{Observed, authentication, hold, quorum};

/// The next step without quorum.
pub(super) fn step(observed: &Observed, members: &MemberSet<'_>, desired: &Desired, now: Timestamp) -> EtcdStep {
    let known = &observed.cluster.status.member_statuses;
    let voters = observed.cluster.status.listed().count();
    let (mut lost, mut waiting) = (None, None);
    for status in known {
        let member = members.get(&status.name);
        // If no member has an id there, the status was lost, and does not say which members were listed.
        let never_started = is_to_be_listed(status) && voters > 0;
        let recreated = member.and_then(|member| {
            let failing = recreation::failing(members, desired, member, never_started);
            failing.or_else(|| recreation::isolated(observed, members, desired, member, never_started, now))
        });
        if let Some(step) = recreated {
            return step;
        }
        match member {
            _ if status.id.is_none() || observed.cluster.status.earlier_members.contains(&status.name) => {}
            Some(member) if hold::is_held_and_terminating(member) && !member.has_run() => {
                lost = Some((status.name.clone(), repair::HELD_CLAIM_TERMINATING.to_owned()));
            }
            Some(member) if member.pod.is_some() => {
                lost = lost.or_else(|| repair::data_lost(members, member).map(|why| (status.name.clone(), why)));
            }
            Some(member) if member.usable_claim().is_some() => {
                if status.role == MemberRole::Joining {
                    return EtcdStep::Start { name: member.name.as_str().into(), state: InitialState::Existing };
                }
                // A member that has to wait does not keep others from restarting.
                match restart(observed, members, desired, &member.name) {
                    wait @ (EtcdStep::Wait(_) | EtcdStep::Stuck(..)) => waiting = waiting.or(Some(wait)),
                    step => return step,
                }
            }
            _ => lost = Some((status.name.clone(), "its data is lost".to_owned())),
        }
    }
    if let Some(member) = member_not_in_status(observed, members) {
        return restart(observed, members, desired, &member.name);
    }
    // Before 3.4, quorum may need a member that has just been listed and never started. It comes after those that hold data: the
    // API server may reject its pod.
    let without_pod = |status: &&MemberStatus| {
        is_to_be_listed(status) && members.all.iter().all(|member| member.name != status.name || member.pod.is_none())
    };
    if let Some(status) = known.iter().find(without_pod) {
        return EtcdStep::Start { name: status.name.as_str().into(), state: InitialState::Existing };
    }
    if let Some(wait) = waiting {
        return wait;
    }
    if observed.etcd.auth_required {
        return EtcdStep::stuck(EtcdClusterReason::AuthenticationRequired, authentication::required(observed));
    }
    let answering = members.all.iter().filter(|member| member.endpoint.is_some()).count();
    let why = observed.etcd.members.as_ref().err().map_or("", String::as_str);
    let count = format!("{answering} of {voters} members answer ({why})");
    let needed = (voters / 2 + 1).saturating_sub(answering);
    if let Some(step) = unreachable::step(observed, members, &count, needed, now) {
        return step;
    }
    // A member that lists itself alone, perhaps on an empty disk, is no reason to give up the data of the others.
    let or_else = if observed.etcd.list_distrusted { "" } else { ", or restore the cluster from a backup" };
    match lost {
        // If the others could have quorum without it, they may only be late.
        Some((name, why)) if quorum::is_lost(&observed.cluster, now) && answering <= voters / 2 => EtcdStep::stuck(
            EtcdClusterReason::QuorumLost,
            format!("{count}, and member {name} cannot restart: {why}; recover its volume{or_else}"),
        ),
        _ => {
            let first = members.all.iter().find(|member| member.pod.is_some() && member.endpoint.is_none());
            let first = first.map_or_else(String::new, |member| format!("; {}", waiting_message(member)));
            EtcdStep::poll(EtcdClusterReason::QuorumLost, format!("{count}{first}"))
        }
    }
}

/// Whether etcd has never listed a member.
fn is_to_be_listed(status: &MemberStatus) -> bool {
    status.id.is_none() && status.role == MemberRole::Joining
}

/// A member that is known from its volume alone: the status came from a backup, or was recovered from fewer volumes than there
/// are now.
fn member_not_in_status<'r, 'a>(observed: &Observed, members: &'r MemberSet<'a>) -> Option<&'r MemberView<'a>> {
    let status = &observed.cluster.status;
    let is_known = |member: &MemberView<'_>| status.member_statuses.iter().any(|known| known.name == member.name);
    let is_of_cluster = |member: &MemberView<'_>| {
        let facts = member.usable_claim().and_then(VolumeFacts::of);
        facts.is_some_and(|facts| Some(facts.cluster_id) == status.cluster_id)
    };
    members.all.iter().find(|member| member.pod.is_none() && !is_known(member) && is_of_cluster(member))
}
