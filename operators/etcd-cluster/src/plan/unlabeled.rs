//! Pure: members' pods whose labels a user edited. The operator watches pods, and clients reach them, by their labels; but the
//! owner reference says which cluster a pod belongs to.

use std::collections::BTreeSet;
use std::sync::Arc;

use api::etcd_cluster::EtcdClusterReason;
use runtime::cache::Projection as _;
use runtime::plan::Apply;
use runtime::projections::{Pod, Pvc};
use serde_json::Value;

use super::member_set::{MemberSet, MemberView};
use super::objects::{self, OWNER_UID};
use super::{Explanation, Observed, claim_copies, names};
use crate::EtcdCluster;

pub mod claims;

/// What a live read of a pod finds under a member's name.
#[derive(Debug)]
pub enum PodLookup {
    /// The member's own pod, with the labels that it has.
    Own(Arc<Pod>),
    /// A foreign pod that is terminating, or a pod of an earlier cluster of this name, which garbage collection deletes.
    Terminating,
    /// A foreign pod that is not terminating.
    Foreign,
}

/// The names of members whose pods are not in the stores.
#[must_use]
pub fn missing_pods<'a>(
    cluster: &'a EtcdCluster,
    pods: impl Iterator<Item = &'a Pod>,
    claims: impl Iterator<Item = &'a Pvc>,
) -> BTreeSet<String> {
    let by_claim = claims.filter(|claim| claim_copies::is_members(cluster, claim));
    let by_claim = by_claim.map(|claim| claim.meta.key.name.to_string());
    let by_status = cluster.status.member_statuses.iter().map(|status| status.name.clone());
    // The pod of the first member may have lost its labels before any status listed it.
    let first = cluster.status.cluster_id.is_none().then(|| names::first(cluster));
    let mut names: BTreeSet<String> = by_claim.chain(by_status).chain(first).collect();
    for pod in pods.filter(|pod| pod.details.is_some()) {
        names.remove(&*pod.meta.key.name);
    }
    names
}

/// The names of foreign pods that are not terminating and have all labels by which the Services select members.
#[must_use]
pub fn foreign_selected(cluster: &EtcdCluster, pods: &[Arc<Pod>]) -> BTreeSet<Box<str>> {
    let wanted = objects::selected(cluster, true);
    let has_labels = |pod: &&Arc<Pod>| {
        let labels = pod.details.as_ref().map(|details| &details.labels);
        labels.is_some_and(|labels| wanted.iter().all(|(key, value)| labels.get(key) == Some(value)))
    };
    let foreign = pods.iter().filter(|pod| !pod.meta.deleting && !pod.meta.controlled_by(&cluster.meta.uid));
    foreign.filter(has_labels).map(|pod| (*pod.meta.key.name).into()).collect()
}

/// The report of such pods: the reason and message.
pub(super) fn foreign_pods(observed: &Observed) -> Option<Explanation> {
    if observed.foreign_selected.is_empty() {
        return None;
    }
    let names = |with: &str| observed.foreign_selected.iter().map(|name| &**name).collect::<Vec<_>>().join(with);
    let message = format!(
        "foreign pods have all labels by which the Services select members, so clients may reach them: {}; \
         remove the label, or delete them: kubectl label pod -n {} {} {OWNER_UID}-; they are left untouched",
        names(", "),
        observed.cluster.meta.key.namespace,
        names(" "),
    );
    Some((EtcdClusterReason::ForeignPods, message))
}

/// Classifies a pod with a member's name by its owner reference.
#[must_use]
pub fn classify(cluster: &EtcdCluster, live: &Value) -> PodLookup {
    match Pod::with_details(&live.to_string()) {
        Ok(pod) if pod.meta.controlled_by(&cluster.meta.uid) => PodLookup::Own(Arc::new(pod)),
        Ok(pod) if pod.meta.deleting || is_of_earlier(cluster, &pod) => PodLookup::Terminating,
        _ => PodLookup::Foreign,
    }
}

/// Whether a foreign pod belongs to an earlier cluster of the same name.
fn is_of_earlier(cluster: &EtcdCluster, pod: &Pod) -> bool {
    let owner = pod.meta.controller.as_ref().map(|controller| &controller.owner);
    owner.is_some_and(|owner| *owner.kind == EtcdCluster::KIND.qualified() && owner.name == cluster.meta.key.name)
}

/// Restores the labels of members' pods.
pub(super) fn label_repairs(cluster: &EtcdCluster, members: &MemberSet<'_>) -> Vec<Apply> {
    let unlabeled = members.all.iter().filter(|member| !is_labeled(cluster, member));
    unlabeled.filter_map(|member| Some(objects::labeled(cluster, member.pod?, &member.name))).collect()
}

/// Whether a member's pod has all its labels, or the member has no pod.
fn is_labeled(cluster: &EtcdCluster, member: &MemberView<'_>) -> bool {
    let wanted = objects::pod_labels(cluster, &member.name);
    member.pod_details().is_none_or(|details| wanted.iter().all(|(key, value)| details.labels.get(key) == Some(value)))
}

/// Whether all members' pods have the label with the cluster's UID, which no foreign pod has.
pub(super) fn all_have_owner_uid(cluster: &EtcdCluster, members: &MemberSet<'_>) -> bool {
    let uid = |member: &MemberView<'_>| {
        member
            .pod_details()
            .is_none_or(|details| details.labels.get(OWNER_UID).is_some_and(|uid| **uid == *cluster.meta.uid))
    };
    members.all.iter().all(uid)
}
