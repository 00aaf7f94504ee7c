//! What the operator sees of etcd, and what etcd makes of the operator's acts: its own checks, in its own words.

use std::collections::BTreeSet;
use std::sync::Arc;

use api::etcd_cluster::EtcdClusterReason;
use etcd_cluster::plan::{Alarm, Change, Endpoint, Etcd, EtcdAct, Member};
use runtime::Error;
use runtime::testing::branching::Answer;

use crate::raft::{Cluster, Etcds, hash};

/// For how many ticks voters have to be connected before etcd takes a member in.
const HEALTHY: u32 = 3;

/// How many entries are written within the deadline of one change.
const IN_TIME: u64 = 25_000;

/// Why etcd does not do as asked.
enum Refusal {
    /// Something in etcd has to come first.
    Wait,
    /// It has been done before.
    Done,
    Error(&'static str),
}

use Refusal::{Done, Wait};

impl Etcds {
    /// What the operator is told when it asks those pods, but for those to which it has no way.
    pub fn look(&self, places: &[(Arc<str>, Box<str>)], cut: &BTreeSet<String>, latched: Option<u64>) -> Etcd {
        let answer = |(pod, ip): &(Arc<str>, Box<str>)| (pod.clone(), self.endpoint(pod, ip, cut));
        let endpoints: std::collections::BTreeMap<_, _> = places.iter().map(answer).collect();
        let can = endpoints.values().flatten().filter(|endpoint| {
            let ours = latched.is_none_or(|latched| endpoint.cluster_id == latched);
            ours && endpoint.leader != 0 && !endpoint.learner
        });
        let size = |id: u64| endpoints.values().flatten().filter(|endpoint| endpoint.cluster_id == id).count();
        // The first of the largest.
        let asked = can.rev().max_by_key(|endpoint| size(endpoint.cluster_id));
        let cluster = asked.and_then(|endpoint| self.clusters.get(&endpoint.cluster_id));
        let members = cluster.map(|cluster| cluster.members.clone()).ok_or_else(|| "no leader".to_owned());
        let first = cluster.and_then(|cluster| cluster.members.first()).filter(|_| self.alarm);
        let alarms = first.map(|member| (member.id, Alarm::NoSpace)).into_iter().collect();
        Etcd { endpoints, members, alarms, denied: false, alone: false }
    }

    fn endpoint(&self, pod: &str, ip: &str, cut: &BTreeSet<String>) -> Result<Endpoint, String> {
        let process =
            self.processes.get(pod).filter(|process| process.ip == ip && process.reachable && !cut.contains(pod));
        let process = process.ok_or("cannot be reached")?;
        let data = self.volumes.get(&process.volume).ok_or("refuses connections")?;
        let cluster = self.clusters.get(&data.cluster).ok_or("refuses connections")?;
        if self.waiting(data.cluster, cluster).contains(&data.member) {
            return Err("refuses connections".to_owned());
        }
        let listed = cluster.members.iter().find(|member| member.id == data.member);
        Ok(Endpoint {
            cluster_id: data.cluster,
            member_id: data.member,
            version: process.version.to_string(),
            leader: listed.map_or(0, |_| cluster.leader),
            learner: listed.is_some_and(|member| member.learner),
            db_size: if self.full { 1 << 40 } else { 20480 },
            raft_index: data.index,
            applied_index: if process.version.has_learners() { data.index } else { 0 },
            quota: 0,
            keeps_leading: false,
            room: None,
        })
    }

    /// Performs an act, as `etcd::Live` and the operator do. What has been changed, if anything.
    ///
    /// # Errors
    /// As those.
    pub fn act(&mut self, act: &EtcdAct, cut: &BTreeSet<String>, answer: Answer) -> (bool, Result<(), Error>) {
        let lost =
            || Err(Error::transient(EtcdClusterReason::EtcdUnreachable, "whether the change was made is unknown"));
        let reached = |address: &&str| {
            self.processes
                .iter()
                .any(|(pod, process)| process.ip == **address && process.reachable && !cut.contains(pod))
        };
        let Some(asked) = act.via.iter().map(|via| &**via).find(reached) else {
            return (
                false,
                Err(Error::transient(EtcdClusterReason::EtcdUnreachable, "no member can be reached for the change")),
            );
        };
        if answer == Answer::Unasked {
            return (false, lost());
        }
        let asked = self.processes.iter().find(|(_, process)| process.ip == asked).map(|(pod, _)| pod.clone());
        let (done, outcome) = match self.change(&asked.unwrap_or_default(), &act.change) {
            Ok(()) => (true, Ok(())),
            Err(Wait) if matches!(act.change, Change::Touch | Change::Fill { entries: 2.. }) => {
                (false, Err(Error::transient(EtcdClusterReason::EtcdError, "etcd: no leader")))
            }
            Err(Done | Wait) => (false, Ok(())),
            Err(Refusal::Error(why)) => {
                (false, Err(Error::transient(EtcdClusterReason::EtcdError, format!("etcd: {why}"))))
            }
        };
        if answer == Answer::Lost { (done, lost()) } else { (done, outcome) }
    }

    /// A person removes a member by etcdctl, if etcd does it. One of two stays: the list of the other alone would not be believed until
    /// the person has put the volume of the removed one aside, which the stories of claims tell.
    pub fn expel(&mut self, name: &str) {
        let Some((asked, process)) = self.processes.iter().find(|(pod, process)| *pod != name && process.reachable)
        else {
            return;
        };
        let (asked, members) = (asked.clone(), self.volumes.get(&process.volume).map(|data| data.members.clone()));
        let members = members.unwrap_or_default();
        if let Some(member) = members.iter().find(|member| member.name == name && members.len() > 2) {
            let _ = self.change(&asked, &Change::Remove { id: member.id, absent: Vec::new(), staying: Vec::new() });
        }
    }

    fn change(&mut self, asked: &str, change: &Change) -> Result<(), Refusal> {
        let data = self.data(asked).ok_or(Refusal::Error("closed"))?.clone();
        let mut cluster = self.clusters.remove(&data.cluster).ok_or(Refusal::Error("closed"))?;
        let done = self.change_of(&mut cluster, asked, data.member, data.cluster, change);
        if let (Ok(()), Change::Add { .. }) = (&done, change)
            && let Some(member) = cluster.members.last().map(|member| member.id)
        {
            // Its addition is the last entry of the snapshot.
            let top = self.index(data.cluster, cluster.leader) + 1;
            cluster.added.insert(member, top);
        }
        if done.is_ok() && !matches!(change, Change::MoveLeader { .. }) {
            let entries = if let Change::Fill { entries } = change { *entries } else { 1 };
            self.append(data.cluster, &mut cluster, entries);
            if !cluster.members.iter().any(|member| member.id == cluster.leader) {
                cluster.leader = 0;
            }
        }
        self.clusters.insert(data.cluster, cluster);
        done
    }

    fn change_of(&mut self, c: &mut Cluster, asked: &str, me: u64, id: u64, change: &Change) -> Result<(), Refusal> {
        if c.leader == 0 || !c.members.iter().any(|member| member.id == me) {
            return Err(Wait);
        }
        let known = self.processes.get(asked).is_some_and(|process| process.version.has_learners());
        match change {
            Change::Add { peer_url, learner } => {
                if *learner && c.minor < 4 {
                    self.violations.push("a learner is added where not all members know of learners".to_owned());
                }
                may_add(c, peer_url, *learner && known)?;
                let member = hash(&[peer_url, &c.acked.to_string()]);
                c.members.push(Member {
                    id: member,
                    name: String::new(),
                    peer_urls: vec![peer_url.clone()],
                    learner: *learner && known,
                });
            }
            Change::Promote { id: learner } => {
                let member = c.members.iter().find(|member| member.id == *learner);
                if !member.ok_or(Refusal::Error("member not found"))?.learner {
                    return Err(Done);
                }
                if !self.in_sync(id, c, *learner) || !enough_started(c, c.voters().count() + 1, 1) {
                    return Err(Wait);
                }
                c.members.iter_mut().filter(|member| member.id == *learner).for_each(|member| member.learner = false);
            }
            Change::Remove { id: member, .. } => {
                may_remove(c, *member, self.up(id, *member).is_some())?;
                c.members.retain(|other| other.id != *member);
                c.gone.insert(*member);
            }
            Change::Fill { entries } if *entries > IN_TIME => return Err(Refusal::Error("it takes too long")),
            Change::Disarm { .. } => self.alarm = self.full,
            Change::Touch | Change::Fill { .. } => {}
            Change::MoveLeader { .. } if self.processes.get(asked).is_some_and(|process| process.version.minor < 3) => {
                return Err(Refusal::Error("unknown method MoveLeader for service etcdserverpb.Maintenance"));
            }
            Change::MoveLeader { to } => {
                let heir = c.voters().any(|member| member.id == *to) && self.up(id, *to).is_some();
                if c.leader != me || !heir {
                    return Err(Refusal::Error("not leader"));
                }
                c.leader = *to;
            }
        }
        Ok(())
    }
}

/// etcd's `mayAddMember`.
fn may_add(cluster: &Cluster, url: &String, learner: bool) -> Result<(), Refusal> {
    if cluster.members.iter().any(|member| member.peer_urls.contains(url)) {
        return Err(Done);
    }
    let learners = cluster.members.iter().filter(|member| member.learner).count();
    let connected = |id: u64| cluster.together.get(&id).is_some_and(|ticks| *ticks >= HEALTHY);
    let voters = cluster.voters().count();
    let alone = voters == 1 && cluster.voters().all(|member| !member.name.is_empty());
    let started = learner || alone || enough_started(cluster, voters + 1, 0);
    if (learner && learners > 0) || !started || !cluster.voters().all(|member| connected(member.id)) {
        return Err(Wait);
    }
    Ok(())
}

/// etcd's `mayRemoveMember`.
fn may_remove(cluster: &Cluster, id: u64, up: bool) -> Result<(), Refusal> {
    let Some(member) = cluster.members.iter().find(|member| member.id == id) else { return Err(Done) };
    if member.learner {
        return Ok(());
    }
    let others = cluster.voters().filter(|member| member.id != id);
    let (count, started) = others.fold((0, 0), |(n, s), other| (n + 1, s + usize::from(!other.name.is_empty())));
    if count == 0 || started < count / 2 + 1 {
        return Err(Wait);
    }
    let connected = |member: &Member| cluster.together.get(&member.id).is_some_and(|ticks| *ticks >= HEALTHY);
    let active = cluster.voters().filter(|member| connected(member)).count();
    // A member that is down is no part of the majority.
    if up && active.saturating_sub(1) < 1 + count / 2 {
        return Err(Wait);
    }
    Ok(())
}

/// Whether most of that many voters have started, counting `more`.
fn enough_started(cluster: &Cluster, voters: usize, more: usize) -> bool {
    cluster.voters().filter(|member| !member.name.is_empty()).count() + more > voters / 2
}
