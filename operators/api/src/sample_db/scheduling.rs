//! Resources and placement of the server's pod.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{
    Affinity, LocalObjectReference, PodSecurityContext, Toleration, TopologySpreadConstraint,
};
use kube::KubeSchema;
use serde::{Deserialize, Serialize};

use crate::etcd_cluster::LABELS;
use crate::my_app::Resources;

/// Resources and placement of the server's pod; the pods of Jobs follow its placement. These fields stand directly in
/// the spec. A change restarts the pod.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct Scheduling {
    /// Resource requests and limits of each container. Default: requests of 50m CPU and 128Mi memory, no limits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resources: Option<Resources>,

    /// Affinity of the pod.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub affinity: Option<Affinity>,

    /// Tolerations of the pod, at most 64.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 64))]
    pub tolerations: Vec<Toleration>,

    /// Labels that a node must have.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(extend("maxProperties" = 64, "additionalProperties" = { "type": "string", "maxLength": 63 }))]
    #[x_kube(validation = Rule::new(LABELS).message(
        "nodeSelector must be valid Kubernetes labels: keys such as disktype or example.com/zone, and values of at \
         most 63 letters, digits, '-', '_' and '.' that start and end with a letter or digit"
    ))]
    #[x_kube(merge_strategy = MapMerge::Atomic)]
    pub node_selector: BTreeMap<String, String>,

    /// Topology spread constraints of the pod, at most 16.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 16))]
    pub topology_spread_constraints: Vec<TopologySpreadConstraint>,

    /// PriorityClass of the pod.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 253))]
    pub priority_class_name: Option<String>,

    /// Security context of the pod; must not request root. Default: the restricted Pod Security Standard, under the
    /// image's user or the one that the namespace assigns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[x_kube(validation = Rule::new("self.?runAsUser.orValue(1) != 0 && self.?runAsNonRoot.orValue(true)").message(
        "podSecurityContext must not request root, because PostgreSQL does not run as root: omit runAsUser 0 and \
         runAsNonRoot false"
    ))]
    pub pod_security_context: Option<PodSecurityContext>,

    /// Secrets in the same namespace for pulling images, at most 16.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 16))]
    pub image_pull_secrets: Vec<LocalObjectReference>,
}
