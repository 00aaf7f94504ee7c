//! What the server's pod asks for, and where it may run.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{
    Affinity, LocalObjectReference, PodSecurityContext, Toleration, TopologySpreadConstraint,
};
use kube::KubeSchema;
use serde::{Deserialize, Serialize};

use crate::etcd_cluster::LABELS;
use crate::my_app::Resources;

/// What the server's pod asks for, and where it may run; the pods of Jobs follow it, as far as it is about placement.
/// These fields stand directly in the spec. A change rolls the pod.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct Scheduling {
    /// What the server asks for and may use.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resources: Option<Resources>,

    /// Which nodes the pod prefers or needs, as in a Pod.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub affinity: Option<Affinity>,

    /// Taints of nodes that the pod puts up with, as in a Pod.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 64))]
    pub tolerations: Vec<Toleration>,

    /// Labels that a node must have.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(extend("maxProperties" = 64, "additionalProperties" = { "type": "string", "maxLength": 63 }))]
    #[x_kube(validation = Rule::new(LABELS).message(
        "nodeSelector must be labels as Kubernetes has them: keys such as disktype or example.com/zone, and values of at \
         most 63 letters, digits, '-', '_' and '.' that begin and end with a letter or digit"
    ))]
    #[x_kube(merge_strategy = MapMerge::Atomic)]
    pub node_selector: BTreeMap<String, String>,

    /// How the pod spreads over nodes and zones, as in a Pod.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 16))]
    pub topology_spread_constraints: Vec<TopologySpreadConstraint>,

    /// The pod's PriorityClass.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 253))]
    pub priority_class_name: Option<String>,

    /// The pod's security context, as in a Pod. Unset: as restricted as Kubernetes knows, under the image's own user,
    /// or the one that the namespace dictates.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[x_kube(validation = Rule::new("self.?runAsUser.orValue(1) != 0 && self.?runAsNonRoot.orValue(true)").message(
        "podSecurityContext must not ask for root, as which PostgreSQL does not run: leave runAsUser 0 and runAsNonRoot \
         false out"
    ))]
    pub pod_security_context: Option<PodSecurityContext>,

    /// Secrets of the same namespace with which images are pulled.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 16))]
    pub image_pull_secrets: Vec<LocalObjectReference>,
}
