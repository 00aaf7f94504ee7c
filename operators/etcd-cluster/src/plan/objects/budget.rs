//! Pure: the PodDisruptionBudget.

use k8s_openapi::api::policy::v1 as policy;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, ObjectMeta};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use runtime::cache::Projection;
use runtime::plan::Apply;
use runtime::plan::meta::child_meta;
use runtime::projections::DisruptionBudget;

use super::labels::{labels, selected};
use crate::EtcdCluster;

/// The PodDisruptionBudget, which keeps evictions (node drains) from breaking the quorum of `voters`.
pub(in crate::plan) fn budget(cluster: &EtcdCluster, voters: usize, own_only: bool) -> Apply {
    let quorum = i32::try_from(voters / 2 + 1).unwrap_or(i32::MAX);
    let metadata = ObjectMeta { labels: Some(labels(cluster)), ..child_meta(&EtcdCluster::KIND, &cluster.meta) };
    let budget = policy::PodDisruptionBudget {
        metadata,
        spec: Some(policy::PodDisruptionBudgetSpec {
            min_available: Some(IntOrString::Int(quorum)),
            selector: Some(LabelSelector {
                match_labels: Some(selected(cluster, own_only)),
                ..LabelSelector::default()
            }),
            // Members may be not ready because quorum is lost: then each of them is still needed.
            unhealthy_pod_eviction_policy: Some("IfHealthyBudget".to_owned()),
            ..policy::PodDisruptionBudgetSpec::default()
        }),
        status: None,
    };
    Apply::new(DisruptionBudget::KIND, cluster.meta.key.clone(), &budget)
}
