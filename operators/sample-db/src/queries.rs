//! What a reconcile asks live systems for: objects that no store holds, and PostgreSQL itself. A manager asks the API server and
//! the servers; tests answer by themselves.

use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;

use agent_protocol::PgUpgradeResult;
use api::ReconcileReason;
use runtime::Error;
use runtime::cache::Projection;
use runtime::plan::{Create, DryRun, Key, Kind};
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::database::Asked;
use crate::operand::kinds::SampleDB;
use crate::password::Password;

/// The kind Secret: read by name only, so that no store holds any.
pub const SECRET: Kind = Kind { group: "", version: "v1", kind: "Secret", plural: "secrets" };

/// Queries of the API server.
#[expect(async_fn_in_trait, reason = "whoever calls names the type, so the compiler knows which futures are Send")]
pub trait ApiQueries {
    /// The object as it is now, whatever its labels are, if it exists.
    ///
    /// # Errors
    /// If it cannot be read now: it may exist.
    async fn get(&self, kind: Kind, key: &Key) -> Result<Option<Value>, Error>;

    /// Whether the API server would create that pod.
    async fn dry_run(&self, pod: &Create) -> DryRun;

    /// Whether the namespace dictates the users that pods run as.
    ///
    /// # Errors
    /// Transient, while it cannot be read and never was.
    async fn assigns_uids(&self, namespace: &str) -> Result<bool, Error>;

    /// Whether an object of that kind is deleted because its namespace or its CRD is: then nothing that its deletion may need can
    /// be created.
    async fn is_terminating(&self, namespace: &str, kind: Kind) -> bool;
}

/// Queries of PostgreSQL servers.
#[expect(async_fn_in_trait, reason = "as in `ApiQueries`")]
pub trait ServerQueries {
    /// Asks a server that is ready about itself, unless it has just been asked.
    async fn ask(&self, db: &SampleDB, access: &Access) -> Asked;

    /// Whether one that is not ready answers; it is not asked anything.
    async fn knock(&self, db: &SampleDB, access: &Access);

    /// For how long the server of that database has not answered.
    fn silent_for(&self, db: &Key) -> Option<Duration>;

    /// No server of that database could answer.
    fn is_away(&self, db: &Key);

    /// The record of a finished copy in a server, if it exists and can be read; it is not looked for more often than that.
    async fn copied(&self, db: &Key, access: &Access, every: Duration) -> Option<PgUpgradeResult>;

    /// Nothing is remembered of a database that is deleted.
    fn forget(&self, db: &Key);
}

/// A server, and what is needed to get in.
#[derive(Clone)]
pub struct Access {
    /// The pod's uid.
    pub pod: String,
    /// The pod's address.
    pub ip: String,
    /// The major version that its image names.
    pub major: Option<u32>,
    /// The superuser's password.
    pub system: Password,
    /// The application's, if it is known.
    pub app: Option<Password>,
}

/// The object under that key as stores would hold it, whatever its labels are, if it exists.
///
/// # Errors
/// If it cannot be read now.
pub(crate) async fn live<V: Projection>(api: &impl ApiQueries, key: &Key) -> Result<Option<Arc<V>>, Error> {
    let Some(found) = api.get(V::KIND, key).await? else { return Ok(None) };
    match V::decode(&found.to_string()) {
        Ok(view) => Ok(Some(Arc::new(view))),
        Err(error) => Err(unreadable(V::KIND, key, &error)),
    }
}

/// The object under that key, whole, if it exists.
///
/// # Errors
/// If it cannot be read now.
pub(crate) async fn whole<K: DeserializeOwned>(
    api: &impl ApiQueries,
    kind: Kind,
    key: &Key,
) -> Result<Option<K>, Error> {
    let Some(found) = api.get(kind, key).await? else { return Ok(None) };
    serde_json::from_value(found).map(Some).map_err(|error| unreadable(kind, key, &error))
}

/// No later request reads what does not decode, so a person is needed at once.
fn unreadable(kind: Kind, key: &Key, error: &serde_json::Error) -> Error {
    let message = format!("{} {}: {error}", kind.kind, key.name);
    Error::Transient { reason: ReconcileReason::Unreadable.into(), message, stalled: true }
}

impl Debug for Access {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Access").field("pod", &self.pod).field("ip", &self.ip).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_decode_is_for_a_person() {
        let key = Key::new("n", "shop");
        let error = unreadable(SECRET, &key, &serde_json::from_str::<u8>("{}").unwrap_err());
        assert!(error.stalled() && error.reason() == ReconcileReason::Unreadable, "{error:?}");
    }
}
