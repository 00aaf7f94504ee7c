//! Pure: what the marks of a claim tell of its volume.

use runtime::projections::Claim;

use super::annotations::RETIRING;
use super::labels::{CLUSTER_ID, JOINING, MEMBER_ID, MEMBER_VERSION};

/// What the volume of a claim holds, as labels of the claim tell: status can be lost, and volumes are what matters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::plan) struct Facts {
    /// etcd's id of the cluster, in hexadecimal.
    pub(in crate::plan) cluster_id: String,
    /// etcd's id of the member, in hexadecimal.
    pub(in crate::plan) member_id: String,
    /// The version that the member ran last.
    pub(in crate::plan) version: String,
}

impl Facts {
    /// What the labels of a claim say.
    pub(in crate::plan) fn of(claim: &Claim) -> Option<Self> {
        let label = |name: &str| claim.labels.get(name).cloned();
        Some(Self { cluster_id: label(CLUSTER_ID)?, member_id: label(MEMBER_ID)?, version: label(MEMBER_VERSION)? })
    }

    pub(super) fn labels(self) -> [(String, String); 3] {
        let Self { cluster_id, member_id, version } = self;
        [(CLUSTER_ID, cluster_id), (MEMBER_ID, member_id), (MEMBER_VERSION, version)]
            .map(|(name, value)| (name.to_owned(), value))
    }
}

/// Whether a claim is marked as that of a member which is about to be removed.
pub(in crate::plan) fn is_retiring(live: &Claim) -> bool {
    live.labels.get(RETIRING).is_some_and(|mark| mark == "true")
}

/// Whether a claim's member has never voted, so that it holds nothing that others do not.
pub(in crate::plan) fn has_yet_to_vote(live: &Claim) -> bool {
    live.labels.contains_key(JOINING) && Facts::of(live).is_none()
}
