//! Pure: whether a person asks, by an annotation, for volumes of an earlier object.

use api::etcd_cluster::ADOPT;

use super::Observed;

/// The uid that the object's annotation asks to adopt from.
pub(super) fn asked(observed: &Observed) -> Option<&str> {
    observed.cluster.annotations.get(ADOPT).map(|uid| &**uid).filter(|uid| !uid.is_empty())
}

/// Whether a person asks for volumes of an earlier object.
pub(super) fn is_asked(observed: &Observed) -> bool {
    asked(observed).is_some_and(|uid| *uid != *observed.cluster.meta.uid)
}
