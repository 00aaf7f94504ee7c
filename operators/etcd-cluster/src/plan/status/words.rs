//! Pure: alarms and steps, in words.

use api::etcd_cluster::EtcdClusterReason;

use super::super::membership::Step;
use super::super::roster::{Node, Roster, hex};
use super::super::wish::Wish;
use super::super::{Alarm, Explanation, Observed, proven, pull, space};
use crate::EtcdCluster;

/// The worst alarm that is on, and the member that it is of.
pub(super) fn alarm(observed: &Observed) -> Option<(u64, Alarm)> {
    let of = |kind: Alarm| observed.etcd.alarms.iter().find(|(_, alarm)| *alarm == kind).copied();
    of(Alarm::Corrupt).or_else(|| of(Alarm::NoSpace))
}

/// What an alarm means, and what to do.
pub(super) fn alarmed(observed: &Observed, roster: &Roster<'_>, id: u64, alarm: Alarm) -> String {
    let of = |node: &&Node<'_>| node.member.is_some_and(|member| member.id == id);
    let node = roster.members().find(of);
    let name = node.map_or_else(|| format!("{} (no member any more)", hex(id)), |node| node.name.clone());
    match (alarm, node) {
        // No member's id: 3.5 never tells whose data it is, and later versions do not where no majority agrees
        // (`server/etcdserver/corrupt.go`).
        (Alarm::Corrupt, None) if id == 0 => "a member's data differs from its peers', and etcd cannot tell whose (alarm \
             CORRUPT), so requests are refused: find out which members are right (etcdctl endpoint hashkv --cluster), delete the \
             pod and the claim of the one that is not, and when it has been replaced disarm the alarm (etcdctl alarm disarm)"
            .to_owned(),
        (Alarm::Corrupt, Some(_)) => format!(
            "the data of member {name} differs from its peers' (alarm CORRUPT), so requests are refused: find out which \
             are right (etcdctl endpoint hashkv), delete the pod and the claim of the one that is not, and when it has \
             been replaced disarm the alarm (etcdctl alarm disarm)"
        ),
        (Alarm::Corrupt, None) => format!(
            "the alarm CORRUPT of member {name} is still on, so requests are refused: make sure that the members agree \
             (etcdctl endpoint hashkv), then disarm it (etcdctl alarm disarm)"
        ),
        (Alarm::NoSpace, Some(node)) if space::is_lowered(&observed.cluster, node) => format!(
            "the database of member {name} has reached its quota (alarm NOSPACE), so writes are refused; the quota is less than \
             the spec asks for, since the volume had no room left when etcd started, and stays so until its next start: raise \
             spec.storage.size, after which members start again by themselves; or compact and defragment, after which the alarm \
             is taken back, and either set spec.quota to what the volumes have room for, or have members start again with the \
             one they have: kubectl annotate etcd {cluster} kubectl.kubernetes.io/restartedAt=\"$(date -u +%FT%TZ)\" \
             --overwrite",
            cluster = observed.cluster.meta.key.name
        ),
        (Alarm::NoSpace, _) => format!(
            "the database of member {name} has reached its quota (alarm NOSPACE), so writes are refused: compact and \
             defragment, or raise spec.quota, or spec.storage.size where that decides the quota; the alarm is taken back \
             once there is room"
        ),
    }
}

/// A step, in words.
pub(super) fn doing(cluster: &EtcdCluster, roster: &Roster<'_>, step: &Step, wish: &Wish) -> Explanation {
    let is_member = |name: &str| roster.members().any(|node| node.name == name);
    match step {
        Step::Adopt { names } => (
            EtcdClusterReason::AdoptingVolumes,
            format!("adopting the volumes of an earlier cluster: {}", names.join(", ")),
        ),
        Step::Start { name, .. } if is_restarting_one(cluster, roster, wish, name) => {
            (EtcdClusterReason::RestartingMember, format!("waiting for member {name} to start again as the spec asks"))
        }
        Step::Start { name, .. } => (EtcdClusterReason::MemberStarting, format!("waiting for member {name} to start")),
        Step::Add { name, .. } => (EtcdClusterReason::MemberJoining, format!("waiting for etcd to add member {name}")),
        Step::Promote { name, .. } | Step::Nudge { name } => {
            (EtcdClusterReason::MemberJoining, format!("waiting for member {name} to catch up, after which it votes"))
        }
        Step::Remove { name, dead: Some(why), .. } => {
            (EtcdClusterReason::ReplacingMember, format!("replacing member {name}: {why}"))
        }
        Step::Remove { name, .. } => (EtcdClusterReason::RemovingMember, format!("removing member {name}")),
        Step::DropPod { name } | Step::Renew { name } if is_member(name) => {
            (EtcdClusterReason::RestartingMember, format!("waiting for pod {name} to be deleted"))
        }
        Step::DropPod { name } | Step::Renew { name } => (
            EtcdClusterReason::RemovingMember,
            format!("waiting for pod {name}, which belongs to no member, to be deleted"),
        ),
        Step::DropClaim { name } => (EtcdClusterReason::RemovingMember, format!("cleaning up after member {name}")),
        Step::MoveLeader { to, .. } => {
            (EtcdClusterReason::MovingLeader, format!("transferring leadership to member {to}"))
        }
        Step::Fill { left, .. } => {
            let why = "before the first member leaves 3.6, all must have taken a snapshot (options.snapshot-count)";
            (EtcdClusterReason::FillingLog, format!("{why}: {left} more entries to write"))
        }
        Step::Pull { .. } | Step::DropPull { again: false } => {
            let again = pull::again(cluster, wish);
            (EtcdClusterReason::PullingImage, format!("checking whether image {} can be pulled{again}", wish.image()))
        }
        Step::DropPull { again: true } => (EtcdClusterReason::PullingImage, pull::is_tried_again(wish)),
        Step::Try { .. } | Step::DropTrials => (
            EtcdClusterReason::RestartingMember,
            "trying whether a pod as the spec asks starts, before a member gives up its own".to_owned(),
        ),
        Step::Upgrade { name } => {
            (EtcdClusterReason::Upgrading, format!("waiting for member {name} to run version {}", wish.version))
        }
        // As long as there is an alarm, it is told of that.
        Step::Rest | Step::Wait(_) | Step::Stuck(..) | Step::Disarm { .. } => {
            (EtcdClusterReason::Reconciling, String::new())
        }
    }
}

fn is_restarting_one(cluster: &EtcdCluster, roster: &Roster<'_>, wish: &Wish, name: &str) -> bool {
    roster.nodes.iter().any(|node| node.name == name && proven::is_being_renewed(cluster, node, wish))
}
