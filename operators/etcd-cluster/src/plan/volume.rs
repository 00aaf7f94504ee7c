//! Pure: the sizes of members' volumes: of their PVCs, and of their file systems, which may be smaller.

use agent_protocol::EtcdWaitResult;
use etcd_sizing::known_size;

use super::member_set::MemberView;
use super::objects::{self, QUOTA, VOLUME, WAIT};
use crate::EtcdCluster;

/// The size of a member's volume, in bytes: of its PVC, or of its file system if that is smaller.
pub(super) fn size(cluster: &EtcdCluster, member: &MemberView<'_>) -> Option<u64> {
    let claimed = claimed(cluster, member)?;
    // A measurement from before the volume grew is out of date.
    let measured = measured(member).filter(|_| planned(member).is_some_and(|planned| planned >= claimed));
    Some(measured.map_or(claimed, |measured| measured.volume_bytes.min(claimed)))
}

/// A member's quota, in bytes, for which its pod was created, and which its agent adapted to the file system and to the existing
/// database; none if it does not follow from the volume, or the pod does not record it.
pub(super) fn quota(member: &MemberView<'_>) -> Option<u64> {
    let measured = measured(member);
    match planned(member) {
        Some(planned) => {
            let volume = measured.as_ref().map_or(planned, |measured| measured.volume_bytes.min(planned));
            let database = measured.map_or(0, |measured| measured.database_bytes);
            Some(etcd_sizing::quota_for_database(volume, database, u64::MAX))
        }
        None => earlier_quota(member),
    }
}

/// Whether a member's PVC has grown since its pod was created, so that its database may grow with a new pod. Only PVCs count: a
/// file system that is smaller than its PVC is no larger for the next pod.
pub(super) fn has_grown(cluster: &EtcdCluster, member: &MemberView<'_>) -> bool {
    let has = planned(member).map(etcd_sizing::quota).or_else(|| earlier_quota(member));
    let fits = claimed(cluster, member).filter(|_| objects::quota_follows_volume(cluster)).map(etcd_sizing::quota);
    has.zip(fits).is_some_and(|(has, fits)| fits / 10 > has / 9)
}

/// Whether a member's PVC has grown since its pod was created.
pub(super) fn has_older_pod(cluster: &EtcdCluster, member: &MemberView<'_>) -> bool {
    planned(member).zip(claimed(cluster, member)).is_some_and(|(planned, claimed)| claimed > planned)
}

fn claimed(cluster: &EtcdCluster, member: &MemberView<'_>) -> Option<u64> {
    objects::volume(cluster, Some(member.claim?))
}

/// The volume size for which a member's pod was created.
fn planned(member: &MemberView<'_>) -> Option<u64> {
    member.annotation(VOLUME)?.parse().ok()
}

/// The quota of a member's pod, if an earlier manager created it.
fn earlier_quota(member: &MemberView<'_>) -> Option<u64> {
    member.annotation(QUOTA)?.parse().ok()
}

/// The sizes of a member's file system and database, in bytes, as the agent reported them before etcd's first start in this pod.
/// Earlier agents reported none; then, and if a size is not plausible, only the PVC counts.
fn measured(member: &MemberView<'_>) -> Option<EtcdWaitResult> {
    let ended = member.container(WAIT)?.terminated.as_ref().filter(|ended| ended.code == 0)?;
    let measured: EtcdWaitResult = serde_json::from_str(&ended.message).ok()?;
    known_size(measured.volume_bytes).map(|_| measured)
}
