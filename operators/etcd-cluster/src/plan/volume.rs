//! Pure: how large members' volumes are: by their claims, and by the file systems on them, which may have less.

use agent_protocol::EtcdWaitResult;
use etcd_sizing::file_system;

use super::objects::{self, QUOTA, VOLUME, WAIT};
use super::roster::Node;
use crate::EtcdCluster;

/// How large a member's volume is, in bytes: by its claim, or by its file system, where that has less.
pub(super) fn size(cluster: &EtcdCluster, node: &Node<'_>) -> Option<u64> {
    let claimed = claimed(cluster, node)?;
    // What was measured before a volume grew is not how large it is now.
    let measured = measured(node).filter(|_| planned(node).is_some_and(|planned| planned >= claimed));
    Some(measured.map_or(claimed, |measured| measured.volume_bytes.min(claimed)))
}

/// How large a member's database may grow, in bytes, as its pod has been made and its agent has fitted that to the file system
/// and to the database that was there; none where its volume has not decided that, or its pod does not tell.
pub(super) fn quota(node: &Node<'_>) -> Option<u64> {
    let measured = measured(node);
    match planned(node) {
        Some(planned) => {
            let volume = measured.as_ref().map_or(planned, |measured| measured.volume_bytes.min(planned));
            let database = measured.map_or(0, |measured| measured.database_bytes);
            Some(etcd_sizing::quota_of(volume, database, u64::MAX))
        }
        None => earlier_quota(node),
    }
}

/// Whether a member's claim has grown since its pod was made, so that with another pod its database may grow as well. By
/// claims alone: a file system that has less than its claim asks for has no more for the next pod.
pub(super) fn has_grown(cluster: &EtcdCluster, node: &Node<'_>) -> bool {
    let has = planned(node).map(etcd_sizing::quota).or_else(|| earlier_quota(node));
    let fits = claimed(cluster, node).filter(|_| objects::quota_follows_volume(cluster)).map(etcd_sizing::quota);
    has.zip(fits).is_some_and(|(has, fits)| fits / 10 > has / 9)
}

/// Whether a member's claim has grown since its pod was made.
pub(super) fn is_of_before_growth(cluster: &EtcdCluster, node: &Node<'_>) -> bool {
    planned(node).zip(claimed(cluster, node)).is_some_and(|(planned, claimed)| claimed > planned)
}

fn claimed(cluster: &EtcdCluster, node: &Node<'_>) -> Option<u64> {
    objects::volume(cluster, Some(node.claim?))
}

/// The volume that a member's pod was made for.
fn planned(node: &Node<'_>) -> Option<u64> {
    node.annotation(VOLUME)?.parse().ok()
}

/// The quota that a member's pod was made with, where an earlier manager made it.
fn earlier_quota(node: &Node<'_>) -> Option<u64> {
    node.annotation(QUOTA)?.parse().ok()
}

/// The sizes of a member's file system and database, in bytes, as the agent found them before etcd's first start in this pod.
/// Earlier agents left nothing, and what is no size is as good as that: then the claim counts alone.
fn measured(node: &Node<'_>) -> Option<EtcdWaitResult> {
    let ended = node.container(WAIT)?.ended.as_ref().filter(|ended| ended.code == 0)?;
    let measured: EtcdWaitResult = serde_json::from_str(&ended.message).ok()?;
    file_system(measured.volume_bytes).map(|_| measured)
}
