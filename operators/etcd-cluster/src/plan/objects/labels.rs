//! Pure: the labels of children, and by which they are found.

use std::collections::BTreeMap;

use runtime::cache::Projection;
use runtime::plan::meta::{self, OWNER_KIND};

use crate::EtcdCluster;

/// The label with the cluster's name, as the old operator set it.
const CLUSTER: &str = "etcd_cluster";
/// The label with a member's name, as the old operator set it.
pub(in crate::plan) const NODE: &str = "etcd_node";
/// Label of pods, and of claims, with the uid of the cluster that they were made for: a later one of the same name takes none of
/// them.
pub(in crate::plan) use runtime::plan::meta::OWNER_UID;
/// Label of claims with the namespace that they were made in, which a backup that is restored into another keeps.
pub(in crate::plan) const NAMESPACE: &str = "multi-operator.example.com/namespace";
/// Label of claims with etcd's id of the cluster that wrote to the volume, in hexadecimal.
pub(in crate::plan) const CLUSTER_ID: &str = "multi-operator.example.com/cluster-id";
/// Label of claims with etcd's id of the member whose data the volume holds, in hexadecimal.
pub(in crate::plan) const MEMBER_ID: &str = "multi-operator.example.com/member-id";
/// Label of claims with the version that the member ran last.
pub(in crate::plan) const MEMBER_VERSION: &str = "multi-operator.example.com/etcd-version";
/// Label of claims with a fingerprint of what the member has been seen to run with: see [`crate::plan::proven`].
pub const PROVEN: &str = "multi-operator.example.com/proven";
/// Annotation of claims with that itself.
pub const PROVEN_SPEC: &str = "multi-operator.example.com/proven-spec";
/// Label of claims of members that have yet to vote: nothing is on their volumes that is not on others.
pub(in crate::plan) const JOINING: &str = "multi-operator.example.com/joining";
/// Label of claims of members whose pods are being replaced, with the fingerprint of what comes next.
pub(in crate::plan) const NEXT: &str = "multi-operator.example.com/next";
/// Label of claims of members that were removed, which `storage.onDelete: Retain` keeps.
pub(in crate::plan) const RETIRED: &str = "multi-operator.example.com/retired";

/// Label of such claims that the operator itself has marked, and no person.
pub(in crate::plan) const RETIRED_BY: &str = "multi-operator.example.com/retired-by";

/// The labels by which services, the budget and people find the pods.
#[must_use]
pub fn selector(cluster: &EtcdCluster) -> BTreeMap<String, String> {
    BTreeMap::from([("app".to_owned(), "etcd".to_owned()), (CLUSTER.to_owned(), cluster.meta.key.name.to_string())])
}

/// The labels by which services and the budget find the pods: where all members' pods have it, also the uid of their
/// owner, so that no foreign pod with the same labels gets requests that are meant for members.
pub(in crate::plan) fn selected(cluster: &EtcdCluster, apart: bool) -> BTreeMap<String, String> {
    let mut labels = selector(cluster);
    labels.extend(apart.then(|| (OWNER_UID.to_owned(), cluster.meta.uid.to_string())));
    labels
}

/// The labels of every child: the old operator's, and the recommended ones.
pub(super) fn labels(cluster: &EtcdCluster) -> BTreeMap<String, String> {
    let mut labels = meta::labels(&EtcdCluster::KIND, &cluster.meta);
    labels.extend(selector(cluster));
    labels
}

/// The labels of what belongs to one member.
pub(super) fn member_labels(cluster: &EtcdCluster, member: &str) -> BTreeMap<String, String> {
    let mut labels = labels(cluster);
    labels.insert(NODE.to_owned(), member.to_owned());
    labels.insert(OWNER_KIND.to_owned(), EtcdCluster::KIND.qualified());
    labels
}
