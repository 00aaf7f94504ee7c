//! How etcd handles the changes that managers ask for: its own checks and messages.

use etcd_cluster::etcd::EtcdClientError;
use etcd_cluster::plan::{EtcdChange, ListedMember};

use super::cluster::{Cluster, hash};
use super::raft::CONNECTED;
use super::store::Etcds;

const TOO_FEW_STARTED: &str = "re-configuration failed due to not enough started members";
const UNHEALTHY: &str = "unhealthy cluster";

/// How etcd answers.
pub(super) type ChangeResult = Result<(), EtcdClientError>;

fn rejected(message: &str) -> EtcdClientError {
    EtcdClientError::Rejected(message.to_owned())
}

impl Etcds {
    /// Makes a change through the process of a pod.
    pub(super) fn change(&mut self, pod: &str, change: &EtcdChange) -> ChangeResult {
        let closed = || EtcdClientError::Connection("closed".to_owned());
        let (id, me) = self.data(pod).map(|data| (data.cluster, data.member)).ok_or_else(closed)?;
        let mut cluster = self.clusters.remove(&id).ok_or_else(closed)?;
        let had_quorum = self.has_quorum(id, &cluster);
        let answer = self.change_of(&mut cluster, id, me, change);
        if answer.is_ok() {
            self.commit(id, &mut cluster, change);
            // The second voter may vote at once only before version 3.4.
            if had_quorum && !self.has_quorum(id, &cluster) {
                self.violations.push(format!("the change {change:?} takes quorum away"));
            }
        }
        self.clusters.insert(id, cluster);
        answer
    }

    /// Appends the entries of a change.
    fn commit(&mut self, id: u64, cluster: &mut Cluster, change: &EtcdChange) {
        if let (EtcdChange::Add { .. }, Some(member)) = (change, cluster.members.last().map(|member| member.id)) {
            // Its addition is the last entry of the snapshot.
            let top = self.index(id, cluster.leader) + 1;
            cluster.added.insert(member, top);
        }
        let entries = match change {
            EtcdChange::MoveLeader { .. } => return,
            EtcdChange::Fill { entries } => *entries,
            _ => 1,
        };
        self.append(id, cluster, entries);
        if !cluster.members.iter().any(|member| member.id == cluster.leader) {
            cluster.leader = 0;
        }
    }

    fn has_quorum(&self, id: u64, cluster: &Cluster) -> bool {
        cluster.voters().filter(|voter| self.up(id, voter.id).is_some()).count() >= cluster.quorum()
    }

    fn change_of(&mut self, cluster: &mut Cluster, id: u64, me: u64, change: &EtcdChange) -> ChangeResult {
        if cluster.leader == 0 || !cluster.members.iter().any(|member| member.id == me) {
            return Err(rejected("no leader"));
        }
        match change {
            EtcdChange::Add { peer_url, learner } => {
                may_add(cluster, peer_url, *learner)?;
                cluster.members.push(ListedMember {
                    id: hash(&[peer_url, &cluster.acknowledged.to_string()]),
                    name: String::new(),
                    peer_urls: vec![peer_url.clone()],
                    learner: *learner,
                });
            }
            EtcdChange::Promote { id: learner } => {
                let member = cluster.members.iter().find(|member| member.id == *learner);
                if !member.ok_or_else(|| rejected("member not found"))?.learner {
                    return Err(rejected("can only promote a learner member"));
                }
                if !self.is_in_sync(id, cluster, *learner) {
                    return Err(rejected("can only promote a learner member which is in sync with leader"));
                }
                if !are_enough_started(cluster, cluster.voters().count() + 1, 1) {
                    return Err(rejected(TOO_FEW_STARTED));
                }
                let promoted = cluster.members.iter_mut().filter(|member| member.id == *learner);
                promoted.for_each(|member| member.learner = false);
            }
            EtcdChange::Remove { id: member, .. } => {
                may_remove(cluster, *member, self.up(id, *member).is_some())?;
                cluster.members.retain(|other| other.id != *member);
                cluster.removed.insert(*member);
            }
            EtcdChange::Disarm { .. }
            | EtcdChange::Compact { .. }
            | EtcdChange::Defragment { .. }
            | EtcdChange::Touch
            | EtcdChange::SetAuthentication { .. }
            | EtcdChange::Fill { .. } => {}
            EtcdChange::MoveLeader { to } => {
                if cluster.leader != me {
                    return Err(rejected("not leader"));
                }
                if !cluster.voters().any(|member| member.id == *to) || self.up(id, *to).is_none() {
                    return Err(rejected("bad leader transferee"));
                }
                (cluster.leader, cluster.term) = (*to, cluster.term + 1);
            }
        }
        Ok(())
    }
}

/// etcd's `mayAddMember`.
fn may_add(cluster: &Cluster, url: &String, learner: bool) -> ChangeResult {
    if cluster.members.iter().any(|member| member.peer_urls.contains(url)) {
        return Err(rejected("Peer URLs already exists"));
    }
    if learner && cluster.members.iter().any(|member| member.learner) {
        return Err(rejected("too many learner members in cluster"));
    }
    let voters = cluster.voters().count();
    let is_alone = voters == 1 && cluster.voters().all(|member| !member.name.is_empty());
    if !learner && !is_alone && !are_enough_started(cluster, voters + 1, 0) {
        return Err(rejected(TOO_FEW_STARTED));
    }
    if !cluster.voters().all(|member| is_connected(cluster, member)) {
        return Err(rejected(UNHEALTHY));
    }
    Ok(())
}

/// etcd's `mayRemoveMember`.
fn may_remove(cluster: &Cluster, id: u64, is_up: bool) -> ChangeResult {
    let member = cluster.members.iter().find(|member| member.id == id);
    if member.ok_or_else(|| rejected("member not found"))?.learner {
        return Ok(());
    }
    let others = cluster.voters().filter(|member| member.id != id);
    let (count, started) = others.fold((0, 0), |(n, s), other| (n + 1, s + usize::from(!other.name.is_empty())));
    if count == 0 || started < count / 2 + 1 {
        return Err(rejected(TOO_FEW_STARTED));
    }
    let active = cluster.voters().filter(|member| is_connected(cluster, member)).count();
    // A member that is down is no part of the majority.
    if is_up && active.saturating_sub(1) < 1 + count / 2 {
        return Err(rejected(UNHEALTHY));
    }
    Ok(())
}

fn is_connected(cluster: &Cluster, member: &ListedMember) -> bool {
    cluster.connected.get(&member.id).is_some_and(|ticks| *ticks >= CONNECTED)
}

/// Whether a majority of that many voters has started, counting `more`.
fn are_enough_started(cluster: &Cluster, voters: usize, more: usize) -> bool {
    cluster.voters().filter(|member| !member.name.is_empty()).count() + more > voters / 2
}
