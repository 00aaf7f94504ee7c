//! What status has lost and volumes still tell. Pure.

use std::collections::BTreeSet;
use std::sync::Arc;

use api::etcd_cluster::{EtcdClusterStatus, MOVE_LEADER, MemberRole, MemberStatus, StorageStatus};
use runtime::cache::View as _;
use runtime::views::Claim;
use serde_json::json;

use super::Observed;
use super::objects::{Facts, OWNER_UID, RETIRED};
use super::version::Version;
use crate::EtcdCluster;

/// Restores of the cluster's status what the labels of its claims tell, if it is lost: it can vanish at any time, by
/// `kubectl replace --subresource=status` for example, or by a restore from a backup of objects without status. Everything
/// that is decided afterwards is decided by that.
pub fn recover(observed: &mut Observed) {
    if let Some(status) = lost_status(observed) {
        if let Some(mut cluster) = copy(&observed.cluster) {
            cluster.status = status;
            observed.cluster = Arc::new(cluster);
        }
    }
}

/// The same object once more, read anew from what it says.
pub(super) fn copy(cluster: &EtcdCluster) -> Option<EtcdCluster> {
    let key = &cluster.meta.key;
    let meta = json!({ "namespace": &*key.namespace, "name": &*key.name, "uid": &*cluster.meta.uid });
    let said = json!({ "metadata": meta, "spec": cluster.spec, "status": cluster.status });
    let mut copy = EtcdCluster::decode(&said.to_string()).ok()?;
    copy.meta = cluster.meta.clone();
    copy.restarted_at.clone_from(&cluster.restarted_at);
    copy.annotations.clone_from(&cluster.annotations);
    Some(copy)
}

fn lost_status(observed: &Observed) -> Option<EtcdClusterStatus> {
    let cluster = &observed.cluster;
    if cluster.status.cluster_id.is_some() {
        return None;
    }
    let members = members(observed);
    let [cluster_id] = ids(&members).into_iter().collect::<Vec<_>>()[..] else { return None };
    let highest = members.iter().filter_map(|(_, facts)| Version::parse(&facts.version)).max_by_key(Version::numbers);
    let before = cluster.status.clone();
    Some(EtcdClusterStatus {
        cluster_id: Some(cluster_id.to_owned()),
        storage: Some(StorageStatus { durable: true }),
        target_version: before.target_version.or(highest.map(|version| version.to_string())),
        member_statuses: member_statuses(observed),
        // Whether that has been done before is not known any more, and leadership is not moved without need.
        leader_moved_for: cluster.annotations.get(MOVE_LEADER).map(|value| value.to_string()),
        ..before
    })
}

/// Whether the cluster's claims tell of more than one cluster, so that nobody but a person knows which is meant.
pub(super) fn is_ambiguous(observed: &Observed) -> bool {
    ids(&members(observed)).len() > 1
}

fn ids<'m>(members: &'m [(&str, Facts)]) -> BTreeSet<&'m str> {
    members.iter().map(|(_, facts)| &*facts.cluster_id).collect()
}

/// Claims of this very object, but for those of members that were removed.
fn claims(observed: &Observed) -> impl Iterator<Item = &Claim> {
    let uid = &*observed.cluster.meta.uid;
    let ours = move |claim: &&Claim| {
        claim.labels.get(OWNER_UID).is_some_and(|of| of == uid) && !claim.labels.contains_key(RETIRED)
    };
    observed.claims.iter().map(|claim| &**claim).filter(ours)
}

/// The members whose claims tell what they hold.
fn members(observed: &Observed) -> Vec<(&str, Facts)> {
    claims(observed).filter_map(|claim| Some((&*claim.meta.key.name, Facts::of(claim)?))).collect()
}

/// Those members, and who has yet to join: a claim that tells nothing has never held a member's data.
fn member_statuses(observed: &Observed) -> Vec<MemberStatus> {
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
    claims(observed).map(of).collect()
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
