//! User name and password of applications.

use kube::KubeSchema;
use serde::{Deserialize, Serialize};

use super::storage::NAME;

/// User name and password of applications. PostgreSQL stores passwords as SCRAM verifiers.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct Credentials {
    /// Your own Secret in the same namespace, with the keys `username` (must equal `bootstrap.database`) and
    /// `password`. A changed password takes effect within 90 s; open connections stay. Default: the operator creates
    /// `<name>-app` with a random password.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret_ref: Option<SecretRef>,

    /// Interval of password rotation. Not supported yet: rejected.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 64))]
    #[x_kube(validation = Rule::new("false").message(
        "credentials.rotateEvery is not supported yet: omit it; the operator applies a password that is edited in \
         the Secret"
    ))]
    pub rotate_every: Option<String>,
}

/// Secret in the same namespace.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct SecretRef {
    /// Name of the Secret.
    #[schemars(length(max = 253))]
    #[x_kube(validation = Rule::new(NAME).message(
        "credentials.secretRef.name must be the name of a Secret in the same namespace"
    ))]
    pub name: String,
}
