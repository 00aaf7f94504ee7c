//! Reads the password of etcd's user `root`.

use super::certificates::max_age;
use super::queries::Queries;
use super::secrets::SecretLookup;
use crate::EtcdCluster;
use crate::etcd::RootPassword;
use crate::plan::authentication::{self, ROOT_SECRET};

/// The password, if the spec names a Secret with it.
///
/// # Errors
/// Why the Secret cannot be used.
pub(super) async fn read(queries: &impl Queries, cluster: &EtcdCluster) -> Result<Option<RootPassword>, String> {
    let Some(name) = cluster.spec.authentication.as_ref().map(|of| of.root_secret.as_str()) else { return Ok(None) };
    match queries.secret(name, max_age(cluster)).await {
        SecretLookup::Found(found) => {
            let password = authentication::password(name, |key| found.files.get(key).map(String::as_str))?;
            Ok(Some(RootPassword::new(password)))
        }
        SecretLookup::Absent => Err(format!(
            "the Secret {name} of {ROOT_SECRET} does not exist: create it, with the password of etcd's user root under the key {}",
            authentication::PASSWORD
        )),
        SecretLookup::Unknown(error) => Err(format!("the Secret {name} of {ROOT_SECRET} cannot be read: {error}")),
    }
}
