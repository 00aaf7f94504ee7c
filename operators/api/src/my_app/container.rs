//! How the kubelet pulls a MyApp's image, and how the container stops.

use kube::KubeSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::probes::{Exec, HttpGet};

/// When the kubelet pulls the image.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum PullPolicy {
    /// At every start of a container; the node does not transfer what it already has.
    Always,
    /// If the image is not on the node.
    IfNotPresent,
    /// Never: the image must be on the node.
    Never,
}

impl PullPolicy {
    /// The name that Kubernetes uses.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Always => "Always",
            Self::IfNotPresent => "IfNotPresent",
            Self::Never => "Never",
        }
    }
}

/// A Secret with registry credentials, by name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, KubeSchema)]
pub struct PullSecret {
    /// Name of the Secret.
    #[schemars(length(min = 1, max = 253))]
    pub name: String,
}

/// Exactly one action before SIGTERM. It counts toward the grace period.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = Rule::new("[has(self.exec), has(self.httpGet), has(self.sleep)].filter(x, x).size() == 1")
    .message("preStop takes exactly one of exec, httpGet and sleep"))]
pub struct PreStop {
    /// Command in the container.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exec: Option<Exec>,
    /// GET request to the container.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub http_get: Option<HttpGet>,
    /// Pause, in which load balancers learn that the pod is terminating.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sleep: Option<Sleep>,
}

/// A pause.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, KubeSchema)]
pub struct Sleep {
    /// Length in seconds, 1 to 86400.
    #[schemars(range(min = 1, max = 86400))]
    pub seconds: i64,
}
