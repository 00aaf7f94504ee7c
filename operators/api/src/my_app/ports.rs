//! Ports of a MyApp.

use kube::KubeSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A port of the Service and of the pods behind it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct AppPort {
    /// Name: 1 to 15 lower-case letters, digits and `-`, at least one letter.
    #[schemars(length(min = 1, max = 15))]
    #[x_kube(validation = Rule::new("self.matches('^[a-z0-9]+(-[a-z0-9]+)*$') && self.matches('[a-z]')").message(
        "the name of a port must be 1 to 15 lower-case letters, digits and single '-' between them, with at least \
         one letter"
    ))]
    pub name: String,
    /// Port of the Service, 1 to 65535.
    #[schemars(range(min = 1, max = 65535))]
    pub port: i32,
    /// Port that the application listens on. Default: `port`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 65535))]
    pub target_port: Option<i32>,
    /// Protocol of the port. Default: TCP.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub protocol: Option<Protocol>,
}

impl AppPort {
    /// The port that the application listens on.
    #[must_use]
    pub fn target(&self) -> i32 {
        self.target_port.unwrap_or(self.port)
    }

    /// The protocol. Default: TCP.
    #[must_use]
    pub fn protocol(&self) -> Protocol {
        self.protocol.unwrap_or_default()
    }
}

/// Protocol of a port. Default: TCP.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Protocol {
    /// Connections.
    #[default]
    TCP,
    /// Datagrams.
    UDP,
}

impl Protocol {
    /// The name that Kubernetes uses.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::TCP => "TCP",
            Self::UDP => "UDP",
        }
    }
}

/// A Service cannot have two ports of one number and protocol. (Two of its ports may have one target.) The rule
/// compares whether protocols are UDP, because CEL's cost limit counts each string as long as a request may be.
pub(super) const DISTINCT: &str = "self.all(a, self.exists_one(b, a.port == b.port && \
    (has(a.protocol) && a.protocol == 'UDP') == (has(b.protocol) && b.protocol == 'UDP')))";
