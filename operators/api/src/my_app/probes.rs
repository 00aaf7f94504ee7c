//! Probes of a MyApp's container.

use kube::KubeSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The three probes, each optional.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, KubeSchema)]
pub struct Probes {
    /// Holds the other two back until it has succeeded once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub startup: Option<Probe>,
    /// Whether the pod gets traffic.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub readiness: Option<Probe>,
    /// Whether the container is to be restarted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub liveness: Option<Probe>,
}

/// Exactly one way to ask, and how often.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = Rule::new(
    "[has(self.httpGet), has(self.tcpSocket), has(self.exec), has(self.grpc)].filter(x, x).size() == 1"
).message("a probe takes exactly one of httpGet, tcpSocket, exec and grpc"))]
pub struct Probe {
    /// A GET that answers with a status from 200 to 399.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub http_get: Option<HttpGet>,
    /// A TCP connection that is accepted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tcp_socket: Option<TcpSocket>,
    /// A command in the container that exits with 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exec: Option<Exec>,
    /// A call of the gRPC health service.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grpc: Option<Grpc>,
    /// Seconds from the container's start to the first try; 0 by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 86400))]
    pub initial_delay_seconds: Option<i32>,
    /// Seconds between two tries; 10 by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 86400))]
    pub period_seconds: Option<i32>,
    /// Seconds until a try counts as failed; 1 by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 86400))]
    pub timeout_seconds: Option<i32>,
    /// Failures in a row that count; 3 by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1000))]
    pub failure_threshold: Option<i32>,
    /// Successes in a row that count; 1 by default, and always 1 for startup and liveness.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1000))]
    pub success_threshold: Option<i32>,
}

/// An HTTP probe.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, KubeSchema)]
pub struct HttpGet {
    /// The path to ask for; `/` by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 2048))]
    pub path: Option<String>,
    /// The port to ask at.
    #[schemars(range(min = 1, max = 65535))]
    pub port: i32,
    /// HTTP by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scheme: Option<HttpScheme>,
}

/// With or without TLS.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum HttpScheme {
    /// Without.
    HTTP,
    /// With; the certificate is not checked.
    HTTPS,
}

/// A TCP probe.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, KubeSchema)]
pub struct TcpSocket {
    /// The port to connect to.
    #[schemars(range(min = 1, max = 65535))]
    pub port: i32,
}

/// A command probe.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, KubeSchema)]
pub struct Exec {
    /// The program and its arguments; no shell.
    #[schemars(length(min = 1, max = 64))]
    pub command: Vec<String>,
}

/// A gRPC probe.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, KubeSchema)]
pub struct Grpc {
    /// The port to call.
    #[schemars(range(min = 1, max = 65535))]
    pub port: i32,
    /// The service to ask for; empty by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 253))]
    pub service: Option<String>,
}
