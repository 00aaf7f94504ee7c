//! Pure: Pods of members whose labels somebody edited by hand. By their labels they are watched, and reached by clients; but whose
//! they are is said by their owner reference.

use std::collections::BTreeSet;
use std::sync::Arc;

use api::etcd_cluster::EtcdClusterReason;
use runtime::cache::Projection as _;
use runtime::plan::Apply;
use runtime::projections::{Claim, Pod};
use serde_json::Value;

use super::objects::{self, OWNER_UID};
use super::roster::{Node, Roster};
use super::{Explanation, Observed, claim_copies, names};
use crate::EtcdCluster;

pub mod claims;

/// What a live look at a pod finds under a member's name.
#[derive(Debug)]
pub enum Found {
    /// The member's own pod, with the labels that it has.
    Own(Arc<Pod>),
    /// A foreign pod that is terminating, or a pod of an earlier cluster of this name, which garbage collection deletes.
    Leaving,
    /// A foreign pod that stays.
    Taken,
}

/// The names of members whose pods are not among those that watches tell of.
#[must_use]
pub fn unseen<'a>(
    cluster: &'a EtcdCluster,
    pods: impl Iterator<Item = &'a Pod>,
    claims: impl Iterator<Item = &'a Claim>,
) -> BTreeSet<String> {
    let by_claim = claims.filter(|claim| claim_copies::is_members(cluster, claim));
    let by_claim = by_claim.map(|claim| claim.meta.key.name.to_string());
    let by_status = cluster.status.member_statuses.iter().map(|status| status.name.clone());
    // Its pod may have lost its labels before any status named it.
    let first = cluster.status.cluster_id.is_none().then(|| names::first(cluster));
    let mut names: BTreeSet<String> = by_claim.chain(by_status).chain(first).collect();
    for pod in pods.filter(|pod| pod.running.is_some()) {
        names.remove(&*pod.meta.key.name);
    }
    names
}

/// The names of pods that are there to stay, are not the cluster's, and bear all labels by which the Services find members.
#[must_use]
pub fn foreign(cluster: &EtcdCluster, pods: &[Arc<Pod>]) -> BTreeSet<Box<str>> {
    let wanted = objects::selected(cluster, true);
    let bears = |pod: &&Arc<Pod>| {
        let labels = pod.running.as_ref().map(|running| &running.labels);
        labels.is_some_and(|labels| wanted.iter().all(|(key, value)| labels.get(key) == Some(value)))
    };
    let foreign = pods.iter().filter(|pod| !pod.meta.deleting && !pod.meta.controlled_by(&cluster.meta.uid));
    foreign.filter(bears).map(|pod| (*pod.meta.key.name).into()).collect()
}

/// What to do about such pods: the condition's reason and message.
pub(super) fn foreign_pods(observed: &Observed) -> Option<Explanation> {
    if observed.foreign.is_empty() {
        return None;
    }
    let names = |with: &str| observed.foreign.iter().map(|name| &**name).collect::<Vec<_>>().join(with);
    let message = format!(
        "foreign pods have all labels by which the Services select members, so clients may reach them: {}; \
         take the label off, or delete them: kubectl label pod -n {} {} {OWNER_UID}-; they are left untouched",
        names(", "),
        observed.cluster.meta.key.namespace,
        names(" "),
    );
    Some((EtcdClusterReason::ForeignPods, message))
}

/// What a pod is that was found under a member's name. What its labels do not tell any more, its owner reference does.
#[must_use]
pub fn found(cluster: &EtcdCluster, live: &Value) -> Found {
    match Pod::whole(&live.to_string()) {
        Ok(pod) if pod.meta.controlled_by(&cluster.meta.uid) => Found::Own(Arc::new(pod)),
        Ok(pod) if pod.meta.deleting || is_of_earlier(cluster, &pod) => Found::Leaving,
        _ => Found::Taken,
    }
}

/// Whether a pod that is not the cluster's belongs to an earlier cluster of the same name.
fn is_of_earlier(cluster: &EtcdCluster, pod: &Pod) -> bool {
    let owner = pod.meta.controller.as_ref().map(|controller| &controller.owner);
    owner.is_some_and(|owner| *owner.kind == EtcdCluster::KIND.qualified() && owner.name == cluster.meta.key.name)
}

/// The labels of members' pods that are not as they should be, put right.
pub(super) fn repairs(cluster: &EtcdCluster, roster: &Roster<'_>) -> Vec<Apply> {
    let nodes = roster.nodes.iter().filter(|node| !is_labeled(cluster, node));
    nodes.filter_map(|node| Some(objects::labeled(cluster, node.pod?, &node.name))).collect()
}

/// Whether a member's pod has the labels that it should have, if it has a pod that stays.
fn is_labeled(cluster: &EtcdCluster, node: &Node<'_>) -> bool {
    let wanted = objects::pod_labels(cluster, &node.name);
    node.running().is_none_or(|running| wanted.iter().all(|(key, value)| running.labels.get(key) == Some(value)))
}

/// Whether all members' pods can be told from others that bear the cluster's name, by a label that nobody else has.
pub(super) fn can_be_told_apart(cluster: &EtcdCluster, roster: &Roster<'_>) -> bool {
    let uid = |node: &Node<'_>| {
        node.running().is_none_or(|running| running.labels.get(OWNER_UID).is_some_and(|uid| **uid == *cluster.meta.uid))
    };
    roster.nodes.iter().all(uid)
}
