//! Service through which applications reach the database.

use std::collections::BTreeMap;

use kube::KubeSchema;
use serde::{Deserialize, Serialize};

use crate::ServiceType;

/// Default port of the Service.
pub const DEFAULT_PORT: i32 = 5432;

/// Service `<name>-rw`, through which applications reach the database.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = Rule::new("!has(self.nodePort) || self.?type.orValue('ClusterIP') != 'ClusterIP'").message(
    "service.nodePort requires service.type NodePort or LoadBalancer: set one of them, or omit nodePort"
))]
#[x_kube(validation = Rule::new("!has(self.loadBalancerClass) || self.?type.orValue('ClusterIP') == 'LoadBalancer'").message(
    "service.loadBalancerClass requires service.type LoadBalancer: set that, or omit loadBalancerClass"
))]
pub struct DatabaseService {
    /// Type of the Service. Default: ClusterIP. NodePort and LoadBalancer admit clients outside the cluster;
    /// connections are not encrypted.
    #[serde(default, rename = "type", skip_serializing_if = "super::is_default")]
    pub type_: ServiceType,

    /// Port of the Service, 1 to 65535. Default: 5432.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 65535))]
    pub port: Option<i32>,

    /// Port on each node, for NodePort and LoadBalancer, 1 to 65535. Default: Kubernetes chooses one.
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

    /// Creates a read-only Service. Not supported yet: true is rejected.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[x_kube(validation = Rule::new("!self").message(
        "service.readOnly is not supported yet: omit it; a database has one server"
    ))]
    pub read_only: Option<bool>,
}

impl DatabaseService {
    /// The port of the Service.
    #[must_use]
    pub fn port(&self) -> i32 {
        self.port.unwrap_or(DEFAULT_PORT)
    }
}
