//! TLS, with the fields of the archived operator, and certificates that this one issues.

use kube::KubeSchema;
use serde::{Deserialize, Serialize};

/// The annotation that replaces the authorities of [`IssuedTls`] by new ones, once for each new value.
pub const ROTATE_AUTHORITIES: &str = "example.com/rotate-authorities";

/// TLS between members and for clients.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = Rule::new("!has(self.static) || !has(self.issued)")
    .message("TLS.static and TLS.issued exclude each other: either you provide the certificates, or the operator issues them"))]
#[x_kube(validation = Rule::new(
    "!(oldSelf.?static.?member.?peerSecret.orValue('') != '' && self.?issued.?members.orValue(false)) && \
     !(self.?static.?member.?peerSecret.orValue('') != '' && oldSelf.?issued.?members.orValue(false))"
).message(
    "TLS between members cannot change between TLS.static and TLS.issued: members would reject one another while they restart; restore \
     a backup into a new cluster"
))]
pub struct TlsPolicy {
    /// Certificates that the operator issues and renews, by authorities of its own for this cluster. Default: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub issued: Option<IssuedTls>,
    /// Certificates from Secrets.
    #[serde(default, rename = "static", skip_serializing_if = "Option::is_none")]
    pub static_: Option<StaticTls>,
    /// Whether members also serve clients without TLS, at the same port, while clients change over. Default: false.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub allow_plaintext: bool,
}

impl TlsPolicy {
    /// The Secret with the certificate for other members.
    #[must_use]
    pub fn peer_secret(&self) -> Option<&str> {
        given(self.static_.as_ref()?.member.as_ref()?.peer_secret.as_ref())
    }

    /// The Secret with the certificate for clients.
    #[must_use]
    pub fn server_secret(&self) -> Option<&str> {
        given(self.static_.as_ref()?.member.as_ref()?.server_secret.as_ref())
    }

    /// The Secret with the operator's client certificate.
    #[must_use]
    pub fn operator_secret(&self) -> Option<&str> {
        given(self.static_.as_ref()?.operator_secret.as_ref())
    }
}

/// Where the operator uses certificates that it issues.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = Rule::new("self.members || self.clients").message("TLS.issued is of no use without members and clients"))]
pub struct IssuedTls {
    /// Whether members use TLS among themselves. Decided at creation. Default: true.
    #[serde(default = "yes")]
    pub members: bool,
    /// Whether members serve clients with TLS, who then need a certificate, such as that of the Secret `<name>-client-tls`. Default:
    /// true.
    #[serde(default = "yes")]
    pub clients: bool,
}

impl Default for IssuedTls {
    fn default() -> Self {
        Self { members: true, clients: true }
    }
}

fn yes() -> bool {
    true
}

/// As in the archived operator, an empty name is none.
fn given(name: Option<&String>) -> Option<&str> {
    name.map(String::as_str).filter(|name| !name.is_empty())
}

/// Certificates from Secrets in the same namespace, each with the files of the archived operator, or with tls.crt, tls.key and
/// ca.crt, as cert-manager writes them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = Rule::new(
    "(self.?member.?serverSecret.orValue('') != '') == (self.?operatorSecret.orValue('') != '')"
).message(
    "TLS.static.member.serverSecret and TLS.static.operatorSecret belong together, so that the operator can reach \
     the members: set both or neither"
))]
pub struct StaticTls {
    /// Certificates of the members.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub member: Option<MemberSecret>,
    /// Secret with the operator's client certificate: etcd-client.crt, etcd-client.key and etcd-client-ca.crt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 253))]
    pub operator_secret: Option<String>,
}

/// Certificates of the members.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct MemberSecret {
    /// Secret with the certificate for other members: peer.crt, peer.key and peer-ca.crt. Decided at creation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 253))]
    pub peer_secret: Option<String>,
    /// Secret with the certificate for clients: server.crt, server.key and server-ca.crt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 253))]
    pub server_secret: Option<String>,
}
