//! What the operator observes of etcd, and how etcd handles the operator's acts: its own checks and messages.

use std::collections::BTreeSet;

use api::etcd_cluster::EtcdClusterReason;
use etcd_cluster::etcd::MemberEndpoint;
use etcd_cluster::plan::{
    Alarm, Authentication, Defragmentation, EndpointStatus, Etcd, EtcdAct, EtcdChange, ListedMember,
};
use runtime::Error;
use runtime::testing::fault_injection::ActAnswer;

use crate::raft::{Cluster, Etcds, hash};

/// The ticks for which voters have to be connected before etcd adds a member.
const HEALTHY: u32 = 3;

/// How many entries are written within the deadline of one change.
const IN_TIME: u64 = 25_000;

/// Why etcd rejects a change.
enum Refusal {
    /// etcd accepts it later.
    Wait,
    /// It was made before.
    Done,
    Error(&'static str),
}

use Refusal::{Done, Wait};

impl Etcds {
    /// The result of a query of these endpoints. The operator cannot reach those in `cut`.
    pub fn query(&self, endpoints: &[MemberEndpoint], cut: &BTreeSet<String>, latched: Option<u64>) -> Etcd {
        if let Some(denied) = self.denied(endpoints) {
            return denied;
        }
        let answer = |of: &MemberEndpoint| (of.pod.clone(), self.endpoint(&of.pod, &of.address, cut));
        let endpoints: std::collections::BTreeMap<_, _> = endpoints.iter().map(answer).collect();
        let can = endpoints.values().flatten().filter(|endpoint| {
            let counts = latched.is_none_or(|latched| endpoint.cluster_id == latched);
            counts && endpoint.leader != 0 && !endpoint.learner
        });
        let size = |id: u64| endpoints.values().flatten().filter(|endpoint| endpoint.cluster_id == id).count();
        // The first of the largest.
        let asked = can.rev().max_by_key(|endpoint| size(endpoint.cluster_id));
        let cluster = asked.and_then(|endpoint| self.clusters.get(&endpoint.cluster_id));
        let members = cluster.map(|cluster| cluster.members.clone()).ok_or_else(|| "no leader".to_owned());
        let first = cluster.and_then(|cluster| cluster.members.first()).filter(|_| self.alarm);
        let alarms = first.map(|member| (member.id, Alarm::NoSpace)).into_iter().collect();
        let done = |pod: &String| (pod.as_str().into(), Defragmentation::Done { revision: 0, recently: false });
        let defragmentations = self.defragmented.iter().map(done).collect();
        let authentication = if self.requires_users { Authentication::On } else { Authentication::Off };
        Etcd { endpoints, members, alarms, defragmentations, authentication, ..Etcd::default() }
    }

    /// The result of a query without the password of root, or with another one: as of the versions that require a user for a status.
    fn denied(&self, endpoints: &[MemberEndpoint]) -> Option<Etcd> {
        let offered = endpoints.iter().find_map(|of| of.root.as_ref());
        if !self.requires_users || offered == self.root.as_ref() {
            return None;
        }
        let why = offered.map_or("requires authentication", |_| "rejects the password of root").to_owned();
        Some(Etcd {
            endpoints: endpoints.iter().map(|of| (of.pod.clone(), Err(why.clone()))).collect(),
            members: Err(why.clone()),
            auth_required: true,
            authentication: offered.map_or(Authentication::Unknown, |_| Authentication::RootRejected(why)),
            ..Etcd::default()
        })
    }

    fn endpoint(&self, pod: &str, ip: &str, cut: &BTreeSet<String>) -> Result<EndpointStatus, String> {
        let process =
            self.processes.get(pod).filter(|process| process.ip == ip && process.reachable && !cut.contains(pod));
        let process = process.ok_or("cannot be reached")?;
        let data = self.volumes.get(&process.volume).ok_or("refuses connections")?;
        let cluster = self.clusters.get(&data.cluster).ok_or("refuses connections")?;
        if self.waiting(data.cluster, cluster).contains(&data.member) {
            return Err("refuses connections".to_owned());
        }
        let listed = cluster.members.iter().find(|member| member.id == data.member);
        Ok(EndpointStatus {
            cluster_id: data.cluster,
            member_id: data.member,
            version: process.version.to_string(),
            leader: listed.map_or(0, |_| cluster.leader),
            learner: listed.is_some_and(|member| member.learner),
            db_size: if self.full { 1 << 40 } else { 20480 },
            raft_index: data.index,
            applied_index: if process.version.has_learners() { data.index } else { 0 },
            ..EndpointStatus::default()
        })
    }

    /// Performs an act, as `GrpcEtcdClient` and the operator do. Returns whether anything changed.
    ///
    /// # Errors
    /// As those.
    pub fn act(&mut self, act: &EtcdAct, cut: &BTreeSet<String>, answer: ActAnswer) -> (bool, Result<(), Error>) {
        let (endpoints, change) = change_of(act);
        let lost = || Err(Error::transient(EtcdClusterReason::EtcdUnreachable, "the result of the change is unknown"));
        let reached = |address: &&str| {
            self.processes
                .iter()
                .any(|(pod, process)| process.ip == **address && process.reachable && !cut.contains(pod))
        };
        let Some(asked) = endpoints.iter().map(|via| &**via).find(reached) else {
            return (
                false,
                Err(Error::transient(EtcdClusterReason::EtcdUnreachable, "no member can be reached for the change")),
            );
        };
        if answer == ActAnswer::RequestLost {
            return (false, lost());
        }
        let asked = self.processes.iter().find(|(_, process)| process.ip == asked).map(|(pod, _)| pod.clone());
        let (done, outcome) = match self.change(&asked.unwrap_or_default(), change) {
            Ok(()) => (true, Ok(())),
            Err(Wait) if matches!(change, EtcdChange::Touch | EtcdChange::Fill { entries: 2.. }) => {
                (false, Err(Error::transient(EtcdClusterReason::EtcdError, "etcd: no leader")))
            }
            Err(Done | Wait) => (false, Ok(())),
            Err(Refusal::Error(why)) => {
                (false, Err(Error::transient(EtcdClusterReason::EtcdError, format!("etcd: {why}"))))
            }
        };
        if answer == ActAnswer::Lost { (done, lost()) } else { (done, outcome) }
    }

    /// A user removes a member with etcdctl, if etcd accepts it. One of two stays: the operator would not trust the list of the
    /// other until the user retires the volume of the removed one, which the tests of claims cover.
    pub fn expel(&mut self, name: &str) {
        let Some((asked, process)) = self.processes.iter().find(|(pod, process)| *pod != name && process.reachable)
        else {
            return;
        };
        let (asked, members) = (asked.clone(), self.volumes.get(&process.volume).map(|data| data.members.clone()));
        let members = members.unwrap_or_default();
        if let Some(member) = members.iter().find(|member| member.name == name && members.len() > 2) {
            let _ = self.change(&asked, &EtcdChange::Remove { id: member.id, absent: Vec::new(), staying: Vec::new() });
        }
    }

    fn change(&mut self, asked: &str, change: &EtcdChange) -> Result<(), Refusal> {
        let data = self.data(asked).ok_or(Refusal::Error("closed"))?.clone();
        let mut cluster = self.clusters.remove(&data.cluster).ok_or(Refusal::Error("closed"))?;
        let done = self.change_of(&mut cluster, asked, data.member, data.cluster, change);
        if let (Ok(()), EtcdChange::Add { .. }) = (&done, change)
            && let Some(member) = cluster.members.last().map(|member| member.id)
        {
            // Its addition is the last entry of the snapshot.
            let top = self.index(data.cluster, cluster.leader) + 1;
            cluster.added.insert(member, top);
        }
        if done.is_ok() && !matches!(change, EtcdChange::MoveLeader { .. }) {
            let entries = if let EtcdChange::Fill { entries } = change { *entries } else { 1 };
            self.append(data.cluster, &mut cluster, entries);
            if !cluster.members.iter().any(|member| member.id == cluster.leader) {
                cluster.leader = 0;
            }
        }
        self.clusters.insert(data.cluster, cluster);
        done
    }

    fn change_of(
        &mut self,
        c: &mut Cluster,
        asked: &str,
        me: u64,
        id: u64,
        change: &EtcdChange,
    ) -> Result<(), Refusal> {
        if c.leader == 0 || !c.members.iter().any(|member| member.id == me) {
            return Err(Wait);
        }
        let known = self.processes.get(asked).is_some_and(|process| process.version.has_learners());
        match change {
            EtcdChange::Add { peer_url, learner } => {
                if *learner && c.minor < 4 {
                    self.violations.push("a learner is added where not all members know of learners".to_owned());
                }
                may_add(c, peer_url, *learner && known)?;
                let member = hash(&[peer_url, &c.acked.to_string()]);
                c.members.push(ListedMember {
                    id: member,
                    name: String::new(),
                    peer_urls: vec![peer_url.clone()],
                    learner: *learner && known,
                });
            }
            EtcdChange::Promote { id: learner } => {
                let member = c.members.iter().find(|member| member.id == *learner);
                if !member.ok_or(Refusal::Error("member not found"))?.learner {
                    return Err(Done);
                }
                if !self.in_sync(id, c, *learner) || !enough_started(c, c.voters().count() + 1, 1) {
                    return Err(Wait);
                }
                c.members.iter_mut().filter(|member| member.id == *learner).for_each(|member| member.learner = false);
            }
            EtcdChange::Remove { id: member, .. } => {
                may_remove(c, *member, self.up(id, *member).is_some())?;
                c.members.retain(|other| other.id != *member);
                c.removed.insert(*member);
            }
            EtcdChange::Fill { entries } if *entries > IN_TIME => return Err(Refusal::Error("it takes too long")),
            EtcdChange::Disarm { .. } => {
                self.alarm = self.full;
                self.defragmented.clear();
            }
            EtcdChange::Defragment { .. } => {
                self.defragmented.insert(asked.to_owned());
            }
            EtcdChange::SetAuthentication { on } => self.requires_users = *on,
            EtcdChange::Touch | EtcdChange::Fill { .. } | EtcdChange::Compact { .. } => {}
            EtcdChange::MoveLeader { .. }
                if self.processes.get(asked).is_some_and(|process| process.version.minor < 3) =>
            {
                return Err(Refusal::Error("unknown method MoveLeader for service etcdserverpb.Maintenance"));
            }
            EtcdChange::MoveLeader { to } => {
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
    let connected = |member: &ListedMember| cluster.together.get(&member.id).is_some_and(|ticks| *ticks >= HEALTHY);
    let active = cluster.voters().filter(|member| connected(member)).count();
    // A member that is down is no part of the majority.
    if up && active.saturating_sub(1) < 1 + count / 2 {
        return Err(Wait);
    }
    Ok(())
}

/// Whether a majority of that many voters has started, counting `more`.
fn enough_started(cluster: &Cluster, voters: usize, more: usize) -> bool {
    cluster.voters().filter(|member| !member.name.is_empty()).count() + more > voters / 2
}

/// The change of etcd that an act makes.
///
/// # Panics
/// If it is none: no cluster of the model has certificates that the operator issues.
pub fn change_of(act: &EtcdAct) -> (&[Box<str>], &EtcdChange) {
    let EtcdAct::Change { endpoints, change } = act else { panic!("the model issues no certificates: {act:?}") };
    (endpoints, change)
}
