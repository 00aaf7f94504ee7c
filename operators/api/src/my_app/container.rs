//! How a MyApp's image is pulled, and how its container stops.

use kube::KubeSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::probes::{Exec, HttpGet};

/// When the kubelet pulls the image.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum PullPolicy {
    /// Whenever a container starts; what the node has already is not transferred again.
    Always,
    /// If the node does not have it.
    IfNotPresent,
    /// Never: the node must have it.
    Never,
}

impl PullPolicy {
    /// As Kubernetes names it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Always => "Always",
            Self::IfNotPresent => "IfNotPresent",
            Self::Never => "Never",
        }
    }
}

/// A Secret with credentials of a registry, by name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, KubeSchema)]
pub struct PullSecret {
    /// Its name.
    #[schemars(length(min = 1, max = 253))]
    pub name: String,
}

/// Exactly one thing to do before SIGTERM. It counts towards the grace period.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = Rule::new("[has(self.exec), has(self.httpGet), has(self.sleep)].filter(x, x).size() == 1")
    .message("preStop takes exactly one of exec, httpGet and sleep"))]
pub struct PreStop {
    /// A command in the container.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exec: Option<Exec>,
    /// A GET to the container.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub http_get: Option<HttpGet>,
    /// A pause, in which load balancers learn that the pod is terminating.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sleep: Option<Sleep>,
}

/// A pause.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, KubeSchema)]
pub struct Sleep {
    /// How long, in seconds.
    #[schemars(range(min = 1, max = 86400))]
    pub seconds: i64,
}
