//! The pod that finds out whether an image can be pulled. It has none of the labels by which Services select members.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{Pod as CorePod, PodSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use runtime::cache::View;
use runtime::plan::Create;
use runtime::plan::meta::{OWNER_KIND, child_meta, labels};
use runtime::views::Pod;

use super::{container, pod};
use crate::EtcdCluster;
use crate::plan::names;
use crate::plan::wish::Wish;

/// Annotation with the image that is asked about.
pub(in crate::plan) const IMAGE: &str = "multi-operator.example.com/image";

/// The pod, on `node`.
pub(in crate::plan) fn pull(cluster: &EtcdCluster, wish: &Wish, node: Option<&str>, dictated_users: bool) -> Create {
    let owned = child_meta(&EtcdCluster::KIND, &cluster.meta);
    let annotations = BTreeMap::from([(IMAGE.to_owned(), wish.image())]);
    let spec = PodSpec { node_name: node.map(str::to_owned), ..trying(cluster, wish, dictated_users) };
    let metadata = ObjectMeta { labels: Some(trial_labels(cluster)), annotations: Some(annotations), ..owned };
    let pod = CorePod { metadata, spec: Some(spec), status: None };
    Create::new(Pod::KIND, cluster.meta.key.sibling(&names::pull(cluster)), &pod)
}

/// What every pod is made of that only tries something: etcd tells its version there, and that is all.
pub(super) fn trying(cluster: &EtcdCluster, wish: &Wish, dictated_users: bool) -> PodSpec {
    let policy = cluster.spec.pod.clone().unwrap_or_default();
    PodSpec {
        restart_policy: Some("Never".to_owned()),
        automount_service_account_token: Some(false),
        enable_service_links: Some(false),
        security_context: Some(policy.security_context.unwrap_or_else(|| pod::confined(dictated_users))),
        tolerations: (!policy.tolerations.is_empty()).then_some(policy.tolerations),
        image_pull_secrets: (!policy.image_pull_secrets.is_empty()).then_some(policy.image_pull_secrets),
        containers: vec![container::trial(container::ETCD, cluster, wish)],
        ..PodSpec::default()
    }
}

/// The labels of such a pod.
pub(in crate::plan) fn trial_labels(cluster: &EtcdCluster) -> BTreeMap<String, String> {
    let mut labels = labels(&EtcdCluster::KIND, &cluster.meta);
    labels.insert(OWNER_KIND.to_owned(), EtcdCluster::KIND.qualified());
    labels
}
