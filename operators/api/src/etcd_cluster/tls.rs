//! TLS, as the old operator knew it.

use kube::KubeSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// TLS between members and towards clients.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TlsPolicy {
    /// Certificates from Secrets.
    #[serde(default, rename = "static", skip_serializing_if = "Option::is_none")]
    pub static_: Option<StaticTls>,
}

/// Certificates from Secrets of the same namespace.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = Rule::new(
    "(self.?member.?serverSecret.orValue('') != '') == (self.?operatorSecret.orValue('') != '')"
).message(
    "TLS.static.member.serverSecret and TLS.static.operatorSecret go together, so that the operator can reach the \
     members: give both or neither"
))]
pub struct StaticTls {
    /// The members' certificates.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub member: Option<MemberSecret>,
    /// The Secret with the client certificate of the operator.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 253))]
    pub operator_secret: Option<String>,
}

/// The members' certificates.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct MemberSecret {
    /// The Secret with the certificate for other members.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 253))]
    pub peer_secret: Option<String>,
    /// The Secret with the certificate for clients.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 253))]
    pub server_secret: Option<String>,
}
