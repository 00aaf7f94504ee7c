//! How clusters advance, by the guarantees of Raft.

use std::collections::BTreeSet;

use etcd_cluster::plan::ListedMember;

use super::cluster::{Cluster, hash};
use super::store::{Data, Etcds};

/// For how many ticks voters have to be connected before etcd changes its members: 5 s.
pub(super) const CONNECTED: u32 = 10;
/// For how many ticks all members have run before they agree on the version of the cluster: 4 s.
const AGREED: u32 = 8;
/// The most ticks that an election takes.
const LONGEST_ELECTION: u64 = 4;
/// The index of a log that has just begun.
const FIRST_INDEX: u64 = 100;

impl Etcds {
    pub(super) fn tick_one(&mut self, id: u64, cluster: &mut Cluster) {
        let up = |member: &&ListedMember| self.up(id, member.id).is_some();
        let all: BTreeSet<u64> = cluster.members.iter().filter(up).map(|member| member.id).collect();
        let voters: Vec<u64> = cluster.voters().filter(up).map(|member| member.id).collect();
        cluster.connected.retain(|id, _| all.contains(id));
        all.iter().for_each(|id| *cluster.connected.entry(*id).or_default() += 1);
        if voters.len() < cluster.quorum() || !voters.contains(&cluster.leader) {
            cluster.leader = 0;
        }
        if voters.len() < cluster.quorum() {
            cluster.election = None;
            return;
        }
        if cluster.leader == 0 {
            let left = cluster.election.unwrap_or_else(|| self.random.below(LONGEST_ELECTION));
            cluster.election = left.checked_sub(1);
            if left > 0 {
                return;
            }
            self.elect(id, cluster, &voters);
        }
        self.name_all(id, cluster);
        let is_written = self.is_written(cluster);
        cluster.entries += u64::from(is_written);
        self.append(id, cluster, u64::from(is_written));
        self.teach(id, cluster);
        let are_agreed = all.iter().all(|member| cluster.connected.get(member).is_some_and(|ticks| *ticks >= AGREED));
        if all.len() == cluster.members.len() && are_agreed {
            let minors = all.iter().filter_map(|member| Some(self.up(id, *member)?.1.version.minor));
            cluster.minor = cluster.minor.max(minors.min().unwrap_or(0));
        }
    }

    /// The voter with the longest log wins, because no majority votes for a shorter log than its own.
    fn elect(&mut self, id: u64, cluster: &mut Cluster, voters: &[u64]) {
        cluster.term += 1;
        let turn = u32::try_from(cluster.term % 64).unwrap_or_default();
        let index = |member: u64| self.index(id, member);
        let longest = voters.iter().copied().max_by_key(|voter| (index(*voter), voter.rotate_left(turn)));
        let Some(leader) = longest else { return };
        let (has, acknowledged) = (index(leader), cluster.acknowledged);
        if has < acknowledged {
            let what =
                format!("acknowledged writes are lost: up to {acknowledged}, and the leader {leader:x} has {has}");
            self.violations.push(what);
        }
        cluster.leader = leader;
    }

    /// A member that starts for the first time publishes its name.
    fn name_all(&self, id: u64, cluster: &mut Cluster) {
        let waiting = self.waiting(id, cluster);
        let is_unnamed = |member: &&mut ListedMember| member.name.is_empty() && !waiting.contains(&member.id);
        for member in cluster.members.iter_mut().filter(is_unnamed) {
            if let Some((_, process)) = self.up(id, member.id) {
                process.pod.clone_into(&mut member.name);
            }
        }
    }

    /// Learners that have received a snapshot, but no entry since: while no client writes, they are not in sync.
    pub(super) fn waiting(&self, id: u64, cluster: &Cluster) -> BTreeSet<u64> {
        let top = self.index(id, cluster.leader);
        let learners = cluster.members.iter().filter(|member| member.learner && self.is_idle(cluster));
        let waits = |member: &&ListedMember| cluster.added.get(&member.id).is_some_and(|added| *added >= top);
        learners.filter(waits).map(|member| member.id).collect()
    }

    /// Appends entries to the log of the leader, and of at least as many voters as a commit requires. The others may lag behind.
    pub(super) fn append(&mut self, id: u64, cluster: &mut Cluster, more: u64) {
        let top = self.index(id, cluster.leader) + more;
        let turn = u32::try_from(self.random.below(64)).unwrap_or_default();
        let mut voters: Vec<u64> =
            cluster.voters().map(|voter| voter.id).filter(|voter| self.up(id, *voter).is_some()).collect();
        voters.sort_by_key(|voter| (*voter != cluster.leader, voter.rotate_left(turn)));
        if more > 0 && self.random.chance(300) {
            voters.truncate(cluster.quorum());
        }
        for voter in &voters {
            self.write(id, *voter, top, &cluster.members);
        }
        if voters.len() >= cluster.quorum() {
            cluster.acknowledged = cluster.acknowledged.max(top);
        }
    }

    /// Learners catch up by halves.
    fn teach(&mut self, id: u64, cluster: &Cluster) {
        let top = self.index(id, cluster.leader);
        for learner in cluster.members.iter().filter(|member| member.learner) {
            let has = self.index(id, learner.id);
            if self.up(id, learner.id).is_some() {
                self.write(id, learner.id, has + (top - has.min(top)).div_ceil(2), &cluster.members);
            }
        }
    }

    fn write(&mut self, cluster: u64, member: u64, index: u64, members: &[ListedMember]) {
        let Some(volume) = self.up(cluster, member).map(|(_, process)| process.volume.clone()) else { return };
        if let Some(data) = self.volumes.get_mut(&volume) {
            data.index = data.index.max(index);
            data.members = members.to_vec();
        }
    }

    /// Whether a learner has as much as etcd requires, nine tenths of the leader's log.
    pub(super) fn is_in_sync(&self, id: u64, cluster: &Cluster, learner: u64) -> bool {
        self.index(id, learner) * 10 >= self.index(id, cluster.leader) * 9
            && !self.waiting(id, cluster).contains(&learner)
    }

    /// A new cluster of one.
    pub(super) fn bootstrap(&mut self, token: &str, url: &str, domain: &str, pod: &str) -> Data {
        let id = hash(&[token, url]);
        let member = ListedMember {
            id: hash(&[url, token]),
            name: pod.to_owned(),
            peer_urls: vec![url.to_owned()],
            learner: false,
        };
        if self.clusters.values().any(|cluster| cluster.domain == domain && cluster.entries > 0) {
            self.violations.push(format!("{pod} begins a second cluster {id:x}, and the first one has data"));
        }
        let members = vec![member.clone()];
        let cluster =
            Cluster { domain: domain.to_owned(), members: members.clone(), acknowledged: 1, ..Cluster::default() };
        self.clusters.insert(id, cluster);
        Data { cluster: id, member: member.id, index: FIRST_INDEX, members }
    }
}
