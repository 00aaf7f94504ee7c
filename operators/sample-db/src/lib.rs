//! The operators of SampleDB and SampleDBSnapshot: they deploy PostgreSQL databases, initialize, back up, verify, restore and
//! upgrade them, and take a final snapshot before they delete one.
//!
//! The server is a StatefulSet with one replica, on a PVC that the operator creates and names. The agent (`operators/agent`) runs
//! PostgreSQL's own programs, in init containers of the server's pod and in Jobs. PVCs, Secrets and snapshots have no owner
//! reference: a foreground deletion would delete them before the final snapshot is taken.

use std::sync::Arc;

use jiff::Timestamp;
use kube::Client;
use runtime::cache::{Cache, Store};
use runtime::controller::WatchBuilder;
use runtime::permissions::Permission;
use runtime::{Error, Operator};

use database::Observed;
use database::effects::{DbAct, DbPlan};
use live_api::LiveApi;
use postgres::Servers;

mod catalog;
pub mod database;
mod endpoints;
mod failed_pod;
mod live_api;
mod metrics;
mod named_claims;
mod observe;
pub mod operand;
pub(crate) mod password;
mod postgres;
mod queries;
mod saslprep;
mod secrets;
mod server_pods;
mod settings;
pub mod snapshot;
mod sources;
mod stores;
mod trials;
mod ttl_cache;

pub use observe::{Memory, Observer};
pub use operand::kinds::{SampleDB, SampleDBKind, Snapshot, SnapshotKind};
pub use password::Password;
pub use postgres::{ConnectError, LivePostgres, PostgresClient, RemainingSessions, ServerFuture};
pub use queries::{ApiQueries, SECRET, ServerAccess, ServerQueries};
pub use secrets::PASSWORD_REGENERATED_AT;
pub use settings::Settings;
pub use snapshot::SnapshotOperator;
pub use stores::DatabaseStores;
/// The codes of a server's errors.
pub use tokio_postgres::error::SqlState;

/// What the controllers may do in each watched namespace.
pub const PERMISSIONS: &[Permission] = &[
    // `patch` for the finalizer, which is metadata.
    Permission { group: api::GROUP, resources: &["sampledbs"], verbs: &["get", "list", "watch", "patch"] },
    Permission {
        group: api::GROUP,
        resources: &["sampledbsnapshots"],
        verbs: &["get", "list", "watch", "create", "patch", "delete"],
    },
    Permission { group: api::GROUP, resources: &["sampledbs/status", "sampledbsnapshots/status"], verbs: &["patch"] },
    // Owner references that block deletion need it where OwnerReferencesPermissionEnforcement is on (OpenShift).
    Permission {
        group: api::GROUP,
        resources: &["sampledbs/finalizers", "sampledbsnapshots/finalizers"],
        verbs: &["update"],
    },
    Permission {
        group: "apps",
        resources: &["statefulsets"],
        verbs: &["get", "list", "watch", "create", "patch", "delete"],
    },
    Permission { group: "batch", resources: &["jobs"], verbs: &["get", "list", "watch", "create", "delete"] },
    Permission {
        group: "",
        resources: &["persistentvolumeclaims", "services", "configmaps"],
        verbs: &["get", "list", "watch", "create", "patch", "delete"],
    },
    // `create` for dry runs, before a server's pod is replaced; `patch` for its labels.
    Permission { group: "", resources: &["pods"], verbs: &["get", "list", "watch", "create", "patch", "delete"] },
    // By name only: never listed, never watched.
    Permission { group: "", resources: &["secrets"], verbs: &["get", "create", "patch", "delete"] },
    // Whether the namespace is terminating, so that no Job can be created in it; read while a database is deleted.
    Permission { group: "", resources: &["namespaces"], verbs: &["get"] },
];

/// The ConfigMap with the catalog of releases, in the manager's own namespace.
pub const CATALOG: &str = "multi-operator-postgres";

/// What the controllers may do in the manager's own namespace, which it may not watch: read the catalog.
pub const OWN_NAMESPACE: &[Permission] = &[Permission { group: "", resources: &["configmaps"], verbs: &["get"] }];

/// The operator of SampleDB: the stores that it reads, and the live systems that it queries.
pub struct SampleDBOperator {
    stores: DatabaseStores,
    memory: Memory,
    settings: Settings,
    api: LiveApi,
    servers: Servers,
}

impl SampleDBOperator {
    /// The controller's name.
    pub const NAME: &'static str = operand::names::CONTROLLER;

    /// An operator over these caches.
    #[must_use]
    pub fn new(cache: &mut Cache, client: Client, settings: Settings) -> Self {
        Self {
            stores: DatabaseStores::new(cache),
            memory: Memory::default(),
            settings,
            api: LiveApi::new(client),
            servers: Servers::default(),
        }
    }

    /// The same operator, which reaches its servers by that client.
    #[must_use]
    pub fn with_postgres(mut self, client: Arc<dyn PostgresClient>) -> Self {
        self.servers = Servers::new(client);
        self
    }

    fn observer(&self) -> Observer<'_, LiveApi, Servers> {
        let Self { stores, memory, settings, api, servers } = self;
        Observer { stores, memory, settings, api, servers, now: runtime::clock::now() }
    }

    async fn access(&self, db: &Arc<SampleDB>) -> Result<ServerAccess, Error> {
        self.observer().access(db).await
    }
}

impl Operator for SampleDBOperator {
    const NAME: &'static str = Self::NAME;
    type Object = SampleDB;
    type Observed = Observed;
    type Act = DbAct;

    fn objects(&self) -> &Arc<Store<SampleDB>> {
        &self.stores.databases
    }

    fn watch(&self, watches: &mut WatchBuilder) {
        self.stores.watch(watches);
    }

    async fn observe(&self, db: &Arc<SampleDB>) -> Result<Observed, Error> {
        let observed = self.observer().observe(db).await?;
        metrics::report(&observed);
        Ok(observed)
    }

    fn plan(observed: &Observed, now: Timestamp) -> DbPlan {
        database::plan(observed, now)
    }

    async fn act(&self, db: &Arc<SampleDB>, act: DbAct) -> Result<(), Error> {
        let (secrets, client) = (&self.memory.secrets, &self.api.client);
        match act {
            DbAct::CreateSecret(of) => secrets.create(client, db, of).await,
            DbAct::UpdateSecret(of) => secrets.update(client, db, of).await,
            DbAct::DeleteSecret(of) => secrets.delete(client, db, of).await,
            DbAct::SetPassword => self.servers.set_password(db, &self.access(db).await?).await,
            DbAct::SetParameters { set, reset } => {
                self.servers.set_parameters(db, &self.access(db).await?, &set, &reset).await
            }
            DbAct::AllowConnections => self.servers.allow_clients(db, &self.access(db).await?).await,
            DbAct::BlockConnections => self.servers.block_clients(db, &self.access(db).await?).await,
        }
    }
}

#[cfg(test)]
mod tests {
    use runtime::cache::CacheEntry;
    use serde_json::json;

    use super::SampleDB;

    /// An empty toleration has three bytes of JSON, and takes a hundred in memory.
    #[test]
    fn a_spec_that_takes_many_times_its_text_in_memory_is_not_cached() {
        let decoded = |tolerations: usize| {
            let object = json!({ "metadata": { "namespace": "n", "name": "shop", "uid": "u" },
                "spec": { "tolerations": vec![json!({}); tolerations] } });
            CacheEntry::<SampleDB>::decode(&object.to_string()).unwrap()
        };
        assert!(matches!(decoded(20_000), CacheEntry::Object(_)));
        let CacheEntry::Undecodable(broken) = decoded(30_000) else { panic!("it is cached") };
        assert!(broken.error.starts_with("spec.tolerations is too long: "), "{}", broken.error);
    }
}

#[cfg(test)]
mod mounted;
