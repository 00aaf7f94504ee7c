//! What status has lost and volumes still tell. Pure.

use std::collections::BTreeSet;
use std::sync::Arc;

use api::etcd_cluster::{EtcdClusterStatus, MemberRole, MemberStatus, StorageStatus};

use super::Observed;
use super::objects::{Facts, OWNER_UID, RETIRED};
use super::version::Version;

/// Restores of the cluster's status what the labels of its claims tell, if it is lost: it can vanish at any time, by
/// `kubectl replace --subresource=status` for example, or by a restore from a backup of objects without status. Everything
/// that is decided afterwards is decided by that.
pub fn recover(observed: &mut Observed) {
    if let Some(status) = lost_status(observed) {
        Arc::make_mut(&mut observed.cluster).status = status;
    }
}

fn lost_status(observed: &Observed) -> Option<EtcdClusterStatus> {
    let cluster = &observed.cluster;
    if cluster.status.cluster_id.is_some() {
        return None;
    }
    let members = members(observed);
    let ids: BTreeSet<&str> = members.iter().map(|(_, facts)| &*facts.cluster_id).collect();
    let [cluster_id] = ids.into_iter().collect::<Vec<_>>()[..] else { return None };
    let highest = members.iter().filter_map(|(_, facts)| Version::parse(&facts.version)).max_by_key(Version::numbers);
    let before = cluster.status.clone();
    Some(EtcdClusterStatus {
        cluster_id: Some(cluster_id.to_owned()),
        storage: before.storage.or(Some(StorageStatus { durable: true })),
        target_version: before.target_version.or(highest.map(|version| version.to_string())),
        member_statuses: members.iter().map(|(name, facts)| member_status(name, facts)).collect(),
        ..before
    })
}

/// The members whose claims tell what they hold.
fn members(observed: &Observed) -> Vec<(&str, Facts)> {
    let uid = &*observed.cluster.meta.uid;
    let ours = observed.claims.iter().filter(|claim| {
        claim.labels.get(OWNER_UID).is_some_and(|of| of == uid) && !claim.labels.contains_key(RETIRED)
    });
    ours.filter_map(|claim| Some((&*claim.meta.key.name, Facts::of(claim)?))).collect()
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
