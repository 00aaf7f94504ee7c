//! Pure: the pod that checks whether images can be pulled. It has none of the labels by which Services select members.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{Pod as CorePod, PodSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use runtime::cache::Projection;
use runtime::plan::Create;
use runtime::plan::meta::{OWNER_KIND, child_meta, labels};
use runtime::pod::{non_empty, restricted};
use runtime::projections::Pod;

use super::annotations::PLACEMENT;
use super::pod::placement;
use super::programs::ETCD;
use super::{container, pod};
use crate::EtcdCluster;
use crate::plan::desired::Desired;
use crate::plan::names;

/// Annotation with the image that is checked.
const IMAGE: &str = "multi-operator.example.com/image";

/// Annotation with the agent's image, if that is checked as well.
const AGENT_IMAGE: &str = "multi-operator.example.com/agent-image";

/// The pod, on `node`, with etcd's image and that of the `agent`, if members get that as well.
pub(in crate::plan) fn image_check(
    cluster: &EtcdCluster,
    desired: &Desired,
    agent: Option<&str>,
    node: Option<&str>,
    namespace_assigns_uids: bool,
) -> Create {
    let owned = child_meta(&EtcdCluster::KIND, &cluster.meta);
    let annotations = checked(cluster, desired, agent);
    let spec =
        PodSpec { node_name: node.map(str::to_owned), ..trial_spec(cluster, desired, agent, namespace_assigns_uids) };
    let metadata = ObjectMeta { labels: Some(trial_labels(cluster)), annotations: Some(annotations), ..owned };
    let pod = CorePod { metadata, spec: Some(spec), status: None };
    Create::new(Pod::KIND, cluster.meta.key.sibling(&names::image_check(cluster)), &pod)
}

/// The annotations that say what a trial pod checks: these images, and the placement of members' pods, which may have the Secret
/// that pulling an image needs.
pub(super) fn checked(cluster: &EtcdCluster, desired: &Desired, agent: Option<&str>) -> BTreeMap<String, String> {
    let agent = agent.map(|agent| (AGENT_IMAGE, agent.to_owned()));
    let all = [(IMAGE, desired.image()), (PLACEMENT, placement(cluster))].into_iter().chain(agent);
    all.map(|(name, value)| (name.to_owned(), value)).collect()
}

/// Whether a trial pod checks exactly that.
pub(in crate::plan) fn checks(pod: &Pod, cluster: &EtcdCluster, desired: &Desired, agent: Option<&str>) -> bool {
    let (details, wanted) = (pod.details.as_ref(), checked(cluster, desired, agent));
    let same = |name: &&str| details.is_some_and(|details| details.annotations.get(*name) == wanted.get(*name));
    [IMAGE, AGENT_IMAGE, PLACEMENT].iter().all(same)
}

/// The spec of a trial pod: the agent and etcd only print their versions.
pub(super) fn trial_spec(
    cluster: &EtcdCluster,
    desired: &Desired,
    agent: Option<&str>,
    namespace_assigns_uids: bool,
) -> PodSpec {
    let policy = cluster.spec.pod.clone().unwrap_or_default();
    PodSpec {
        restart_policy: Some("Never".to_owned()),
        automount_service_account_token: Some(false),
        enable_service_links: Some(false),
        security_context: Some(
            policy.security_context.unwrap_or_else(|| restricted(pod::USER, namespace_assigns_uids)),
        ),
        tolerations: non_empty(policy.tolerations),
        image_pull_secrets: non_empty(policy.image_pull_secrets),
        init_containers: agent.map(|agent| vec![container::agent_trial(cluster, agent)]),
        containers: vec![container::trial(ETCD, cluster, desired)],
        ..PodSpec::default()
    }
}

/// The labels of a trial pod.
pub(in crate::plan) fn trial_labels(cluster: &EtcdCluster) -> BTreeMap<String, String> {
    let mut labels = labels(&EtcdCluster::KIND, &cluster.meta);
    labels.insert(OWNER_KIND.to_owned(), EtcdCluster::KIND.qualified());
    labels
}
