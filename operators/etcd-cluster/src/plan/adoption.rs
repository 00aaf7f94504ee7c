//! Pure: the annotation by which a user requests the volumes of an earlier object.

use api::etcd_cluster::ADOPT;

use super::Observed;
use crate::EtcdCluster;

/// The UID that the annotation names.
pub(super) fn requested_uid(observed: &Observed) -> Option<&str> {
    uid_in_annotation(&observed.cluster)
}

fn uid_in_annotation(cluster: &EtcdCluster) -> Option<&str> {
    cluster.annotations.get(ADOPT).map(|uid| &**uid).filter(|uid| !uid.is_empty())
}

/// Whether a user requests volumes of an earlier object.
pub(super) fn is_requested(observed: &Observed) -> bool {
    is_annotated(&observed.cluster)
}

/// The same, before the rest is observed.
pub(super) fn is_annotated(cluster: &EtcdCluster) -> bool {
    uid_in_annotation(cluster).is_some_and(|uid| *uid != *cluster.meta.uid)
}
