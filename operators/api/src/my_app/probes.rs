//! Probes of a MyApp's container.

use kube::KubeSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Startup, readiness and liveness probes, each optional.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, KubeSchema)]
pub struct Probes {
    /// Probe that holds back the other two until it succeeds once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub startup: Option<ContainerProbe>,
    /// Probe that decides whether the pod gets traffic.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub readiness: Option<ContainerProbe>,
    /// Probe whose failure makes the kubelet restart the container.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub liveness: Option<ContainerProbe>,
}

/// Exactly one handler, and its timing.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = Rule::new(
    "[has(self.httpGet), has(self.tcpSocket), has(self.exec), has(self.grpc)].filter(x, x).size() == 1"
).message("a probe takes exactly one of httpGet, tcpSocket, exec and grpc"))]
pub struct ContainerProbe {
    /// GET request that succeeds with a status from 200 to 399.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub http_get: Option<HttpGet>,
    /// TCP connection that the container accepts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tcp_socket: Option<TcpSocket>,
    /// Command in the container that exits with 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exec: Option<Exec>,
    /// Call of the gRPC health service.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grpc: Option<Grpc>,
    /// Seconds from container start to first probe, 0 to 86400. Default: 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 86400))]
    pub initial_delay_seconds: Option<i32>,
    /// Seconds between probes, 1 to 86400. Default: 10.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 86400))]
    pub period_seconds: Option<i32>,
    /// Seconds until a probe fails, 1 to 86400. Default: 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 86400))]
    pub timeout_seconds: Option<i32>,
    /// Consecutive failures that count, 1 to 1000. Default: 3.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1000))]
    pub failure_threshold: Option<i32>,
    /// Consecutive successes that count, 1 to 1000. Default: 1; startup and liveness allow only 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1000))]
    pub success_threshold: Option<i32>,
}

/// An HTTP request.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, KubeSchema)]
pub struct HttpGet {
    /// Path of the request. Default: `/`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 2048))]
    pub path: Option<String>,
    /// Port of the container.
    #[schemars(range(min = 1, max = 65535))]
    pub port: i32,
    /// Scheme of the request. Default: HTTP.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scheme: Option<HttpScheme>,
}

/// Scheme of a request: without or with TLS.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum HttpScheme {
    /// Without TLS.
    HTTP,
    /// With TLS; the kubelet does not verify the certificate.
    HTTPS,
}

/// A TCP connection.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, KubeSchema)]
pub struct TcpSocket {
    /// Port of the container.
    #[schemars(range(min = 1, max = 65535))]
    pub port: i32,
}

/// A command in the container.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, KubeSchema)]
pub struct Exec {
    /// Program and arguments, without a shell.
    #[schemars(length(min = 1, max = 64))]
    pub command: Vec<String>,
}

/// A gRPC health check.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, KubeSchema)]
pub struct Grpc {
    /// Port of the container.
    #[schemars(range(min = 1, max = 65535))]
    pub port: i32,
    /// Service to check. Default: empty.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 253))]
    pub service: Option<String>,
}
