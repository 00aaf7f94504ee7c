//! How a MyApp is reached from outside of the cluster.

use kube::KubeSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Which requests are for the application: an HTTPRoute where a gateway is named, else an Ingress.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = Rule::new("!has(self.gateway) || !has(self.ingressClassName)")
    .message("route takes gateway or ingressClassName, not both"))]
#[x_kube(validation = Rule::new("!has(self.gateway) || !has(self.tlsSecret)")
    .message("route.tlsSecret is for an Ingress alone: the listeners of a Gateway have the certificates"))]
pub struct Route {
    /// Host name of the requests, such as `web.example.com` or `*.example.com`.
    #[schemars(
        length(min = 1, max = 253),
        regex(pattern = r"^(\*\.)?[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$")
    )]
    pub host: String,
    /// What their paths begin with, by whole elements; `/` by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 1024))]
    #[x_kube(validation = Rule::new(PATH).message("path must begin with '/', and have no '//', '.', '..', '#' and no encoded '/'"))]
    pub path: Option<String>,
    /// The Gateway that takes them in: makes an HTTPRoute.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gateway: Option<GatewayRef>,
    /// The class of the Ingress; by default that of the cluster.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(
        length(min = 1, max = 253),
        regex(pattern = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$")
    )]
    pub ingress_class_name: Option<String>,
    /// Secret of the same namespace with the certificate of the host, for an Ingress.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(
        length(min = 1, max = 253),
        regex(pattern = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$")
    )]
    pub tls_secret: Option<String>,
}

impl Route {
    /// What paths begin with.
    #[must_use]
    pub fn path(&self) -> &str {
        self.path.as_deref().unwrap_or("/")
    }
}

/// As both Ingress and HTTPRoute have it.
const PATH: &str = "self.startsWith('/') && !self.matches('//|/[.][.]?(/|$)|%2[fF]|#')";

/// A Gateway, and if wished one of its listeners.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GatewayRef {
    /// Its name.
    #[schemars(length(min = 1, max = 253))]
    pub name: String,
    /// Its namespace, by default that of the MyApp. The listener has to allow routes from here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 63), regex(pattern = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"))]
    pub namespace: Option<String>,
    /// The name of its listener; by default all that fit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 253))]
    pub section_name: Option<String>,
}
