//! The type of a Service, for all kinds whose Services users can publish.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Clients that can reach a Service.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum ServiceType {
    /// Clients in the cluster.
    #[default]
    ClusterIP,
    /// Also clients that reach a node.
    NodePort,
    /// Also clients that reach the load balancer of the cluster's provider.
    LoadBalancer,
}

impl ServiceType {
    /// The name that Kubernetes uses.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::ClusterIP => "ClusterIP",
            Self::NodePort => "NodePort",
            Self::LoadBalancer => "LoadBalancer",
        }
    }
}
