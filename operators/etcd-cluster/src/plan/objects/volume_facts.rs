//! Pure: what the labels of a PVC record about its volume.

use runtime::projections::Pvc;

use super::annotations::RETIRING;
use super::labels::{CLUSTER_ID, JOINING, KNOWN_GOOD, MEMBER_ID, MEMBER_VERSION, REPLACED_BY};

/// What a volume holds, as the labels of its PVC record it, since the status can be lost.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::plan) struct VolumeFacts {
    /// etcd's id of the cluster, in hexadecimal.
    pub(in crate::plan) cluster_id: String,
    /// etcd's id of the member, in hexadecimal.
    pub(in crate::plan) member_id: String,
    /// The version that the member last ran.
    pub(in crate::plan) version: String,
}

impl VolumeFacts {
    /// What the labels of a PVC record.
    pub(in crate::plan) fn of(claim: &Pvc) -> Option<Self> {
        let label = |name: &str| claim.labels.get(name).cloned();
        Some(Self { cluster_id: label(CLUSTER_ID)?, member_id: label(MEMBER_ID)?, version: label(MEMBER_VERSION)? })
    }

    pub(super) fn labels(self) -> [(String, String); 3] {
        let Self { cluster_id, member_id, version } = self;
        [(CLUSTER_ID, cluster_id), (MEMBER_ID, member_id), (MEMBER_VERSION, version)]
            .map(|(name, value)| (name.to_owned(), value))
    }
}

/// The value of the label [`RETIRING`] of a PVC whose member is about to be removed.
pub(super) const RETIRES: &str = "true";
/// The same if the PVC is retained, whatever the policy says.
pub(super) const RETIRES_RETAINED: &str = "retain";

/// Whether a PVC is marked because its member is about to be removed.
pub(in crate::plan) fn is_retiring(live: &Pvc) -> bool {
    live.labels.get(RETIRING).is_some_and(|mark| mark == RETIRES || mark == RETIRES_RETAINED)
}

/// Whether it is marked as one that is retained, whatever the policy says.
pub(in crate::plan) fn is_to_be_retained(live: &Pvc) -> bool {
    live.labels.get(RETIRING).is_some_and(|mark| mark == RETIRES_RETAINED)
}

/// Whether a PVC records anything about data, even if not all that belongs to it.
pub(in crate::plan) fn has_any_record(live: &Pvc) -> bool {
    [CLUSTER_ID, MEMBER_ID, MEMBER_VERSION, KNOWN_GOOD, REPLACED_BY]
        .iter()
        .any(|label| live.labels.contains_key(*label))
}

/// Whether the member of a PVC has never voted, so that its volume has no data of its own.
pub(in crate::plan) fn has_yet_to_vote(live: &Pvc) -> bool {
    live.labels.contains_key(JOINING) && VolumeFacts::of(live).is_none()
}
