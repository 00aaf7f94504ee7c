//! Pure: who is there: pods, claims, and members as etcd lists them, joined by name.

use std::collections::BTreeMap;

use api::etcd_cluster::{MemberRole, MemberStatus};
use jiff::Timestamp;

use super::objects::RETIRING;
use super::{Observed, claim_copies};
use crate::EtcdCluster;

mod ids;
mod node;

pub(super) use ids::name;
pub use ids::{hex, read_hex};
pub use node::Node;
use node::{is_settled, runs_for};

/// How far behind a member may be, in entries of the log, and still count as caught up.
const CAUGHT_UP: u64 = 1000;
/// Everybody who is, was or shall be a member.
#[derive(Debug)]
pub struct Roster<'a> {
    /// By name.
    pub nodes: Vec<Node<'a>>,
    /// Whether `nodes` know which of them etcd lists: not without quorum.
    pub listed: bool,
    /// The highest index that any member knows to be committed.
    newest: u64,
}

impl<'a> Roster<'a> {
    /// Joins what was seen.
    #[must_use]
    pub fn of(observed: &'a Observed, now: Timestamp) -> Self {
        let mut nodes: BTreeMap<String, Node<'a>> = BTreeMap::new();
        let mut node = |name: &str, change: &mut dyn FnMut(&mut Node<'a>)| {
            change(nodes.entry(name.to_owned()).or_insert_with(|| Node { name: name.to_owned(), ..Node::default() }));
        };
        let members = observed.etcd.members.as_deref().unwrap_or_default();
        for member in members {
            node(&name(member), &mut |node| node.member = Some(member));
        }
        for pod in observed.pods.iter().filter(|pod| pod.running.is_some()) {
            node(&pod.meta.key.name, &mut |node| node.pod = Some(pod));
        }
        for claim in &observed.claims {
            if claim_copies::is_members_observed(observed, claim) {
                node(&claim.meta.key.name, &mut |node| node.claim = Some(claim));
            }
        }
        let mut nodes: Vec<Node<'a>> = nodes.into_values().collect();
        for node in &mut nodes {
            node.listen(observed);
            let running = node.running().filter(|running| running.ready && !node.is_outdated());
            node.ready = running.is_some_and(|running| is_settled(running, now));
            node.runs_for = runs_for(node, now);
        }
        let newest = nodes.iter().filter_map(|node| node.endpoint).map(|endpoint| endpoint.raft_index).max();
        Self { nodes, listed: observed.etcd.members.is_ok(), newest: newest.unwrap_or(0) }
    }

    /// Those that etcd lists.
    pub fn members(&self) -> impl Iterator<Item = &Node<'a>> {
        self.nodes.iter().filter(|node| node.member.is_some())
    }

    /// Those that vote.
    pub fn voters(&self) -> impl Iterator<Item = &Node<'a>> {
        self.members().filter(|node| !node.is_learner())
    }

    /// Those that vote beside `node`.
    pub fn others(&self, node: &Node<'_>) -> impl Iterator<Item = &Node<'a>> {
        self.voters().filter(|other| other.name != node.name)
    }

    /// Whether the cluster keeps quorum, and gets no closer to losing it, if it does without `node` for good.
    #[must_use]
    pub fn can_lose(&self, node: &Node<'_>) -> bool {
        if node.is_learner() {
            return true;
        }
        self.others(node).filter(|other| other.serves_on()).count() > self.others(node).count() / 2
    }

    /// Whether a member is where the others are.
    #[must_use]
    pub fn caught_up(&self, node: &Node<'_>) -> bool {
        node.endpoint.is_some_and(|endpoint| {
            // Before 3.4 a member does not tell what it has applied.
            let applied = if endpoint.applied_index == 0 { endpoint.raft_index } else { endpoint.applied_index };
            applied + CAUGHT_UP >= self.newest
        })
    }

    /// Whether a member's pod is marked as that of one which is about to be removed.
    #[must_use]
    pub fn is_retiring(&self, name: &str) -> bool {
        self.nodes.iter().any(|node| node.name == name && node.annotation(RETIRING).is_some())
    }

    /// Whether the kubelet says of a pod that it is ready, and may take that back.
    #[must_use]
    pub fn settles(&self) -> bool {
        self.nodes.iter().any(|node| !node.ready && node.running().is_some_and(|running| running.ready))
    }

    /// The member that leads, by the word of those that answer.
    #[must_use]
    pub fn leader(&self) -> Option<&Node<'a>> {
        self.voters().find(|node| node.is_healthy() && node.endpoint.is_some_and(|e| e.leader == e.member_id))
    }
}

/// Whether a member was yet to vote when etcd listed it last.
pub(super) fn is_to_vote(status: &MemberStatus) -> bool {
    matches!(status.role, MemberRole::Joining | MemberRole::Learner)
}

/// The name of the only voter, if there is just one. One that only learns, by its own word or as it was listed last, is no voter; had
/// it become one that nobody has heard of yet, quorum would come back with the pod.
pub(super) fn only_voter<'c>(cluster: &'c EtcdCluster, roster: &Roster<'_>) -> Option<&'c str> {
    let learns =
        |name: &str| roster.nodes.iter().any(|node| node.name == name && node.endpoint.is_some_and(|of| of.learner));
    let mut voters = cluster.status.listed().filter(|status| !learns(&status.name) && !is_to_vote(status));
    voters.next().filter(|_| voters.next().is_none()).map(|status| status.name.as_str())
}

/// Who leads next: of the others that may, the one that has most of the log. Nobody, if the leader cannot hand over.
pub(super) fn heir<'r, 'a>(
    roster: &'r Roster<'a>,
    leader: &Node<'_>,
    may: impl Fn(&Node<'_>) -> bool,
) -> Option<&'r Node<'a>> {
    if !leader.hands_over() {
        return None;
    }
    let others = roster.voters().filter(|node| node.name != leader.name && may(node));
    others.max_by_key(|node| node.endpoint.map(|endpoint| endpoint.raft_index))
}
