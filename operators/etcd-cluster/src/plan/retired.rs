//! Pure: how many claims of removed members `storage.onDelete: Retain` keeps.
//!
//! Each replacement and each scaling down leaves one. What was ever acknowledged to a member that has been removed since is also
//! with the quorum that removed it; so where that quorum is well, the oldest of many such claims hold nothing of their own.

use api::etcd_cluster::EtcdClusterEvent;
use runtime::cache::Projection as _;
use runtime::plan::{Delete, EventDraft};
use runtime::projections::{Claim, Pod};

use super::objects::{CLUSTER_ID, OWNER_UID, RETIRED, RETIRED_BY};
use super::roster::Roster;
use super::wish::Wish;
use super::{Observed, claim_copies, objects};

/// So many are kept at least, and twice as many as there are members.
const KEPT: usize = 5;

/// The oldest of more claims than are kept. Only while all members are well, and only of those that the operator itself has
/// retired, and that hold data of this very cluster: what a person has put aside stays, and so does what a person has copied.
pub(super) fn excess<'o>(observed: &'o Observed, roster: &Roster<'_>, wish: &Wish) -> Option<&'o Claim> {
    let cluster = &observed.cluster;
    let well = roster.listed && roster.voters().count() == wish.size && roster.members().count() == wish.size;
    let all_well = well && roster.members().all(|node| node.is_healthy() && node.ready);
    let retains = objects::policy(cluster) == api::etcd_cluster::OnDelete::Retain;
    if !wish.durable || !retains || !all_well || !observed.etcd.alarms.is_empty() {
        return None;
    }
    let latched = cluster.status.cluster_id.as_deref()?;
    let is = |claim: &Claim, label: &str, value: &str| claim.labels.get(label).is_some_and(|of| *of == *value);
    let retired = observed.claims.iter().map(|claim| &**claim).filter(|claim| {
        let marked = claim.labels.contains_key(RETIRED) && claim.labels.contains_key(RETIRED_BY);
        let ours = marked && !claim_copies::has_copied_labels(cluster, claim);
        ours && !claim.meta.deleting && is(claim, OWNER_UID, &cluster.meta.uid) && is(claim, CLUSTER_ID, latched)
    });
    let mut retired: Vec<&Claim> = retired.collect();
    let kept = KEPT.max(2 * wish.size);
    // Versions grow with each write, and the mark is among the last.
    retired.sort_by_key(|claim| claim.meta.version);
    (retired.len() > kept).then(|| retired[0])
}

/// Its deletion, unless it has changed since, or a pod uses it.
pub(super) fn delete(claim: &Claim) -> Delete {
    let used_by = Some((Pod::KIND, claim.meta.key.clone()));
    Delete { version: Some(claim.meta.version), unless: used_by, ..Delete::of(Claim::KIND, &claim.meta) }
}

/// What is told of that.
pub(super) fn deleted(claim: &Claim, size: usize) -> EventDraft {
    let (name, kept) = (&claim.meta.key.name, KEPT.max(2 * size));
    let message = format!(
        "claim {name} of a removed member deleted: the {kept} newest of such claims are kept, and all members are healthy"
    );
    EventDraft { warning: false, reason: EtcdClusterEvent::RetiredClaimDeleted.into(), message }
}
