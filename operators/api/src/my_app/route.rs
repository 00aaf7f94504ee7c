//! How clients outside the cluster reach a MyApp.

use kube::KubeSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Requests for the application: an HTTPRoute with `gateway`, else an Ingress.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = Rule::new("!has(self.gateway) || !has(self.ingressClassName)")
    .message("route takes gateway or ingressClassName, not both"))]
#[x_kube(validation = Rule::new("!has(self.gateway) || !has(self.tlsSecret)")
    .message("route.tlsSecret applies only to an Ingress: the listeners of a Gateway hold the certificates"))]
pub struct AppRoute {
    /// Host name of the requests, such as `web.example.com` or `*.example.com`.
    #[schemars(
        length(min = 1, max = 253),
        regex(pattern = r"^(\*\.)?[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$")
    )]
    pub host: String,
    /// Path prefix of the requests, matched by whole elements. Default: `/`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 1024))]
    #[x_kube(validation = Rule::new(PATH).message("path must start with '/' and must not contain '//', '.', '..', \
        '#' or an encoded '/'"))]
    pub path: Option<String>,
    /// Gateway that receives the requests; creates an HTTPRoute.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gateway: Option<GatewayRef>,
    /// Class of the Ingress. Default: that of the cluster.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(
        length(min = 1, max = 253),
        regex(pattern = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$")
    )]
    pub ingress_class_name: Option<String>,
    /// Secret in the same namespace with the certificate of the host, for an Ingress.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(
        length(min = 1, max = 253),
        regex(pattern = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$")
    )]
    pub tls_secret: Option<String>,
}

impl AppRoute {
    /// The path prefix.
    #[must_use]
    pub fn path(&self) -> &str {
        self.path.as_deref().unwrap_or("/")
    }
}

/// Paths that both Ingress and HTTPRoute accept.
const PATH: &str = "self.startsWith('/') && !self.matches('//|/[.][.]?(/|$)|%2[fF]|#')";

/// A Gateway, and optionally one of its listeners.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GatewayRef {
    /// Name of the Gateway.
    #[schemars(length(min = 1, max = 253))]
    pub name: String,
    /// Namespace of the Gateway. Default: that of the MyApp. The listener must allow routes from the MyApp's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 63), regex(pattern = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"))]
    pub namespace: Option<String>,
    /// Name of the listener. Default: all that match.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 253))]
    pub section_name: Option<String>,
}
