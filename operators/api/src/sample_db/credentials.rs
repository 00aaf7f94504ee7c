//! Whose name and password applications use.

use kube::KubeSchema;
use serde::{Deserialize, Serialize};

use super::storage::NAME;

/// Whose name and password applications use. Passwords are stored as SCRAM verifiers.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct Credentials {
    /// Your Secret of the same namespace, with the entries `username` (the database's owner: `bootstrap.database`) and
    /// `password`. An edited password is in force within 90 s, and open connections stay. Unset: the operator makes the
    /// Secret `<name>-app` with a random password.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret_ref: Option<SecretRef>,

    /// Changing the password by itself. Not built yet: refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 64))]
    #[x_kube(validation = Rule::new("false").message(
        "credentials.rotateEvery is not built yet: leave it out; a password that is edited in the Secret is taken over"
    ))]
    pub rotate_every: Option<String>,
}

/// A Secret of the same namespace.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct SecretRef {
    /// Its name.
    #[schemars(length(max = 253))]
    #[x_kube(validation = Rule::new(NAME).message(
        "credentials.secretRef.name must be the name of a Secret of the same namespace"
    ))]
    pub name: String,
}
