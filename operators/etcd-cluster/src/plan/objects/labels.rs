//! Pure: the labels of children, and the selectors.

use std::collections::BTreeMap;

use runtime::cache::Projection;
use runtime::plan::meta::{self, OWNER_KIND};

use crate::EtcdCluster;

/// The label with the cluster's name, as in the archived operator.
const CLUSTER: &str = "etcd_cluster";
/// The label with a member's name, as in the archived operator.
pub(in crate::plan) const MEMBER_NAME: &str = "etcd_node";
/// Label of pods and PVCs with the UID of the cluster that they were created for. A later cluster of the same name does not use
/// them.
pub(in crate::plan) use runtime::plan::meta::OWNER_UID;
/// Label of PVCs with the namespace that they were created in, which a backup keeps that is restored into another one.
pub(in crate::plan) const NAMESPACE: &str = "multi-operator.example.com/namespace";
/// Label of PVCs with etcd's id of the cluster that wrote to the volume, in hexadecimal.
pub(in crate::plan) const CLUSTER_ID: &str = "multi-operator.example.com/cluster-id";
/// Label of PVCs with etcd's id of the member whose data the volume holds, in hexadecimal.
pub(in crate::plan) const MEMBER_ID: &str = "multi-operator.example.com/member-id";
/// Label of PVCs with the version that the member last ran.
pub(in crate::plan) const MEMBER_VERSION: &str = "multi-operator.example.com/etcd-version";
/// Label of PVCs with the fingerprint of the member's last known good configuration: see [`crate::plan::known_good`].
pub const KNOWN_GOOD: &str = "multi-operator.example.com/proven";
/// Annotation of PVCs with that configuration.
pub const KNOWN_GOOD_SPEC: &str = "multi-operator.example.com/proven-spec";
/// Label of PVCs of members that have yet to vote: their volumes have no data of their own.
pub(in crate::plan) const JOINING: &str = "multi-operator.example.com/joining";
/// Label of PVCs of members whose pods are being recreated, with the fingerprint of the next configuration.
pub(in crate::plan) const NEXT: &str = "multi-operator.example.com/next";
/// Label of PVCs of removed members, which `storage.onDelete: Retain` keeps.
pub(in crate::plan) const RETIRED: &str = "multi-operator.example.com/retired";
/// Label of such PVCs whose cluster began again from a snapshot, with the UID of the EtcdRestore.
pub const REPLACED_BY: &str = "multi-operator.example.com/replaced-by";
/// Label of such PVCs that the operator itself has retired, and not a user.
pub(in crate::plan) const RETIRED_BY: &str = "multi-operator.example.com/retired-by";

/// The labels by which users, and Services and the PodDisruptionBudget select the pods.
#[must_use]
pub fn selector(cluster: &EtcdCluster) -> BTreeMap<String, String> {
    BTreeMap::from([("app".to_owned(), "etcd".to_owned()), (CLUSTER.to_owned(), cluster.meta.key.name.to_string())])
}

/// The labels by which Services and the PodDisruptionBudget select the pods. With `own_only`, once all members' pods have it,
/// also the UID of the owner, so that no foreign pod with the same labels gets requests for members.
pub(in crate::plan) fn selected(cluster: &EtcdCluster, own_only: bool) -> BTreeMap<String, String> {
    let mut labels = selector(cluster);
    labels.extend(own_only.then(|| (OWNER_UID.to_owned(), cluster.meta.uid.to_string())));
    labels
}

/// The labels of every child: those of the archived operator, and the recommended ones.
pub(super) fn labels(cluster: &EtcdCluster) -> BTreeMap<String, String> {
    let mut labels = meta::labels(&EtcdCluster::KIND, &cluster.meta);
    labels.extend(selector(cluster));
    labels
}

/// The labels of the objects of one member.
pub(super) fn member_labels(cluster: &EtcdCluster, member: &str) -> BTreeMap<String, String> {
    let mut labels = labels(cluster);
    labels.insert(MEMBER_NAME.to_owned(), member.to_owned());
    labels.insert(OWNER_KIND.to_owned(), EtcdCluster::KIND.qualified());
    labels
}
