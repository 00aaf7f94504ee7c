//! Pure: how many PVCs of removed members `storage.onDelete: Retain` keeps.
//!
//! Each replacement and each scale-down leaves one. The quorum that removed a member has every entry that was ever acknowledged
//! to a client. So while that quorum is healthy, the oldest of many such PVCs hold no data of their own.

use api::etcd_cluster::EtcdClusterEvent;
use runtime::cache::Projection as _;
use runtime::plan::{Delete, EventDraft};
use runtime::projections::{Pod, Pvc};

use super::desired::Desired;
use super::member_set::MemberSet;
use super::objects::{CLUSTER_ID, OWNER_UID, RETIRED, RETIRED_BY};
use super::{Observed, claim_copies, objects};

/// The least number that is kept; or twice the number of members, if that is more.
const MIN_RETAINED: usize = 5;

/// The oldest retired PVC, if there are more than are kept. Only while all members are healthy, and only of the PVCs that the
/// operator itself has retired, and that hold data of this very cluster: PVCs that a user has retired or copied stay.
pub(super) fn excess<'o>(observed: &'o Observed, members: &MemberSet<'_>, desired: &Desired) -> Option<&'o Pvc> {
    let cluster = &observed.cluster;
    let complete =
        members.list_known && members.voters().count() == desired.size && members.listed().count() == desired.size;
    let all_healthy = complete && members.listed().all(|member| member.is_healthy() && member.ready);
    let retains = objects::policy(cluster) == api::etcd_cluster::OnDelete::Retain;
    if !desired.durable || !retains || !all_healthy || !observed.etcd.alarms.is_empty() {
        return None;
    }
    let latched = cluster.status.cluster_id.as_deref()?;
    let has = |claim: &Pvc, label: &str, value: &str| claim.labels.get(label).is_some_and(|of| *of == *value);
    let retired = observed.claims.iter().map(|claim| &**claim).filter(|claim| {
        let marked = claim.labels.contains_key(RETIRED) && claim.labels.contains_key(RETIRED_BY);
        let own = marked && !claim_copies::has_copied_labels(cluster, claim);
        own && !claim.meta.deleting && has(claim, OWNER_UID, &cluster.meta.uid) && has(claim, CLUSTER_ID, latched)
    });
    let mut retired: Vec<&Pvc> = retired.collect();
    let kept = MIN_RETAINED.max(2 * desired.size);
    // Resource versions grow with each write, and the label is among the last.
    retired.sort_by_key(|claim| claim.meta.resource_version);
    (retired.len() > kept).then(|| retired[0])
}

/// Deletes it, unless it has changed since, or a pod uses it.
pub(super) fn delete(claim: &Pvc) -> Delete {
    let used_by = Some((Pod::KIND, claim.meta.key.clone()));
    Delete { version: Some(claim.meta.resource_version), only_if_absent: used_by, ..Delete::of(Pvc::KIND, &claim.meta) }
}

/// The event about the deletion.
pub(super) fn deleted(claim: &Pvc, size: usize) -> EventDraft {
    let (name, kept) = (&claim.meta.key.name, MIN_RETAINED.max(2 * size));
    let message = format!(
        "PVC {name} of a removed member deleted: the {kept} newest of such PVCs are kept, and all members are healthy"
    );
    EventDraft { warning: false, reason: EtcdClusterEvent::RetiredClaimDeleted.into(), message }
}
