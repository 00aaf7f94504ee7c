//! Pure: recovers a lost status from the labels of PVCs.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use api::etcd_cluster::{
    DEFRAGMENT, EtcdClusterStatus, EtcdDefragmentationStatus, EtcdStorageStatus, MOVE_LEADER, MemberRole, MemberStatus,
};
use runtime::projections::Pvc;

use super::objects::VolumeFacts;
use super::version::Version;
use super::{Observed, claim_copies, restore};
use crate::EtcdCluster;

/// The cluster, with its status restored from the labels of its PVCs if the status was lost: that can happen at any time, for
/// example by `kubectl replace --subresource=status`, or if the objects are restored from a backup without status. The plan is
/// based on the result.
#[must_use]
pub fn with_recovered_status(cluster: &Arc<EtcdCluster>, claims: &[Arc<Pvc>]) -> Arc<EtcdCluster> {
    let Some(status) = lost_status(cluster, claims) else { return Arc::clone(cluster) };
    let mut known = EtcdCluster::clone(cluster);
    known.status = status;
    Arc::new(known)
}

fn lost_status(cluster: &EtcdCluster, claims: &[Arc<Pvc>]) -> Option<EtcdClusterStatus> {
    if cluster.status.cluster_id.is_some() || restore::has_forgotten_members(cluster) {
        return None;
    }
    let members = members(cluster, claims);
    let [cluster_id] = ids(&members).into_iter().collect::<Vec<_>>()[..] else { return None };
    let highest = members.iter().filter_map(|(_, facts)| Version::parse(&facts.version)).max_by_key(Version::numbers);
    let before = cluster.status.clone();
    Some(EtcdClusterStatus {
        cluster_id: Some(cluster_id.to_owned()),
        storage: Some(EtcdStorageStatus { durable: true }),
        target_version: before.target_version.or(highest.map(|version| version.to_string())),
        member_statuses: member_statuses(cluster, claims),
        // Whether that was done before is not known any more, and neither is done without need.
        leader_moved_for: cluster.annotations.get(MOVE_LEADER).map(|value| value.to_string()),
        defragmentation: cluster.annotations.get(DEFRAGMENT).map(|value| EtcdDefragmentationStatus {
            request: value.to_string(),
            ..EtcdDefragmentationStatus::default()
        }),
        ..before
    })
}

/// Whether any PVC of this very object records that a member has voted on it.
pub(super) fn has_members(cluster: &EtcdCluster, claims: &[Arc<Pvc>]) -> bool {
    !members(cluster, claims).is_empty()
}

/// The clusters that the PVCs belong to, each with its PVCs.
pub(super) fn clusters(observed: &Observed) -> BTreeMap<String, Vec<&str>> {
    let mut clusters: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for (name, facts) in members(&observed.cluster, &observed.claims) {
        clusters.entry(facts.cluster_id).or_default().push(name);
    }
    clusters
}

fn ids<'m>(members: &'m [(&str, VolumeFacts)]) -> BTreeSet<&'m str> {
    members.iter().map(|(_, facts)| &*facts.cluster_id).collect()
}

/// PVCs of this very object, except those of removed members, and copies.
fn own<'a>(cluster: &'a EtcdCluster, claims: &'a [Arc<Pvc>]) -> impl Iterator<Item = &'a Pvc> {
    claims.iter().map(|claim| &**claim).filter(move |claim| claim_copies::is_members(cluster, claim))
}

/// The members whose PVCs record what they hold.
fn members<'a>(cluster: &'a EtcdCluster, claims: &'a [Arc<Pvc>]) -> Vec<(&'a str, VolumeFacts)> {
    own(cluster, claims).filter_map(|claim| Some((&*claim.meta.key.name, VolumeFacts::of(claim)?))).collect()
}

/// Those members, and those that have yet to join: a PVC without a record has never held the data of a member.
fn member_statuses(cluster: &EtcdCluster, claims: &[Arc<Pvc>]) -> Vec<MemberStatus> {
    let of = |claim: &Pvc| match VolumeFacts::of(claim) {
        Some(facts) => member_status(&claim.meta.key.name, &facts),
        None => MemberStatus {
            name: claim.meta.key.name.to_string(),
            id: None,
            role: MemberRole::Joining,
            since: None,
            version: None,
            db_size: None,
        },
    };
    own(cluster, claims).map(of).collect()
}

fn member_status(name: &str, facts: &VolumeFacts) -> MemberStatus {
    MemberStatus {
        name: name.to_owned(),
        id: Some(facts.member_id.clone()),
        role: MemberRole::Unreachable,
        since: None,
        version: Some(facts.version.clone()),
        db_size: None,
    }
}
