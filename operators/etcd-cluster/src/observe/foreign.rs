//! Pure: pods of other owners that the Services of a cluster would select.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use runtime::cache::Projection as _;
use runtime::plan::meta::{MANAGED_BY, MANAGER};

use crate::EtcdCluster;
use crate::plan::ForeignPod;

/// The foreign pods among those with the labels of `cluster`.
pub(super) fn among(pods: &[ObjectMeta], cluster: &EtcdCluster) -> Vec<ForeignPod> {
    pods.iter().filter_map(|pod| foreign(pod, cluster)).collect()
}

fn foreign(pod: &ObjectMeta, cluster: &EtcdCluster) -> Option<ForeignPod> {
    let controller = pod.owner_references.iter().flatten().find(|owner| owner.controller == Some(true));
    let controlled = controller.is_some_and(|owner| owner.uid == *cluster.meta.uid);
    // Pods of the archived operator have the same owner, but not the label of this one.
    let managed = pod.labels.as_ref().and_then(|labels| labels.get(MANAGED_BY)).is_some_and(|by| by == MANAGER);
    let kind = EtcdCluster::KIND;
    let earlier = controller.is_some_and(|owner| owner.kind == kind.kind && owner.uid != *cluster.meta.uid);
    let terminating = pod.deletion_timestamp.is_some() || earlier;
    (!controlled || !managed).then(|| ForeignPod { name: pod.name.as_deref().unwrap_or_default().into(), terminating })
}
