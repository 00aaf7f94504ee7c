//! Pure: the pod that finds out whether images can be pulled. It has none of the labels by which Services select members.

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
use crate::plan::names;
use crate::plan::wish::Wish;

/// Annotation with the image that is asked about.
const IMAGE: &str = "multi-operator.example.com/image";

/// Annotation with the agent's image, if that is asked about as well.
const AGENT_IMAGE: &str = "multi-operator.example.com/agent-image";

/// The pod, on `node`, of etcd's image and that of the `agent`, if its members are to get that as well.
pub(in crate::plan) fn pull(
    cluster: &EtcdCluster,
    wish: &Wish,
    agent: Option<&str>,
    node: Option<&str>,
    namespace_assigns_uids: bool,
) -> Create {
    let owned = child_meta(&EtcdCluster::KIND, &cluster.meta);
    let annotations = tried(cluster, wish, agent);
    let spec = PodSpec { node_name: node.map(str::to_owned), ..trying(cluster, wish, agent, namespace_assigns_uids) };
    let metadata = ObjectMeta { labels: Some(trial_labels(cluster)), annotations: Some(annotations), ..owned };
    let pod = CorePod { metadata, spec: Some(spec), status: None };
    Create::new(Pod::KIND, cluster.meta.key.sibling(&names::pull(cluster)), &pod)
}

/// The annotations that say what a pod tries: these images, in a pod like those that members are to get. It may be a Secret that an
/// image cannot be pulled without.
pub(super) fn tried(cluster: &EtcdCluster, wish: &Wish, agent: Option<&str>) -> BTreeMap<String, String> {
    let agent = agent.map(|agent| (AGENT_IMAGE, agent.to_owned()));
    let all = [(IMAGE, wish.image()), (PLACEMENT, placement(cluster))].into_iter().chain(agent);
    all.map(|(name, value)| (name.to_owned(), value)).collect()
}

/// Whether that, and no more, is what a pod tries.
pub(in crate::plan) fn tries(pod: &Pod, cluster: &EtcdCluster, wish: &Wish, agent: Option<&str>) -> bool {
    let (running, wanted) = (pod.running.as_ref(), tried(cluster, wish, agent));
    let same = |name: &&str| running.is_some_and(|running| running.annotations.get(*name) == wanted.get(*name));
    [IMAGE, AGENT_IMAGE, PLACEMENT].iter().all(same)
}

/// What every pod is made of that only tries something: the agent and etcd tell their versions there, and that is all.
pub(super) fn trying(cluster: &EtcdCluster, wish: &Wish, agent: Option<&str>, namespace_assigns_uids: bool) -> PodSpec {
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
        containers: vec![container::trial(ETCD, cluster, wish)],
        ..PodSpec::default()
    }
}

/// The labels of such a pod.
pub(in crate::plan) fn trial_labels(cluster: &EtcdCluster) -> BTreeMap<String, String> {
    let mut labels = labels(&EtcdCluster::KIND, &cluster.meta);
    labels.insert(OWNER_KIND.to_owned(), EtcdCluster::KIND.qualified());
    labels
}
