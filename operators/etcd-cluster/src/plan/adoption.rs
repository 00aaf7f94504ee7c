//! Pure: the annotation by which a user requests the volumes of an earlier object.

use api::etcd_cluster::ADOPT;

use super::Observed;

/// The UID that the annotation names.
pub(super) fn requested_uid(observed: &Observed) -> Option<&str> {
    observed.cluster.annotations.get(ADOPT).map(|uid| &**uid).filter(|uid| !uid.is_empty())
}

/// Whether a user requests volumes of an earlier object.
pub(super) fn is_requested(observed: &Observed) -> bool {
    requested_uid(observed).is_some_and(|uid| *uid != *observed.cluster.meta.uid)
}
