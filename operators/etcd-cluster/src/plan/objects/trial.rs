//! Pure: the pod that finds out whether one as the spec asks starts. It has none of the labels by which Services select members.

use k8s_openapi::api::core::v1::{Pod as CorePod, Volume};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use runtime::cache::Projection;
use runtime::plan::Create;
use runtime::plan::meta::child_meta;
use runtime::pod::{beside, claim_volume};
use runtime::projections::Pod;

use super::container::{self, DATA_VOLUME};
use super::pull::{trial_labels, tried, trying};
use crate::EtcdCluster;
use crate::plan::wish::Wish;
use crate::plan::{Observed, names};

/// Annotation with the member that is to get such a pod.
pub(in crate::plan) const MEMBER: &str = "multi-operator.example.com/member";

/// The pod. Of what the present one asks for, it asks for nothing, unless it is to be on another node (`whole`), and it may run on the
/// same node. It names the claim of the data, since a volume may be bound to a node, and mounts it nowhere: no kubelet waits for a
/// volume that is attached elsewhere. It has the present pod's priority, lest it preempt that one.
pub(in crate::plan) fn trial(
    observed: &Observed,
    wish: &Wish,
    member: &str,
    present: &beside::Present,
    whole: bool,
) -> Create {
    let cluster = &*observed.cluster;
    let policy = cluster.spec.pod.clone().unwrap_or_default();
    let owned = child_meta(&EtcdCluster::KIND, &cluster.meta);
    let agent = Some(&*observed.agent_image);
    let mut annotations = tried(cluster, wish, agent);
    annotations.insert(MEMBER.to_owned(), member.to_owned());
    let metadata = ObjectMeta { labels: Some(trial_labels(cluster)), annotations: Some(annotations), ..owned };
    let mut spec = trying(cluster, wish, agent, observed.namespace_assigns_uids);
    spec.node_selector = (!policy.node_selector.is_empty()).then_some(policy.node_selector);
    spec.affinity = policy.affinity.as_ref().map(beside::affinity);
    spec.priority_class_name.clone_from(&present.priority_class);
    spec.volumes = volumes(cluster, member);
    for etcd in &mut spec.containers {
        etcd.env = Some(container::given(cluster).collect());
    }
    for one in spec.init_containers.iter_mut().flatten().chain(&mut spec.containers) {
        one.resources = one.resources.take().map(|wanted| if whole { wanted } else { present.beyond(&wanted) });
    }
    let pod = CorePod { metadata, spec: Some(spec), status: None };
    Create::new(Pod::KIND, cluster.meta.key.sibling(&names::trial(cluster, whole)), &pod)
}

/// The volume with a member's data. A claim that one pod alone may have would keep the pod from every node while the present one has it.
fn volumes(cluster: &EtcdCluster, member: &str) -> Option<Vec<Volume>> {
    let given = cluster.spec.pod.as_ref().and_then(|pod| pod.persistent_volume_claim_spec.as_ref());
    let modes = given.and_then(|claim| claim.access_modes.as_ref());
    let is_shared = modes.is_none_or(|modes| modes.iter().all(|mode| mode != "ReadWriteOncePod"));
    is_shared.then(|| vec![claim_volume(DATA_VOLUME, member)])
}
