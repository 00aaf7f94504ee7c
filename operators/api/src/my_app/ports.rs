//! Ports of a MyApp.

use kube::KubeSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A port of the Service and of the pods behind it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct Port {
    /// Its name: 1 to 15 lower-case letters, digits and `-`, with at least one letter.
    #[schemars(length(min = 1, max = 15))]
    #[x_kube(validation = Rule::new("self.matches('^[a-z0-9]+(-[a-z0-9]+)*$') && self.matches('[a-z]')").message(
        "the name of a port is 1 to 15 lower-case letters, digits and single '-' between them, with at least one letter"
    ))]
    pub name: String,
    /// The port of the Service.
    #[schemars(range(min = 1, max = 65535))]
    pub port: i32,
    /// The port that the application listens on; that of the Service by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 65535))]
    pub target_port: Option<i32>,
    /// TCP by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub protocol: Option<Protocol>,
}

impl Port {
    /// The port that the application listens on.
    #[must_use]
    pub fn target(&self) -> i32 {
        self.target_port.unwrap_or(self.port)
    }

    /// The protocol, by default TCP.
    #[must_use]
    pub fn protocol(&self) -> Protocol {
        self.protocol.unwrap_or_default()
    }
}

/// The protocol of a port; TCP by default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Protocol {
    /// Connections.
    #[default]
    TCP,
    /// Datagrams.
    UDP,
}

impl Protocol {
    /// As Kubernetes names it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::TCP => "TCP",
            Self::UDP => "UDP",
        }
    }
}

/// What a Service cannot have twice. (A pod may well serve two of its ports at one.) Protocols are compared as whether they are
/// UDP: CEL's cost limit takes each string for as long as a request may be.
pub(super) const DISTINCT: &str = "self.all(a, self.exists_one(b, a.port == b.port && \
    (has(a.protocol) && a.protocol == 'UDP') == (has(b.protocol) && b.protocol == 'UDP')))";
