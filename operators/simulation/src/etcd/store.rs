//! The processes and data of all clusters, by pod and volume.

use std::collections::{BTreeMap, BTreeSet};

use etcd_cluster::plan::ListedMember;
use etcd_cluster::plan::version::Version;
use jiff::{SignedDuration, Timestamp};

use super::cluster::Cluster;
use crate::random::Random;

/// How far clusters advance in one tick.
pub(super) const TICK: SignedDuration = SignedDuration::from_millis(500);

/// After how many entries clients are idle, in worlds in which they are.
const ENTRIES_OF_IDLE_CLIENTS: u64 = 30;

/// The content of a member's data directory.
#[derive(Clone, Debug)]
pub(super) struct Data {
    /// The cluster that it belongs to.
    pub(super) cluster: u64,
    /// The member's id.
    pub(super) member: u64,
    /// The last index of its log.
    pub(super) index: u64,
    /// The members that it knows.
    pub(super) members: Vec<ListedMember>,
}

/// A process of etcd.
#[derive(Clone, Debug)]
pub(super) struct Process {
    /// The name of its pod.
    pub(super) pod: String,
    /// Its data.
    pub(super) volume: String,
    /// The version that it runs.
    pub(super) version: Version,
    /// Its address.
    pub(super) address: String,
    /// The URL of all members.
    pub(super) domain: String,
}

/// A member that a manager has disturbed, until it is up again.
#[derive(Clone, Debug)]
pub(super) struct Disturbance {
    /// Who.
    pub(super) user: String,
    /// Its cluster and id.
    pub(super) member: (u64, u64),
}

/// Processes and data of all clusters.
pub(super) struct Etcds {
    /// The data on volumes that are not empty: by the uid of the PVC.
    pub(super) volumes: BTreeMap<String, Data>,
    /// The processes, by the uid of the pod.
    pub(super) processes: BTreeMap<String, Process>,
    /// The clusters, by id.
    pub(super) clusters: BTreeMap<u64, Cluster>,
    /// The pods in which etcd has had data.
    pub(super) started: BTreeSet<String>,
    /// The pods whose process is to be killed.
    pub(super) killed: BTreeSet<String>,
    /// The clusters that clients reach: the URLs of all members.
    pub(super) served: BTreeSet<String>,
    /// The members that managers have disturbed, by the pod.
    pub(super) disturbed: BTreeMap<String, Disturbance>,
    /// What must not have happened.
    pub(super) violations: Vec<String>,
    pub(super) random: Random,
    /// How many entries clients write in all; `None` if they never stop.
    entries: Option<u64>,
    /// Until when the clusters have advanced.
    advanced: Option<Timestamp>,
}

impl Etcds {
    pub(super) fn new(mut random: Random) -> Self {
        let entries = random.chance(400).then_some(ENTRIES_OF_IDLE_CLIENTS);
        Self {
            volumes: BTreeMap::new(),
            processes: BTreeMap::new(),
            clusters: BTreeMap::new(),
            started: BTreeSet::new(),
            killed: BTreeSet::new(),
            served: BTreeSet::new(),
            disturbed: BTreeMap::new(),
            violations: Vec::new(),
            random,
            entries,
            advanced: None,
        }
    }

    /// Advances all clusters until now. Nothing else has changed since they were advanced last.
    pub(super) fn advance(&mut self, now: Timestamp) {
        let mut at = *self.advanced.get_or_insert(now);
        while let Some(next) = at.checked_add(TICK).ok().filter(|next| *next <= now) {
            at = next;
            self.tick();
        }
        self.advanced = Some(at);
    }

    fn tick(&mut self) {
        let ids: Vec<u64> = self.clusters.keys().copied().collect();
        for id in ids {
            let Some(mut cluster) = self.clusters.remove(&id) else { continue };
            self.tick_one(id, &mut cluster);
            self.clusters.insert(id, cluster);
        }
        let (processes, volumes) = (&self.processes, &self.volumes);
        let clusters = &self.clusters;
        self.disturbed.retain(|_, of| {
            let (id, member) = of.member;
            let is_up = processes.values().any(|process| {
                volumes.get(&process.volume).is_some_and(|data| (data.cluster, data.member) == (id, member))
            });
            let Some(cluster) = clusters.get(&id) else { return false };
            !(is_up && cluster.leader != 0) && cluster.voters().any(|voter| voter.id == member)
        });
    }

    /// Whether clients write another entry to a cluster.
    pub(super) fn is_written(&self, cluster: &Cluster) -> bool {
        self.served.contains(&cluster.domain) && self.entries.is_none_or(|entries| cluster.entries < entries)
    }

    /// Whether clients have stopped to write, so that learners wait for the next entry.
    pub(super) fn is_idle(&self, cluster: &Cluster) -> bool {
        !self.is_written(cluster)
    }

    /// The data that the process of a pod works on.
    pub(super) fn data(&self, pod: &str) -> Option<&Data> {
        self.volumes.get(&self.processes.get(pod)?.volume)
    }

    /// The pod in which a member runs.
    pub(super) fn up(&self, cluster: u64, id: u64) -> Option<(&str, &Process)> {
        let is = |pod: &str| self.data(pod).is_some_and(|data| (data.cluster, data.member) == (cluster, id));
        self.processes.iter().find(|(pod, _)| is(pod)).map(|(pod, process)| (pod.as_str(), process))
    }

    /// The index of a member that runs; 0 if it does not.
    pub(super) fn index(&self, cluster: u64, member: u64) -> u64 {
        self.up(cluster, member).and_then(|(pod, _)| self.data(pod)).map_or(0, |data| data.index)
    }

    /// The pod of the process at an address.
    pub(super) fn at(&self, address: &str) -> Option<&str> {
        self.processes.iter().find(|(_, process)| process.address == address).map(|(pod, _)| pod.as_str())
    }

    /// The process of that number is to be killed.
    pub(super) fn kill(&mut self, number: u64) -> Option<String> {
        let count = u64::try_from(self.processes.len()).unwrap_or_default();
        let place = usize::try_from(number.checked_rem(count)?).unwrap_or_default();
        let (uid, process) = self.processes.iter().nth(place)?;
        self.killed.insert(uid.clone());
        Some(process.pod.clone())
    }

    /// The process of a pod ends, because of a write of `user`.
    ///
    /// A manager may disturb one member after the other, but never so many at once that the others are no majority. Two members are
    /// no better than one in that.
    pub(super) fn stop(&mut self, pod: &str, user: &str) {
        let member = self.data(pod).map(|data| (data.cluster, data.member));
        self.processes.remove(pod);
        let Some(member) = member.filter(|_| user.starts_with("manager-")) else { return };
        self.disturbed.insert(pod.to_owned(), Disturbance { user: user.to_owned(), member });
        let Some(cluster) = self.clusters.get(&member.0) else { return };
        let voters: Vec<u64> = cluster.voters().map(|voter| voter.id).collect();
        let disturbed: BTreeSet<u64> = self
            .disturbed
            .values()
            .filter(|of| of.user == user && of.member.0 == member.0 && voters.contains(&of.member.1))
            .map(|of| of.member.1)
            .collect();
        if voters.len() > 2 && voters.len() - disturbed.len() < cluster.quorum() {
            let what =
                format!("{user} took quorum away: {} of {} voters stopped at once", disturbed.len(), voters.len());
            self.violations.push(what);
        }
    }
}
