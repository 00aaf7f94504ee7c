//! Pure: how a cluster begins again from the snapshot of an EtcdRestore, which its operator has verified.
//!
//! The status records each phase before the next one begins, so a manager that takes over continues there:
//!
//! 1. `Stopping`: all pods are deleted, and are gone. The volumes are untouched, and so is what the status knows of the members.
//! 2. `Keeping`: the status has forgotten the members. Their PVCs get the label `replaced-by`, and are retired: no member starts on them.
//! 3. `Beginning`: a first member starts on a volume of its own, as in a new cluster with `spec.restore`.
//!
//! As long as the cluster has not begun again, the deletion of the EtcdRestore cancels it: the new member goes, the PVCs are as before,
//! and the operator recovers the status from them.

use std::sync::Arc;

use api::etcd_cluster::{EtcdRestoreProgress, RestoreStage};
use runtime::projections::Pvc;

use super::member_set::MemberSet;
use super::objects::{REPLACED_BY, RETIRED, VolumeFacts};
use super::observed::Observed;
use crate::{EtcdCluster, EtcdRestore};

/// A step of a restore.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RestoreStep {
    /// Record that it begins.
    Begin {
        /// The name of the EtcdRestore.
        name: String,
        /// Its UID.
        uid: String,
    },
    /// Delete the pods of all members.
    Stop,
    /// Record that the members are stopped, and forget them.
    Forget,
    /// Retire the PVCs of the earlier members.
    Keep,
    /// Record that they are retired.
    BeginAgain,
    /// Delete what there is of the new member, and take the PVCs of the earlier ones back.
    Return,
    /// Record that the restore has ended without a change.
    Cancel,
}

/// The restore that is under way.
pub(super) fn under_way(cluster: &EtcdCluster) -> Option<&EtcdRestoreProgress> {
    cluster.status.restore.as_ref().filter(|of| of.ended_at.is_none())
}

/// Whether the status knows no members because of a restore, although PVCs of members may be left.
pub(super) fn has_forgotten_members(cluster: &EtcdCluster) -> bool {
    under_way(cluster).is_some_and(|of| of.stage != RestoreStage::Stopping)
}

/// The cluster as its first member is created from it: with the snapshot of the EtcdRestore that is under way, and not with what the
/// cluster began with.
#[must_use]
pub fn effective(cluster: &Arc<EtcdCluster>, restores: &[Arc<EtcdRestore>]) -> Arc<EtcdCluster> {
    let Some(progress) = under_way(cluster) else { return Arc::clone(cluster) };
    let mut effective = EtcdCluster::clone(cluster);
    effective.spec.takeover = None;
    let begins = progress.stage == RestoreStage::Beginning;
    let restore = find(restores, progress).filter(|restore| begins && is_verified(restore));
    let source = restore.and_then(|restore| restore.spec.source(&restore.status, restore.meta.generation));
    if let Some((restore, mut source)) = restore.zip(source) {
        // What was verified, and not what may be there since.
        source.sha256 = restore.status.verified.as_ref().map(|verified| verified.sha256.clone());
        effective.spec.restore = Some(source);
    }
    Arc::new(effective)
}

/// Whether the snapshot that the spec of an EtcdRestore names is verified, and it is known where that is.
pub(super) fn is_verified(restore: &EtcdRestore) -> bool {
    let generation = restore.meta.generation;
    restore.status.is_verified(generation) && restore.spec.source(&restore.status, generation).is_some()
}

/// The EtcdRestore that is under way, unless a user has deleted it.
pub(super) fn find<'r>(restores: &'r [Arc<EtcdRestore>], progress: &EtcdRestoreProgress) -> Option<&'r EtcdRestore> {
    let of = restores.iter().find(|restore| *restore.meta.uid == *progress.uid);
    of.map(|restore| &**restore).filter(|restore| !restore.meta.deleting)
}

/// The PVCs that were retired for the restore.
pub(super) fn replaced<'o>(observed: &'o Observed, uid: &'o str) -> impl Iterator<Item = &'o Pvc> {
    let is_replaced = move |claim: &&Pvc| {
        claim.labels.contains_key(RETIRED) && claim.labels.get(REPLACED_BY).is_some_and(|of| **of == *uid)
    };
    observed.claims.iter().map(|claim| &**claim).filter(is_replaced)
}

/// The PVC of the new member: the only ones whose labels do not say what they hold are those, and of members that never voted.
pub(super) fn new_claims<'m>(cluster: &EtcdCluster, members: &'m MemberSet<'_>) -> impl Iterator<Item = &'m Pvc> {
    let begins = under_way(cluster).is_some_and(|of| of.stage == RestoreStage::Beginning);
    let claims = members.all.iter().filter_map(|member| member.claim);
    claims.filter(move |claim| begins && !claim.meta.deleting && VolumeFacts::of(claim).is_none())
}
