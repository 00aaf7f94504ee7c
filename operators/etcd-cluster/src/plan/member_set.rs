//! Pure: the members of a cluster: etcd's member list, pods and PVCs, joined by name.

use std::collections::BTreeMap;

use api::etcd_cluster::{MemberRole, MemberStatus};
use jiff::Timestamp;

use super::objects::RETIRING;
use super::{Observed, claim_copies};
use crate::EtcdCluster;

mod earlier;
mod ids;
mod member_view;

pub(super) use earlier::{are_unknown, is_earlier};
pub(super) use ids::name;
pub use ids::{hex, read_hex};
pub use member_view::MemberView;
use member_view::{is_readiness_stable, runs_for};

/// How many log entries a member may be behind and still count as caught up.
const CAUGHT_UP: u64 = 1000;

/// Everything that is, was or will be a member.
#[derive(Debug)]
pub struct MemberSet<'a> {
    /// By name, whether or not etcd lists them.
    pub all: Vec<MemberView<'a>>,
    /// Whether etcd's member list is known. It is not without quorum.
    pub list_known: bool,
    /// The highest index that any member knows to be committed.
    highest_index: u64,
}

impl<'a> MemberSet<'a> {
    /// Joins what was observed.
    #[must_use]
    pub fn of(observed: &'a Observed, now: Timestamp) -> Self {
        let mut all: BTreeMap<String, MemberView<'a>> = BTreeMap::new();
        let mut set = |name: &str, change: &mut dyn FnMut(&mut MemberView<'a>)| {
            change(all.entry(name.to_owned()).or_insert_with(|| MemberView::new(name)));
        };
        for listed in observed.etcd.members.as_deref().unwrap_or_default() {
            set(&name(listed), &mut |member| member.listed = Some(listed));
        }
        for pod in observed.pods.iter().filter(|pod| pod.details.is_some()) {
            set(&pod.meta.key.name, &mut |member| member.pod = Some(pod));
        }
        for claim in &observed.claims {
            if claim_copies::is_members_observed(observed, claim) {
                set(&claim.meta.key.name, &mut |member| member.claim = Some(claim));
            }
        }
        let mut all: Vec<MemberView<'a>> = all.into_values().collect();
        for member in &mut all {
            member.attach_endpoint(observed);
            member.earlier = member.listed.is_some_and(|listed| is_earlier(&observed.cluster, listed));
            member.address = match observed.takeover.addresses.get(member.name.as_str()) {
                Some(address) if member.earlier => Some(address),
                _ => member.pod_details().and_then(|details| details.ip.as_deref()),
            };
            let details = member.pod_details().filter(|details| details.ready && !member.is_report_outdated());
            let ready = details.is_some_and(|details| is_readiness_stable(details, now));
            member.ready = ready || member.earlier && member.is_healthy();
            member.runs_for = runs_for(member, now);
        }
        let highest_index = all.iter().filter_map(|member| member.endpoint).map(|endpoint| endpoint.raft_index).max();
        Self { all, list_known: observed.etcd.members.is_ok(), highest_index: highest_index.unwrap_or(0) }
    }

    /// The one of that name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&MemberView<'a>> {
        self.all.iter().find(|member| member.name == name)
    }

    /// The members that etcd lists.
    pub fn listed(&self) -> impl Iterator<Item = &MemberView<'a>> {
        self.all.iter().filter(|member| member.listed.is_some())
    }

    /// The members that vote.
    pub fn voters(&self) -> impl Iterator<Item = &MemberView<'a>> {
        self.listed().filter(|member| !member.is_learner())
    }

    /// The members of a cluster that is taken over.
    pub fn earlier(&self) -> impl Iterator<Item = &MemberView<'a>> {
        self.listed().filter(|member| member.earlier)
    }

    /// The listed members that are not those of a cluster that is taken over.
    pub fn own(&self) -> impl Iterator<Item = &MemberView<'a>> {
        self.listed().filter(|member| !member.earlier)
    }

    /// Those of them that vote.
    pub fn own_voters(&self) -> impl Iterator<Item = &MemberView<'a>> {
        self.own().filter(|member| !member.is_learner())
    }

    /// Where the members of a cluster that is taken over reach each other.
    #[must_use]
    pub fn earlier_peer_urls(&self) -> Vec<String> {
        self.earlier().filter_map(|member| member.listed).flat_map(|listed| listed.peer_urls.clone()).collect()
    }

    /// The voters other than `member`.
    pub fn others(&self, member: &MemberView<'_>) -> impl Iterator<Item = &MemberView<'a>> {
        self.voters().filter(|other| other.name != member.name)
    }

    /// Whether the cluster keeps quorum, and its tolerance for failures, if it loses `member` for good.
    #[must_use]
    pub fn keeps_quorum_without(&self, member: &MemberView<'_>) -> bool {
        if member.is_learner() {
            return true;
        }
        self.others(member).filter(|other| other.stays_healthy()).count() > self.others(member).count() / 2
    }

    /// Whether a member has applied about as much of the log as the others.
    #[must_use]
    pub fn has_caught_up(&self, member: &MemberView<'_>) -> bool {
        member.endpoint.is_some_and(|endpoint| {
            // etcd before 3.4 does not report what it has applied.
            let applied = if endpoint.applied_index == 0 { endpoint.raft_index } else { endpoint.applied_index };
            applied + CAUGHT_UP >= self.highest_index
        })
    }

    /// Whether a member's pod is marked for removal of the member.
    #[must_use]
    pub fn is_retiring(&self, name: &str) -> bool {
        self.get(name).is_some_and(|member| member.annotation(RETIRING).is_some())
    }

    /// Whether the kubelet reports a pod as ready that it may still report as not ready.
    #[must_use]
    pub fn has_unstable_readiness(&self) -> bool {
        self.all.iter().any(|member| !member.ready && member.pod_details().is_some_and(|details| details.ready))
    }

    /// The leader, as reported by itself.
    #[must_use]
    pub fn leader(&self) -> Option<&MemberView<'a>> {
        self.voters().find(|member| member.is_healthy() && member.endpoint.is_some_and(|e| e.leader == e.member_id))
    }

    /// The first of the candidates that does not lead, or else the leader: while the leader is interrupted, etcd accepts
    /// no writes.
    #[must_use]
    pub fn leader_last<'m>(
        &'m self,
        candidates: impl Iterator<Item = &'m MemberView<'a>>,
    ) -> Option<&'m MemberView<'a>> {
        let leader = self.leader().map(|leader| leader.name.as_str());
        // `min_by_key` returns the first of several equal members.
        candidates.min_by_key(|member| Some(member.name.as_str()) == leader)
    }
}

/// Whether a member did not vote yet when etcd listed it last.
pub(super) fn is_joining_or_learner(status: &MemberStatus) -> bool {
    matches!(status.role, MemberRole::Joining | MemberRole::Learner)
}

/// The name of the only voter, if there is just one. A member that reports itself as a learner, or was listed as one last, is no
/// voter. If etcd has promoted it since, unknown to the operator, quorum returns with the pod of the other one.
pub(super) fn only_voter<'c>(cluster: &'c EtcdCluster, members: &MemberSet<'_>) -> Option<&'c str> {
    let learns = |name: &str| members.get(name).and_then(|member| member.endpoint).is_some_and(|of| of.learner);
    let mut voters = cluster.status.listed().filter(|status| !learns(&status.name) && !is_joining_or_learner(status));
    voters.next().filter(|_| voters.next().is_none()).map(|status| status.name.as_str())
}

/// The member to transfer leadership to: of the other eligible voters the one with the longest log. None if the leader cannot
/// transfer leadership.
pub(super) fn transfer_target<'m, 'a>(
    members: &'m MemberSet<'a>,
    leader: &MemberView<'_>,
    is_eligible: impl Fn(&MemberView<'_>) -> bool,
) -> Option<&'m MemberView<'a>> {
    if !leader.can_transfer_leadership() {
        return None;
    }
    let others = members.others(leader).filter(|member| is_eligible(member));
    others.max_by_key(|member| member.endpoint.map(|endpoint| endpoint.raft_index))
}
