//! Pure: the trial pod that checks whether a pod of the current spec starts. It has none of the labels by which Services select
//! members.

use k8s_openapi::api::core::v1::{Pod as CorePod, Volume};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use runtime::cache::Projection;
use runtime::plan::Create;
use runtime::plan::meta::child_meta;
use runtime::pod::{claim_volume, trial_pod};
use runtime::projections::Pod;

use super::container::{self, DATA_VOLUME};
use super::image_check::{checked, trial_labels, trial_spec};
use crate::EtcdCluster;
use crate::plan::desired::Desired;
use crate::plan::{Observed, names};

/// Annotation with the member for which the check is.
pub(in crate::plan) const MEMBER: &str = "multi-operator.example.com/member";

/// The trial pod. It may run on the node of the present pod, and requests only the resources that the present pod lacks, unless
/// it has to run on another node (`full`). It refers to the PVC of the data, since a volume may be bound to a node, and does not
/// mount it: no kubelet waits for a volume that is attached elsewhere. It has the priority of the present pod, so that it does
/// not preempt that.
pub(in crate::plan) fn trial(
    observed: &Observed,
    desired: &Desired,
    member: &str,
    present: &trial_pod::PresentPod,
    full: bool,
) -> Create {
    let cluster = &*observed.cluster;
    let policy = cluster.spec.pod.clone().unwrap_or_default();
    let owned = child_meta(&EtcdCluster::KIND, &cluster.meta);
    let agent = Some(&*observed.agent_image);
    let mut annotations = checked(cluster, desired, agent);
    annotations.insert(MEMBER.to_owned(), member.to_owned());
    let metadata = ObjectMeta { labels: Some(trial_labels(cluster)), annotations: Some(annotations), ..owned };
    let mut spec = trial_spec(cluster, desired, agent, observed.namespace_assigns_uids);
    spec.node_selector = (!policy.node_selector.is_empty()).then_some(policy.node_selector);
    spec.affinity = policy.affinity.as_ref().map(trial_pod::affinity);
    spec.priority_class_name.clone_from(&present.priority_class);
    spec.volumes = volumes(cluster, member);
    for etcd in &mut spec.containers {
        etcd.env = Some(container::spec_variables(cluster).collect());
    }
    for container in spec.init_containers.iter_mut().flatten().chain(&mut spec.containers) {
        container.resources =
            container.resources.take().map(|wanted| if full { wanted } else { present.excess(&wanted) });
    }
    let pod = CorePod { metadata, spec: Some(spec), status: None };
    Create::new(Pod::KIND, cluster.meta.key.sibling(&names::trial(cluster, full)), &pod)
}

/// The volume with a member's data. A ReadWriteOncePod PVC would keep the trial pod from every node while the present pod uses
/// it.
fn volumes(cluster: &EtcdCluster, member: &str) -> Option<Vec<Volume>> {
    let given = cluster.spec.pod.as_ref().and_then(|pod| pod.persistent_volume_claim_spec.as_ref());
    let modes = given.and_then(|claim| claim.access_modes.as_ref());
    let is_shared = modes.is_none_or(|modes| modes.iter().all(|mode| mode != "ReadWriteOncePod"));
    is_shared.then(|| vec![claim_volume(DATA_VOLUME, member)])
}
