//! Pure: the messages about alarms and steps.

use api::etcd_cluster::EtcdClusterReason;

use super::super::desired::Desired;
use super::super::member_set::{MemberSet, MemberView, hex};
use super::super::membership::EtcdStep;
use super::super::objects::InitialState;
use super::super::{Alarm, Explanation, Observed, image_check, known_good, reclaim, recovery, space};
use super::restore;
use crate::EtcdCluster;

/// The worst raised alarm, and the id of its member.
pub(super) fn alarm(observed: &Observed) -> Option<(u64, Alarm)> {
    let of = |kind: Alarm| observed.etcd.alarms.iter().find(|(_, alarm)| *alarm == kind).copied();
    of(Alarm::Corrupt).or_else(|| of(Alarm::NoSpace))
}

/// The message about an alarm.
pub(super) fn alarm_message(observed: &Observed, members: &MemberSet<'_>, id: u64, alarm: Alarm) -> String {
    let of = |member: &&MemberView<'_>| member.listed.is_some_and(|listed| listed.id == id);
    let member = members.listed().find(of);
    let name = member.map_or_else(|| format!("{} (no longer a member)", hex(id)), |member| member.name.clone());
    match (alarm, member) {
        // Without a member's id: 3.5 never reports one, and later versions do not if no majority agrees
        // (`server/etcdserver/corrupt.go`).
        (Alarm::Corrupt, None) if id == 0 => "etcd rejects requests: the data of a member differs from its peers', and etcd \
            does not know of which (alarm CORRUPT); find out which members are right (etcdctl endpoint hashkv --cluster), \
            delete the pod and the PVC of the one that is not, and disarm the alarm once it is replaced (etcdctl alarm disarm)"
            .to_owned(),
        (Alarm::Corrupt, Some(_)) => format!(
            "etcd rejects requests: the data of member {name} differs from its peers' (alarm CORRUPT); find out which are \
             right (etcdctl endpoint hashkv), delete the pod and the PVC of the one that is not, and disarm the alarm once it \
             is replaced (etcdctl alarm disarm)"
        ),
        (Alarm::Corrupt, None) => format!(
            "etcd rejects requests: the alarm CORRUPT of member {name} is still raised; make sure that the members agree \
             (etcdctl endpoint hashkv), then disarm it (etcdctl alarm disarm)"
        ),
        (Alarm::NoSpace, Some(member)) if space::is_lowered(&observed.cluster, member) => format!(
            "etcd rejects writes: the database of member {name} has reached its quota (alarm NOSPACE), which is less than the \
             spec sets until the next start of etcd, because the volume was full when it started; raise spec.storage.size, \
             after which the operator restarts members; or compact and defragment, after which the operator disarms the alarm, \
             and either set spec.quota to what fits the volumes, or restart the members with the quota that they have: kubectl \
             annotate etcd {cluster} kubectl.kubernetes.io/restartedAt=\"$(date -u +%FT%TZ)\" \
             --overwrite",
            cluster = observed.cluster.meta.key.name
        ),
        (Alarm::NoSpace, _) => match reclaim::usage(observed, members) {
            Some(usage) => format!(
                "etcd rejects writes: the database of member {name} has reached its quota (alarm NOSPACE), and {usage}; the operator \
                 compacts and defragments, and disarms the alarm once there is space; if keys need that much, delete some, or raise \
                 spec.quota, or spec.storage.size where the quota follows from it"
            ),
            None => format!(
                "etcd rejects writes: the database of member {name} has reached its quota (alarm NOSPACE); compact and defragment, \
                 or raise spec.quota, or spec.storage.size where the quota follows from it; the operator disarms the alarm once \
                 there is space"
            ),
        },
    }
}

/// The reason and message of a step.
pub(super) fn step_message(
    cluster: &EtcdCluster,
    members: &MemberSet<'_>,
    step: &EtcdStep,
    desired: &Desired,
) -> Explanation {
    let is_member = |name: &str| members.listed().any(|member| member.name == name);
    match step {
        EtcdStep::Adopt { names } => (
            EtcdClusterReason::AdoptingVolumes,
            format!("adopting the volumes of an earlier cluster: {}", names.join(", ")),
        ),
        EtcdStep::Start { name, state: InitialState::Recover } => {
            (EtcdClusterReason::Recovering, format!("starting member {name} as the only member of the cluster"))
        }
        EtcdStep::Start { name, .. } if is_restarting_one(cluster, members, desired, name) => {
            (EtcdClusterReason::RestartingMember, format!("waiting for member {name} to restart with the current spec"))
        }
        EtcdStep::Start { name, .. } => {
            (EtcdClusterReason::MemberStarting, format!("waiting for member {name} to start"))
        }
        EtcdStep::Add { name, .. } => {
            (EtcdClusterReason::MemberJoining, format!("waiting for etcd to add member {name}"))
        }
        EtcdStep::Promote { name, .. } | EtcdStep::Nudge { name } => {
            (EtcdClusterReason::MemberJoining, format!("waiting for member {name} to catch up, after which it votes"))
        }
        EtcdStep::Remove { name, replaced_because: Some(why), .. } => {
            (EtcdClusterReason::ReplacingMember, format!("replacing member {name}: {why}"))
        }
        EtcdStep::Remove { name, .. } => (EtcdClusterReason::RemovingMember, format!("removing member {name}")),
        EtcdStep::DeletePod { name } if recovery::under_way(cluster).is_some() => (
            EtcdClusterReason::Recovering,
            format!("waiting for pod {name} to be deleted, after which it starts as the only member of the cluster"),
        ),
        EtcdStep::DeletePod { name } | EtcdStep::RecreatePod { name } if is_member(name) => {
            (EtcdClusterReason::RestartingMember, format!("waiting for pod {name} to be deleted"))
        }
        EtcdStep::DeletePod { name } | EtcdStep::RecreatePod { name } => (
            EtcdClusterReason::RemovingMember,
            format!("waiting for pod {name}, which belongs to no member, to be deleted"),
        ),
        EtcdStep::BeginRecovery { from, without } => (EtcdClusterReason::Recovering, recovery_begins(from, without)),
        EtcdStep::RequestRestore { entry, .. } => (EtcdClusterReason::Recovering, restore_requested(entry)),
        EtcdStep::Fence { name, from } => (
            EtcdClusterReason::Recovering,
            format!("stopping member {name} before the cluster continues with member {from}"),
        ),
        EtcdStep::CancelRecovery => (EtcdClusterReason::QuorumLost, "the recovery ends without a change".to_owned()),
        EtcdStep::Stop => (EtcdClusterReason::Hibernating, "stopping all members, which keep their volumes".to_owned()),
        EtcdStep::Restore(step) => (EtcdClusterReason::Restoring, restore::message(step).to_owned()),
        EtcdStep::RemoveClaim { name } => {
            (EtcdClusterReason::RemovingMember, format!("cleaning up after member {name}"))
        }
        EtcdStep::MoveLeader { to, .. } => {
            (EtcdClusterReason::MovingLeader, format!("transferring leadership to member {to}"))
        }
        EtcdStep::Fill { left, .. } => {
            let why =
                "before the first member leaves 3.6, all members must take a snapshot (spec.options snapshot-count)";
            (EtcdClusterReason::FillingLog, format!("writing {left} more entries: {why}"))
        }
        EtcdStep::CheckImage { .. } | EtcdStep::DeleteImageCheck { retry: false } => {
            let again = image_check::retry_suffix(cluster, desired);
            (
                EtcdClusterReason::PullingImage,
                format!("checking whether image {} can be pulled{again}", desired.image()),
            )
        }
        EtcdStep::DeleteImageCheck { retry: true } => {
            (EtcdClusterReason::PullingImage, image_check::retry_message(desired))
        }
        EtcdStep::CheckPlacement { .. } | EtcdStep::DeletePlacementChecks => (
            EtcdClusterReason::RestartingMember,
            "checking whether a pod of the current spec starts before a member's pod is replaced".to_owned(),
        ),
        EtcdStep::Defragment { name, .. } => {
            (EtcdClusterReason::Defragmenting, format!("defragmenting the database of member {name}"))
        }
        EtcdStep::SetAuthentication { on } => {
            let state = if *on { "on" } else { "off" };
            (EtcdClusterReason::Reconciling, format!("turning the authentication of etcd {state}"))
        }
        EtcdStep::Upgrade { name } => {
            (EtcdClusterReason::Upgrading, format!("waiting for member {name} to run version {}", desired.version))
        }
        // While an alarm is raised, the message is that of the alarm.
        EtcdStep::Rest
        | EtcdStep::Hibernate
        | EtcdStep::Wait(_)
        | EtcdStep::Stuck(..)
        | EtcdStep::Compact { .. }
        | EtcdStep::Disarm { .. } => (EtcdClusterReason::Reconciling, String::new()),
    }
}

/// That a cluster begins to recover from a lost quorum.
pub(super) fn recovery_begins(from: &str, without: &[String]) -> String {
    format!("quorum is lost: the cluster continues with member {from}, and without {}", without.join(", "))
}

/// That a cluster is about to begin again from a backup.
pub(super) fn restore_requested(entry: &str) -> String {
    format!(
        "the volumes of all members are lost: the cluster begins again from the backup {entry} once that is verified"
    )
}

fn is_restarting_one(cluster: &EtcdCluster, members: &MemberSet<'_>, desired: &Desired, name: &str) -> bool {
    members.all.iter().any(|member| member.name == name && known_good::is_being_updated(cluster, member, desired))
}
