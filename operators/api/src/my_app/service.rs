//! The Service of a MyApp, as far as `port` and `ports` do not say it.

use std::collections::BTreeMap;

use kube::KubeSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Who can reach the Service, and what load balancers read of it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, KubeSchema)]
pub struct ServiceOptions {
    /// ClusterIP by default.
    #[serde(default, rename = "type", skip_serializing_if = "Option::is_none")]
    pub type_: Option<ServiceType>,
    /// Annotations of the Service.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(extend("maxProperties" = 32, "additionalProperties" = { "type": "string", "maxLength": 4096 }))]
    #[x_kube(validation = Rule::new("self.all(k, !k.startsWith('multi-operator.example.com/'))").message(
        "service.annotations: multi-operator.example.com/* are the operator's own: choose other keys"
    ))]
    #[x_kube(validation = Rule::new("self.all(k, !format.qualifiedName().validate(k.lowerAscii()).hasValue())").message(
        "service.annotations must have keys as Kubernetes has them, such as team or example.com/team"
    ))]
    #[x_kube(merge_strategy = MapMerge::Granular)]
    pub annotations: BTreeMap<String, String>,
}

/// Who can reach the Service.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum ServiceType {
    /// Who is in the cluster.
    ClusterIP,
    /// Also who reaches a node.
    NodePort,
    /// Also who reaches the load balancer that the cluster's provider makes.
    LoadBalancer,
}

impl ServiceType {
    /// As Kubernetes names it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::ClusterIP => "ClusterIP",
            Self::NodePort => "NodePort",
            Self::LoadBalancer => "LoadBalancer",
        }
    }
}
