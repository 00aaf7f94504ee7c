//! Pure: rolling members to another version, or to other pods: one at a time, followers first, the leader last and only after
//! another leads.

use api::etcd_cluster::EtcdClusterReason;
use jiff::Timestamp;

use super::corrupt;
use super::outdated::{is_to_change, keeps_its_pod};
use super::replacing::replace_doomed;
use super::step::Step;
use super::troubles::{trouble, waiting_for};
use crate::plan::objects::VERSION;
use crate::plan::roster::{Node, Roster, heir};
use crate::plan::version::Version;
use crate::plan::wish::Wish;
use crate::plan::{Observed, leaving_3_6, placement, pull};

/// The next step of a roll, if one is called for. All members are healthy here, and as many as wished.
pub(super) fn step(observed: &Observed, roster: &Roster<'_>, wish: &Wish, now: Timestamp) -> Option<Step> {
    let outdated: Vec<&Node<'_>> = roster.voters().filter(|node| is_to_change(observed, roster, node, wish)).collect();
    if outdated.is_empty() {
        return None;
    }
    if let Some(unsettled) = roster.voters().find(|node| !is_settled(roster, node)) {
        return Some(Step::ask_again(EtcdClusterReason::MemberUnsettled, unsettled_sentence(roster, unsettled)));
    }
    if let Some(sentence) = too_early(observed, roster, wish) {
        return Some(Step::ask_again(EtcdClusterReason::ClusterVersionBehind, sentence));
    }
    let Some(leader) = roster.leader() else {
        return Some(Step::ask_again(EtcdClusterReason::NoLeader, "waiting for the members to elect a leader"));
    };
    let Some(next) = outdated.iter().find(|node| node.name != leader.name) else {
        let heir = heir(roster, leader, |_| true).map(|heir| Step::MoveLeader { to: heir.name.clone(), asked: false });
        return Some(heir.unwrap_or_else(|| roll(observed, roster, leader, wish, now)));
    };
    Some(roll(observed, roster, next, wish, now))
}

/// Why members must not go to another minor version yet: etcd raises the version that all of a cluster have agreed upon a
/// few seconds after the last member has followed, and the next version does not start on the one before that.
fn too_early(observed: &Observed, roster: &Roster<'_>, wish: &Wish) -> Option<String> {
    let minor = |version: &Version| (version.major, version.minor);
    let wanted = minor(&wish.version);
    if roster.voters().filter_map(Node::version).all(|runs| minor(&runs) == wanted) {
        return None;
    }
    match observed.cluster_version.as_deref().and_then(Version::parse) {
        Some(agreed) if wanted.1 <= agreed.minor + 1 => None,
        Some(agreed) => Some(format!(
            "waiting for the members to agree on version {}.{}, before which none may run {}.{}; they agree on {}.{}",
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

/// How many entries are written in one step: a few seconds' worth.
const SLICE: u64 = 20_000;

/// What is left to write before a member leaves 3.6, if that takes more than one step; or why it cannot be written.
fn fill(observed: &Observed, roster: &Roster<'_>, node: &Node<'_>, wish: &Wish) -> Option<Step> {
    let entries = match leaving_3_6::entries_to_fill(observed, roster, node, &wish.version) {
        Ok(entries) => entries.filter(|entries| *entries > SLICE)?,
        Err(why) => return Some(Step::stuck(EtcdClusterReason::UpgradeRefused, why)),
    };
    let index = node.endpoint?.raft_index;
    let from = observed.cluster.status.filling_from.filter(|from| *from <= index).unwrap_or(index);
    let left = (from + entries).checked_sub(index).filter(|left| *left > 0)?;
    let now = left.min(SLICE);
    Some(Step::Fill { name: node.name.clone(), entries: now, left: left - now })
}

/// What to remember of where the filling began.
pub(in crate::plan) fn filling_from(observed: &Observed, roster: &Roster<'_>, step: &Step) -> Option<u64> {
    let before = observed.cluster.status.filling_from;
    match step {
        Step::Fill { name, .. } => {
            let node = roster.nodes.iter().find(|node| node.name == *name);
            let index = node.and_then(|node| node.endpoint).map(|endpoint| endpoint.raft_index);
            match (before, index) {
                (Some(from), Some(index)) if from > index => Some(index),
                (from, index) => from.or(index),
            }
        }
        // Whatever comes between, it goes on from there, until the next version has been reached.
        Step::Rest => None,
        _ => before,
    }
}

fn roll(observed: &Observed, roster: &Roster<'_>, node: &Node<'_>, wish: &Wish, now: Timestamp) -> Step {
    let step = change(observed, roster, node, wish);
    let before = match step {
        Step::Stuck(..) | Step::Wait(_) => pull::drop(observed).or_else(|| placement::drop(observed)),
        _ => pull::step(observed, roster, node, wish, now),
    };
    before.unwrap_or(step)
}

/// What gives a member the pod that is wished, or what has to come before that.
fn change(observed: &Observed, roster: &Roster<'_>, node: &Node<'_>, wish: &Wish) -> Step {
    let name = node.name.clone();
    if let Some(fill) = fill(observed, roster, node, wish) {
        return fill;
    }
    if keeps_its_pod(node, wish) {
        return Step::Upgrade { name };
    }
    if let Some(why) = &observed.refused {
        return refused(why);
    }
    if wish.durable && node.is_doomed() {
        return replace_doomed(roster, node);
    }
    if wish.durable {
        return Step::Renew { name };
    }
    if corrupt::is_on(observed) {
        return corrupt::wait();
    }
    // Without a volume, a new pod is a new member.
    match node.member {
        Some(member) if roster.voters().count() >= 3 && roster.can_lose(node) => {
            Step::Remove { name, id: member.id, dead: None }
        }
        _ => Step::stuck(
            EtcdClusterReason::DataInPods,
            "the change of spec.pod, spec.options or spec.quota (or the restart) needs new pods, and members keep their \
             data in their pods: it can be had with 3 members or more, or with storage that is not ephemeral"
                .to_owned(),
        ),
    }
}

/// What is told of pods that the API server would not take.
pub(super) fn refused(why: &str) -> Step {
    let message = format!("the API server rejects pods of this spec, so all members keep their pods: {why}");
    Step::stuck(EtcdClusterReason::PodRefused, message)
}

/// Whether a member has come to what its pod says: it runs that version, is ready, and has caught up.
fn is_settled(roster: &Roster<'_>, node: &Node<'_>) -> bool {
    node.ready && node.is_reported() != Some(false) && node.runs_its_version() && roster.caught_up(node)
}

fn unsettled_sentence(roster: &Roster<'_>, node: &Node<'_>) -> String {
    let name = &node.name;
    match (node.annotation(VERSION), node.version()) {
        (Some(wanted), Some(runs)) if !node.runs_its_version() => match trouble(node) {
            Some(trouble) => format!("member {name} does not come to version {wanted}: {trouble}"),
            None => format!("waiting for member {name} to run version {wanted}; it runs {runs}"),
        },
        _ if !roster.caught_up(node) => format!("waiting for member {name} to catch up with the others"),
        _ if node.endpoint.is_some() => format!("waiting for the pod of member {name} to be ready"),
        _ => waiting_for(node),
    }
}
