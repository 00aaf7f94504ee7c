//! Clusters of etcd, by the guarantees of raft: one leader with a majority, a log that is an index, and entries on a majority,
//! which stay as long as no member votes that has lost its data.

use std::collections::{BTreeMap, BTreeSet};

use etcd_cluster::etcd::RootPassword;
use etcd_cluster::plan::ListedMember;
use etcd_cluster::plan::version::Version;

use crate::pods::PodSeen;

/// The content of a member's data directory.
#[derive(Clone, Debug)]
pub struct Data {
    /// The cluster that it belongs to.
    pub cluster: u64,
    /// The member's id.
    pub member: u64,
    /// The last index of its log.
    pub index: u64,
    /// The members that it knows.
    pub members: Vec<ListedMember>,
    /// Whether it is corrupt.
    pub broken: bool,
}

/// A process of etcd.
#[derive(Clone, Debug)]
pub struct Process {
    /// Its data.
    pub volume: String,
    /// The version that it runs.
    pub version: Version,
    /// Its address.
    pub ip: String,
    /// Whether its node is up.
    pub reachable: bool,
}

/// A cluster.
#[derive(Clone, Debug, Default)]
pub struct Cluster {
    /// The committed list of members.
    pub members: Vec<ListedMember>,
    /// The id of the leader; 0 if there is none.
    pub leader: u64,
    /// For how many ticks each has been connected.
    pub together: BTreeMap<u64, u32>,
    /// The last acknowledged index.
    pub acked: u64,
    /// Whether a client has ever written.
    pub written: bool,
    /// The minor version of the cluster.
    pub minor: u64,
    /// The index of the log when a learner was added.
    pub added: BTreeMap<u64, u64>,
    /// The ids of removed members.
    pub removed: BTreeSet<u64>,
    term: u32,
}

/// The pace of raft in a world.
#[derive(Clone, Copy, Debug, Default)]
pub struct Pace {
    /// Whether a client writes.
    pub writing: bool,
    /// Whether entries reach only as many members as a commit requires.
    pub lazy: bool,
    /// Whether learners make no progress.
    pub slow: bool,
    /// Whether no client writes, and learners start with a snapshot: they continue only with the next entry.
    pub idle: bool,
}

/// Processes and data by pod and volume, of all clusters.
#[derive(Clone, Debug, Default)]
pub struct Etcds {
    /// The data on volumes that are not empty.
    pub volumes: BTreeMap<String, Data>,
    /// The processes, by pod.
    pub processes: BTreeMap<String, Process>,
    /// The clusters, by id.
    pub clusters: BTreeMap<u64, Cluster>,
    /// See [`Pace`].
    pub pace: Pace,
    /// The password of root, and whether members require users.
    pub root: Option<RootPassword>,
    pub requires_users: bool,
    /// Whether a database is full.
    pub full: bool,
    /// Whether the alarm NOSPACE is raised.
    pub alarm: bool,
    /// Pods whose databases were defragmented since the alarm was raised.
    pub defragmented: BTreeSet<String>,
    /// Violated invariants.
    pub violations: Vec<String>,
}

impl Cluster {
    /// The voters.
    pub fn voters(&self) -> impl Iterator<Item = &ListedMember> {
        self.members.iter().filter(|member| !member.learner)
    }

    /// The number of voters of a majority.
    pub fn quorum(&self) -> usize {
        self.voters().count() / 2 + 1
    }
}

impl Etcds {
    /// The data that a process works on.
    pub fn data(&self, pod: &str) -> Option<&Data> {
        self.volumes.get(&self.processes.get(pod)?.volume)
    }

    /// The pod in which a member runs and is reached.
    pub fn up(&self, cluster: u64, id: u64) -> Option<(&str, &Process)> {
        let is = |pod: &str| self.data(pod).is_some_and(|data| (data.cluster, data.member) == (cluster, id));
        let found = self.processes.iter().find(|(pod, process)| process.reachable && is(pod));
        found.map(|(pod, process)| (pod.as_str(), process))
    }

    /// Voters that run, by id.
    pub fn voters_up(&self, id: u64) -> Vec<u64> {
        let voters = self.clusters.get(&id).into_iter().flat_map(Cluster::voters);
        voters.map(|member| member.id).filter(|member| self.up(id, *member).is_some()).collect()
    }

    /// Advances by one tick.
    pub fn tick(&mut self) {
        for id in self.clusters.keys().copied().collect::<Vec<_>>() {
            let Some(mut cluster) = self.clusters.remove(&id) else { continue };
            self.tick_one(id, &mut cluster);
            self.clusters.insert(id, cluster);
        }
    }

    fn tick_one(&mut self, id: u64, cluster: &mut Cluster) {
        let up = |member: &&ListedMember| self.up(id, member.id).is_some();
        let all: BTreeSet<u64> = cluster.members.iter().filter(up).map(|member| member.id).collect();
        let voters: Vec<u64> = cluster.voters().filter(up).map(|member| member.id).collect();
        cluster.together.retain(|id, _| all.contains(id));
        all.iter().for_each(|id| *cluster.together.entry(*id).or_default() += 1);
        if voters.len() < cluster.quorum() {
            cluster.leader = 0;
            return;
        }
        if cluster.leader != 0 && !voters.contains(&cluster.leader) {
            // The election is in the next tick.
            cluster.leader = 0;
            return;
        }
        if cluster.leader == 0 {
            self.elect(id, cluster, &voters);
        }
        self.name_all(id, cluster);
        let more = u64::from(self.pace.writing);
        cluster.written |= self.pace.writing;
        self.append(id, cluster, more);
        self.teach(id, cluster);
        if all.len() == cluster.members.len() {
            let minors = all.iter().filter_map(|member| Some(self.up(id, *member)?.1.version.minor));
            cluster.minor = cluster.minor.max(minors.min().unwrap_or(0));
        }
    }

    /// The voter with the longest log wins, because no majority votes for a shorter log than its own.
    fn elect(&mut self, id: u64, cluster: &mut Cluster, voters: &[u64]) {
        cluster.term += 1;
        let index = |member: u64| self.index(id, member);
        let Some(leader) = voters.iter().copied().max_by_key(|v| (index(*v), v.rotate_left(cluster.term))) else {
            return;
        };
        let has = index(leader);
        if has < cluster.acked {
            let acked = cluster.acked;
            self.violations
                .push(format!("acknowledged writes are lost: {acked} of them, and leader {leader:x} has {has}"));
        }
        cluster.leader = leader;
    }

    pub fn index(&self, cluster: u64, member: u64) -> u64 {
        self.up(cluster, member).and_then(|(pod, _)| self.data(pod)).map_or(0, |data| data.index)
    }

    /// A member that starts for the first time publishes its name.
    fn name_all(&self, id: u64, cluster: &mut Cluster) {
        let waiting = self.waiting(id, cluster);
        let unnamed = |member: &&mut ListedMember| member.name.is_empty() && !waiting.contains(&member.id);
        for member in cluster.members.iter_mut().filter(unnamed) {
            if let Some((pod, _)) = self.up(id, member.id) {
                pod.clone_into(&mut member.name);
            }
        }
    }

    /// Learners that have received a snapshot, but no entry since.
    pub fn waiting(&self, id: u64, cluster: &Cluster) -> BTreeSet<u64> {
        let top = self.index(id, cluster.leader);
        let learners = cluster.members.iter().filter(|member| self.pace.idle && member.learner);
        let waits = |member: &&ListedMember| cluster.added.get(&member.id).is_some_and(|added| *added >= top);
        learners.filter(waits).map(|member| member.id).collect()
    }

    /// Appends entries to the log of the leader, and of as many voters as a commit requires, or of all that are up.
    pub fn append(&mut self, id: u64, cluster: &mut Cluster, more: u64) {
        let top = self.index(id, cluster.leader) + more;
        let mut voters: Vec<u64> = cluster.voters().map(|m| m.id).filter(|v| self.up(id, *v).is_some()).collect();
        voters.sort_by_key(|voter| (*voter != cluster.leader, voter.rotate_left(cluster.term)));
        if self.pace.lazy {
            voters.truncate(cluster.quorum());
        }
        for voter in &voters {
            self.write(id, *voter, top, &cluster.members);
        }
        if voters.len() >= cluster.quorum() {
            cluster.acked = cluster.acked.max(top);
        }
    }

    /// Learners catch up by halves.
    fn teach(&mut self, id: u64, cluster: &Cluster) {
        if self.pace.slow {
            return;
        }
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
    pub fn in_sync(&self, id: u64, cluster: &Cluster, learner: u64) -> bool {
        self.index(id, learner) * 10 >= self.index(id, cluster.leader) * 9
            && !self.waiting(id, cluster).contains(&learner)
    }

    /// `agent etcd-recover`: the member on that volume continues without the others. What only they hold is lost, so it must have the
    /// longest log that is left, and none of them may run any more: together they could be another cluster.
    pub fn go_on_alone(&mut self, volume: &str) {
        let Some(data) = self.volumes.get_mut(volume) else { return };
        let (cluster, member, index) = (data.cluster, data.member, data.index);
        data.members.retain(|of| of.id == member);
        let members = data.members.clone();
        for (pod, process) in &self.processes {
            let other =
                self.volumes.get(&process.volume).filter(|other| other.cluster == cluster && other.member != member);
            if other.is_some() {
                self.violations.push(format!("{member:x} continues alone, and {pod} runs"));
            }
        }
        let Some(of) = self.clusters.get_mut(&cluster) else { return };
        if of.leader != 0 {
            self.violations.push(format!("{member:x} continues alone, and there is quorum"));
        }
        of.removed.extend(of.members.iter().map(|of| of.id).filter(|id| *id != member));
        (of.members, of.acked) = (members, of.acked.min(index));
    }

    /// A new cluster of one.
    pub fn found(&mut self, pod: &PodSeen) -> Data {
        let (token, url) = (pod.token.as_str(), pod.url.as_str());
        let id = hash(&[token, url]);
        let member = ListedMember {
            id: hash(&[url, token]),
            name: pod.name.clone(),
            peer_urls: vec![url.to_owned()],
            learner: false,
        };
        // One that begins with a snapshot does so in a cluster whose members are stopped.
        let running = self.processes.keys().any(|other| *other != pod.name);
        if self.clusters.values().any(|cluster| cluster.written) && (!pod.restores || running) {
            self.violations.push(format!("a second cluster {id:x} is begun by {}", pod.name));
        }
        let data = Data { cluster: id, member: member.id, index: 100, members: vec![member.clone()], broken: false };
        self.clusters.insert(id, Cluster { members: vec![member], acked: 1, ..Cluster::default() });
        data
    }
}

/// FNV-1a, 64 bits.
pub fn hash(parts: &[&str]) -> u64 {
    let bytes = parts.iter().flat_map(|part| part.bytes().chain([0]));
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}
