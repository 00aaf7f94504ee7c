//! Service through which clients reach the members.

use std::collections::BTreeMap;

use kube::KubeSchema;
use serde::{Deserialize, Serialize};

use crate::ServiceType;

/// Settings of the Service `<name>-client`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = Rule::new("!has(self.nodePort) || self.?type.orValue('ClusterIP') != 'ClusterIP'").message(
    "service.nodePort requires service.type NodePort or LoadBalancer: set one of them, or omit nodePort"
))]
#[x_kube(validation = Rule::new("!has(self.loadBalancerClass) || self.?type.orValue('ClusterIP') == 'LoadBalancer'").message(
    "service.loadBalancerClass requires service.type LoadBalancer: set that, or omit loadBalancerClass"
))]
pub struct ClientService {
    /// Type of the Service. Default: ClusterIP. Without `TLS`, anyone who reaches it can read and write everything.
    #[serde(default, rename = "type", skip_serializing_if = "is_cluster_ip")]
    pub type_: ServiceType,

    /// Port on each node, for NodePort and LoadBalancer. Default: Kubernetes chooses one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 65535))]
    pub node_port: Option<i32>,

    /// Annotations of the Service, such as those for a cloud's load balancer, at most 32.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(extend("maxProperties" = 32, "additionalProperties" = { "type": "string", "maxLength": 4096 }))]
    #[x_kube(validation = Rule::new("self.all(k, !k.startsWith('multi-operator.example.com/'))").message(
        "service.annotations: multi-operator.example.com/* are reserved for the operator: use other keys"
    ))]
    #[x_kube(validation = Rule::new("self.all(k, !format.qualifiedName().validate(k.lowerAscii()).hasValue())").message(
        "service.annotations must have valid Kubernetes annotation keys, such as team or example.com/team"
    ))]
    #[x_kube(merge_strategy = MapMerge::Atomic)]
    pub annotations: BTreeMap<String, String>,

    /// Class of the load balancer, for LoadBalancer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 253))]
    #[x_kube(validation = Rule::new("!format.qualifiedName().validate(self).hasValue()").message(
        "service.loadBalancerClass must be a qualified Kubernetes name, such as example.com/internal"
    ))]
    pub load_balancer_class: Option<String>,
}

fn is_cluster_ip(type_: &ServiceType) -> bool {
    *type_ == ServiceType::ClusterIP
}
