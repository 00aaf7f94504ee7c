//! Pure: the steps of a restore, which the status records from the first one on.

use api::etcd_cluster::{EtcdClusterReason, RestoreStage};
use jiff::Timestamp;

use super::step::EtcdStep;
use super::{from_backup, terminating};
use crate::EtcdRestore;
use crate::plan::desired::Desired;
use crate::plan::member_set::MemberSet;
use crate::plan::restore::{RestoreStep, find, is_verified, new_claims, replaced, under_way};
use crate::plan::{Observed, adoption, backups, recovered, takeover};

/// What waits for the pods of members.
const STOPS: &str = "the cluster begins again once the pods of its members are deleted";

/// The next step, if there is a restore.
pub(super) fn step(
    observed: &Observed,
    members: &MemberSet<'_>,
    desired: &Desired,
    now: Timestamp,
) -> Option<EtcdStep> {
    let cluster = &observed.cluster;
    if cluster.meta.deleting {
        return None;
    }
    let Some(progress) = under_way(cluster) else { return begin(observed, members, desired, now) };
    let restore = find(&observed.restores, progress);
    let is_deleted = restore.is_none() && !observed.restore_unreadable;
    let step = |step| Some(EtcdStep::Restore(step));
    // A member that answers has begun: clients may have reached it before the status has its cluster.
    if is_deleted && cluster.status.cluster_id.is_none() && !members.list_known {
        let returned = is_returned(observed, members, &progress.uid);
        return step(if returned { RestoreStep::Cancel } else { RestoreStep::Return });
    }
    match progress.stage {
        RestoreStage::Stopping if is_deleted => step(RestoreStep::Cancel),
        RestoreStage::Stopping if members.all.iter().any(|member| member.pod_details().is_some()) => {
            step(RestoreStep::Stop)
        }
        // A member that still runs could answer clients, and write.
        RestoreStage::Stopping => match terminating::message(STOPS, observed.pods.iter().map(|pod| &**pod)) {
            Some(message) => Some(EtcdStep::wait(EtcdClusterReason::Restoring, message)),
            None => step(RestoreStep::Forget),
        },
        RestoreStage::Keeping if members.all.iter().any(|member| member.claim.is_some()) => step(RestoreStep::Keep),
        RestoreStage::Keeping => step(RestoreStep::BeginAgain),
        RestoreStage::Beginning if cluster.status.cluster_id.is_some() || restore.is_some_and(is_verified) => None,
        RestoreStage::Beginning => {
            let message = format!("waiting until the EtcdRestore {} has verified its snapshot again", progress.name);
            Some(EtcdStep::wait(EtcdClusterReason::Restoring, message))
        }
    }
}

/// Begins a restore, or keeps a new cluster from beginning without its snapshot.
fn begin(observed: &Observed, members: &MemberSet<'_>, desired: &Desired, now: Timestamp) -> Option<EtcdStep> {
    // All its pods would be deleted, with which the earlier members have quorum.
    if takeover::is_pending(&observed.cluster) {
        return None;
    }
    let status = &observed.cluster.status;
    let adopts = status.cluster_id.is_none() && adoption::is_requested(observed);
    let exists = status.cluster_id.is_some() || adopts || recovered::has_members(&observed.cluster, &observed.claims);
    let is_done = |restore: &EtcdRestore| {
        restore.status.has_ended() || status.restore.as_ref().is_some_and(|last| *last.uid == *restore.meta.uid)
    };
    let mut open: Vec<&EtcdRestore> =
        observed.restores.iter().map(|of| &**of).filter(|of| !of.meta.deleting && !is_done(of)).collect();
    open.sort_by_key(|restore| (restore.created, restore.meta.key.name.clone()));
    let consents = |restore: &EtcdRestore| match &status.cluster_id {
        Some(id) => restore.spec.replace_cluster_id.as_ref() == Some(id),
        None => !exists,
    };
    // The operator's own consent ends with the reason for it.
    let wanted = |restore: &EtcdRestore| {
        !backups::is_of_operator(&observed.cluster, restore) || from_backup::is_wanted(observed, members, now)
    };
    let may_begin = |restore: &&EtcdRestore| is_verified(restore) && consents(restore) && wanted(restore);
    if let Some(restore) = open.iter().copied().find(may_begin).filter(|_| desired.durable) {
        let (name, uid) = (restore.meta.key.name.to_string(), restore.meta.uid.to_string());
        return Some(EtcdStep::Restore(RestoreStep::Begin { name, uid }));
    }
    let waiting = open.first().filter(|_| !exists && members.all.is_empty() && desired.durable)?;
    let message = format!(
        "waiting for the EtcdRestore {}, which verifies its snapshot; delete it, and the cluster begins without one",
        waiting.meta.key.name
    );
    Some(EtcdStep::wait(EtcdClusterReason::Restoring, message))
}

/// Whether nothing is left of the new member, and the earlier ones have their PVCs again.
fn is_returned(observed: &Observed, members: &MemberSet<'_>, uid: &str) -> bool {
    let no_claim = || new_claims(&observed.cluster, members).next().is_none();
    observed.pods.is_empty() && replaced(observed, uid).next().is_none() && no_claim()
}
