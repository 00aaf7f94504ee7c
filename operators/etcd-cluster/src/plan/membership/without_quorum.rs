//! Pure: without quorum: members come back as themselves on their volumes, and nothing else is done.

use api::etcd_cluster::{EtcdClusterReason, MemberRole, MemberStatus};
use jiff::Timestamp;

use super::again::again;
use super::step::Step;
use super::troubles::waiting_for;
use super::{healing, repair, unreached};
use crate::plan::objects::{Facts, Start};
use crate::plan::roster::{Node, Roster};
use crate::plan::wish::Wish;
use crate::plan::{Observed, hold, quorum};

const AUTHENTICATION: &str = "etcd's authentication is on, and this operator has no user there yet, so it cannot tell how \
    members fare: pods that are gone come back on their volumes, and nothing else is changed, until authentication is \
    off (etcdctl auth disable)";

/// Without quorum, the same members are started again on their volumes, and nothing else is done.
pub(super) fn step(observed: &Observed, roster: &Roster<'_>, wish: &Wish, now: Timestamp) -> Step {
    let known = &observed.cluster.status.member_statuses;
    let voters = observed.cluster.status.listed().count();
    let (mut lost, mut waiting) = (None, None);
    for status in known {
        let node = roster.nodes.iter().find(|node| node.name == status.name);
        // Where no id is known of any, status was lost, and tells nothing of who was listed.
        let unborn = is_to_be_listed(status) && voters > 0;
        let repaired = node.and_then(|node| {
            let failing = repair::failing(roster, wish, node, unborn);
            failing.or_else(|| repair::isolated(observed, roster, wish, node, unborn, now))
        });
        if let Some(step) = repaired {
            return step;
        }
        match node {
            _ if status.id.is_none() => {}
            Some(node) if hold::is_dying(node) && !node.has_run() => {
                lost = Some((status.name.clone(), healing::DYING.to_owned()));
            }
            Some(node) if node.pod.is_some() => {
                lost = lost.or_else(|| healing::lost(roster, node).map(|why| (status.name.clone(), why)));
            }
            Some(node) if node.claim.is_some_and(|claim| !claim.lost && !claim.meta.deleting) => {
                if status.role == MemberRole::Joining {
                    return Step::Start { name: node.name.as_str().into(), start: Start::Join };
                }
                // What keeps one down keeps no other down.
                match again(observed, roster, wish, &node.name) {
                    wait @ (Step::Wait(_) | Step::Stuck(..)) => waiting = waiting.or(Some(wait)),
                    step => return step,
                }
            }
            _ => lost = Some((status.name.clone(), "its data is lost".to_owned())),
        }
    }
    if let Some(node) = unknown(observed, roster) {
        return again(observed, roster, wish, &node.name);
    }
    // Before 3.4 one that has just been listed may be what quorum needs, and it has never started. It comes after those that hold data:
    // its pod may be one that the API server refuses.
    let without_pod = |status: &&MemberStatus| {
        is_to_be_listed(status) && roster.nodes.iter().all(|node| node.name != status.name || node.pod.is_none())
    };
    if let Some(status) = known.iter().find(without_pod) {
        return Step::Start { name: status.name.as_str().into(), start: Start::Join };
    }
    if let Some(wait) = waiting {
        return wait;
    }
    if observed.etcd.denied {
        return Step::stuck(EtcdClusterReason::AuthenticationRequired, AUTHENTICATION);
    }
    let answering = roster.nodes.iter().filter(|node| node.endpoint.is_some()).count();
    let why = observed.etcd.members.as_ref().err().map_or("", String::as_str);
    let count = format!("{answering} of {voters} members answer ({why})");
    let needed = (voters / 2 + 1).saturating_sub(answering);
    if let Some(told) = unreached::told(observed, roster, &count, needed, now) {
        return told;
    }
    // Who is alone with an empty disk is no reason to give up the others' data.
    let or_else = if observed.etcd.alone { "" } else { ", or restore the cluster from a backup" };
    match lost {
        // Those that could do without it may only be late.
        Some((name, why)) if quorum::is_lost(&observed.cluster, now) && answering <= voters / 2 => Step::stuck(
            EtcdClusterReason::QuorumLost,
            format!("{count}, and member {name} cannot come back: {why}; bring its volume back{or_else}"),
        ),
        _ => {
            let first = roster.nodes.iter().find(|node| node.pod.is_some() && node.endpoint.is_none());
            let first = first.map_or_else(String::new, |node| format!("; {}", waiting_for(node)));
            Step::ask_again(EtcdClusterReason::QuorumLost, format!("{count}{first}"))
        }
    }
}

/// Whether a member has never been seen to be listed.
fn is_to_be_listed(status: &MemberStatus) -> bool {
    status.id.is_none() && status.role == MemberRole::Joining
}

/// A member whose volume tells that it is one, though the status does not: that came from a backup, or was found again from
/// fewer volumes than there are now.
fn unknown<'r, 'a>(observed: &Observed, roster: &'r Roster<'a>) -> Option<&'r Node<'a>> {
    let status = &observed.cluster.status;
    let is_known = |node: &Node<'_>| status.member_statuses.iter().any(|known| known.name == node.name);
    let is_ours = |node: &Node<'_>| {
        let claim = node.claim.filter(|claim| !claim.lost && !claim.meta.deleting);
        claim.and_then(Facts::of).is_some_and(|facts| Some(facts.cluster_id) == status.cluster_id)
    };
    roster.nodes.iter().find(|node| node.pod.is_none() && !is_known(node) && is_ours(node))
}
