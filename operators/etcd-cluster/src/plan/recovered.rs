//! Pure: what status has lost and volumes still tell.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use api::etcd_cluster::{EtcdClusterStatus, MOVE_LEADER, MemberRole, MemberStatus, StorageStatus};
use runtime::projections::Claim;

use super::objects::Facts;
use super::version::Version;
use super::{Observed, claim_copies};
use crate::EtcdCluster;

/// Restores of the cluster's status what the labels of its claims tell, if it is lost: it can vanish at any time, by
/// `kubectl replace --subresource=status` for example, or by a restore from a backup of objects without status. Everything
/// that is decided afterwards is decided by that.
#[must_use]
pub fn recovered(cluster: &Arc<EtcdCluster>, claims: &[Arc<Claim>]) -> Arc<EtcdCluster> {
    let Some(status) = lost_status(cluster, claims) else { return Arc::clone(cluster) };
    let mut known = EtcdCluster::clone(cluster);
    known.status = status;
    Arc::new(known)
}

fn lost_status(cluster: &EtcdCluster, claims: &[Arc<Claim>]) -> Option<EtcdClusterStatus> {
    if cluster.status.cluster_id.is_some() {
        return None;
    }
    let members = members(cluster, claims);
    let [cluster_id] = ids(&members).into_iter().collect::<Vec<_>>()[..] else { return None };
    let highest = members.iter().filter_map(|(_, facts)| Version::parse(&facts.version)).max_by_key(Version::numbers);
    let before = cluster.status.clone();
    Some(EtcdClusterStatus {
        cluster_id: Some(cluster_id.to_owned()),
        storage: Some(StorageStatus { durable: true }),
        target_version: before.target_version.or(highest.map(|version| version.to_string())),
        member_statuses: member_statuses(cluster, claims),
        // Whether that has been done before is not known any more, and leadership is not moved without need.
        leader_moved_for: cluster.annotations.get(MOVE_LEADER).map(|value| value.to_string()),
        ..before
    })
}

/// Whether any claim of this very object tells that a member has voted on it.
pub(super) fn tells_of_members(cluster: &EtcdCluster, claims: &[Arc<Claim>]) -> bool {
    !members(cluster, claims).is_empty()
}

/// The clusters that the claims tell of, each with its claims.
pub(super) fn clusters(observed: &Observed) -> BTreeMap<String, Vec<&str>> {
    let mut clusters: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for (name, facts) in members(&observed.cluster, &observed.claims) {
        clusters.entry(facts.cluster_id).or_default().push(name);
    }
    clusters
}

fn ids<'m>(members: &'m [(&str, Facts)]) -> BTreeSet<&'m str> {
    members.iter().map(|(_, facts)| &*facts.cluster_id).collect()
}

/// Claims of this very object, but for those of members that were removed, and copies.
fn own<'a>(cluster: &'a EtcdCluster, claims: &'a [Arc<Claim>]) -> impl Iterator<Item = &'a Claim> {
    claims.iter().map(|claim| &**claim).filter(move |claim| claim_copies::is_members(cluster, claim))
}

/// The members whose claims tell what they hold.
fn members<'a>(cluster: &'a EtcdCluster, claims: &'a [Arc<Claim>]) -> Vec<(&'a str, Facts)> {
    own(cluster, claims).filter_map(|claim| Some((&*claim.meta.key.name, Facts::of(claim)?))).collect()
}

/// Those members, and who has yet to join: a claim that tells nothing has never held a member's data.
fn member_statuses(cluster: &EtcdCluster, claims: &[Arc<Claim>]) -> Vec<MemberStatus> {
    let of = |claim: &Claim| match Facts::of(claim) {
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

fn member_status(name: &str, facts: &Facts) -> MemberStatus {
    MemberStatus {
        name: name.to_owned(),
        id: Some(facts.member_id.clone()),
        role: MemberRole::Unreachable,
        since: None,
        version: Some(facts.version.clone()),
        db_size: None,
    }
}
