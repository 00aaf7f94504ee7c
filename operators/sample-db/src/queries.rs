//! The queries of a reconcile to live systems: the API server, for objects that no store holds, and PostgreSQL. Tests implement
//! them without either.

use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;

use agent_protocol::PgUpgradeResult;
use api::ReconcileReason;
use runtime::Error;
use runtime::cache::Projection;
use runtime::plan::{Create, DryRun, Key, ResourceKind};
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::database::ServerProbe;
use crate::operand::kinds::SampleDB;
use crate::password::Password;

/// The kind Secret. Secrets are read by name only, so that no store holds one.
pub const SECRET: ResourceKind = ResourceKind { group: "", version: "v1", kind: "Secret", plural: "secrets" };

/// Queries of the API server.
#[expect(async_fn_in_trait, reason = "callers name the type, so the compiler knows which futures are Send")]
pub trait ApiQueries {
    /// The object as it is now, whatever its labels are, if it exists.
    ///
    /// # Errors
    /// If it cannot be read now: it may exist.
    async fn get(&self, kind: ResourceKind, key: &Key) -> Result<Option<Value>, Error>;

    /// Whether the API server would create that pod.
    async fn dry_run(&self, pod: &Create) -> DryRun;

    /// Whether the namespace dictates the users that pods run as.
    ///
    /// # Errors
    /// Transient, while it cannot be read and never was.
    async fn assigns_uids(&self, namespace: &str) -> Result<bool, Error>;

    /// Whether an object of that kind is deleted because its namespace or its CRD is terminating: then the API server creates
    /// nothing that its deletion may need.
    async fn is_terminating(&self, namespace: &str, kind: ResourceKind) -> bool;
}

/// Queries of PostgreSQL servers.
#[expect(async_fn_in_trait, reason = "as in `ApiQueries`")]
pub trait ServerQueries {
    /// Queries a ready server about itself, unless a recent result is known.
    async fn query(&self, db: &SampleDB, access: &ServerAccess) -> ServerProbe;

    /// Records whether a server that is not ready accepts connections, without a query.
    async fn ping(&self, db: &SampleDB, access: &ServerAccess);

    /// For how long the server of that database has not answered.
    fn silent_for(&self, db: &Key) -> Option<Duration>;

    /// Forgets that the server of that database has not answered: there is none that could.
    fn forget_silence(&self, db: &Key);

    /// The record of a finished copy in a server, if it exists and can be read. It is read no more often than `every`.
    async fn copy_result(&self, db: &Key, access: &ServerAccess, every: Duration) -> Option<PgUpgradeResult>;

    /// Forgets everything about a database that is deleted.
    fn forget(&self, db: &Key);
}

/// A server's address and credentials.
#[derive(Clone)]
pub struct ServerAccess {
    /// The pod's uid.
    pub pod: String,
    /// The pod's address.
    pub ip: String,
    /// The major version that its image names.
    pub major: Option<u32>,
    /// The superuser's password.
    pub superuser_password: Password,
    /// The application's password, if it is known.
    pub app_password: Option<Password>,
}

/// Reads the object with that key as stores would hold it, whatever its labels are, if it exists.
///
/// # Errors
/// If it cannot be read now.
pub(crate) async fn get_projection<V: Projection>(api: &impl ApiQueries, key: &Key) -> Result<Option<Arc<V>>, Error> {
    let Some(found) = api.get(V::KIND, key).await? else { return Ok(None) };
    match V::decode(&found.to_string()) {
        Ok(view) => Ok(Some(Arc::new(view))),
        Err(error) => Err(unreadable(V::KIND, key, &error)),
    }
}

/// Reads the complete object with that key, if it exists.
///
/// # Errors
/// If it cannot be read now.
pub(crate) async fn get_object<K: DeserializeOwned>(
    api: &impl ApiQueries,
    kind: ResourceKind,
    key: &Key,
) -> Result<Option<K>, Error> {
    let Some(found) = api.get(kind, key).await? else { return Ok(None) };
    serde_json::from_value(found).map(Some).map_err(|error| unreadable(kind, key, &error))
}

/// No later request can decode the object either, so the error is stalled at once.
fn unreadable(kind: ResourceKind, key: &Key, error: &serde_json::Error) -> Error {
    let message = format!("{} {}: {error}", kind.kind, key.name);
    Error::Transient { reason: ReconcileReason::Unreadable.into(), message, stalled: true }
}

impl Debug for ServerAccess {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("ServerAccess").field("pod", &self.pod).field("ip", &self.ip).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_that_does_not_decode_stalls_the_reconcile() {
        let key = Key::new("n", "shop");
        let error = unreadable(SECRET, &key, &serde_json::from_str::<u8>("{}").unwrap_err());
        assert!(error.stalled() && error.reason() == ReconcileReason::Unreadable, "{error:?}");
    }
}
