//! The operator of SampleDB: PostgreSQL databases that are deployed, initialised, backed up, verified, restored, upgraded,
//! and saved once more before anything of them is deleted.
//!
//! The server is a StatefulSet of one, on a claim that the operator makes once and names; what PostgreSQL's own programs
//! must do is done by the agent (`operators/agent`), in the pod's init steps and in Jobs. Claims, Secrets and snapshots
//! have no owner: a foreground deletion takes away whatever has one before the last snapshot could be taken.

use std::sync::{Arc, OnceLock};

use jiff::Timestamp;
use kube::Client;
use runtime::cache::{Cache, Store};
use runtime::controller::Watches;
use runtime::namespaces::Namespaces;
use runtime::permissions::Permission;
use runtime::plan::{Key, Kind, Owner};
use runtime::views::{Claim, ConfigMap, Custom, CustomKind, Job, Pod, Service, StatefulSet};
use runtime::{Error, Operator};

mod catalog;
mod look;
mod metrics;
mod named_claims;
mod observe;
pub mod plan;
mod postgres;
mod secrets;
mod server_pods;
pub mod snapshot;
mod sources;
mod trials;

pub use snapshot::SnapshotOperator;

use catalog::Catalogs;
use named_claims::NamedClaims;
use plan::{DbAct, DbPlan, Observed};
use postgres::Servers;
use secrets::Secrets;
use server_pods::ServerPods;
use trials::Trials;

/// The kind SampleDB.
#[derive(Debug)]
pub enum SampleDBKind {}

impl CustomKind for SampleDBKind {
    const KIND: Kind = Kind { group: api::GROUP, version: "v1alpha1", kind: "SampleDB", plural: "sampledbs" };
    const ANNOTATIONS: &'static [&'static str] =
        &[api::sample_db::ADOPT, api::sample_db::SKIP_FINAL_SNAPSHOT, api::sample_db::ACCEPT_FINAL_SNAPSHOT];
    const FREE: &'static [&'static str] =
        &["affinity", "tolerations", "topologySpreadConstraints", "podSecurityContext"];
    type Spec = api::sample_db::SampleDBSpec;
    type Status = api::sample_db::SampleDBStatus;
}

/// A SampleDB as the planner sees it.
pub type SampleDB = Custom<SampleDBKind>;

/// The kind SampleDBSnapshot.
#[derive(Debug)]
pub enum SnapshotKind {}

impl CustomKind for SnapshotKind {
    const KIND: Kind =
        Kind { group: api::GROUP, version: "v1alpha1", kind: "SampleDBSnapshot", plural: "sampledbsnapshots" };
    const ANNOTATIONS: &'static [&'static str] = &[
        api::sample_db_snapshot::VERIFY,
        api::sample_db_snapshot::RELEASE_SNAPSHOT,
        plan::objects::ONLINE,
        snapshot::record::RECORD,
    ];
    type Spec = api::sample_db_snapshot::SampleDBSnapshotSpec;
    type Status = api::sample_db_snapshot::SampleDBSnapshotStatus;

    fn belongs_to(spec: &Self::Spec) -> Option<Owner> {
        Some(Owner { kind: SampleDBKind::KIND.qualified().into(), name: spec.sample_db.as_str().into() })
    }
}

/// A SampleDBSnapshot as the planner sees it.
pub type Snapshot = Custom<SnapshotKind>;

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
    // Whether the namespace is going, in which no Job can be made; read while a database is deleted.
    Permission { group: "", resources: &["namespaces"], verbs: &["get"] },
];

/// The ConfigMap with the catalog of releases, in the manager's own namespace.
pub const CATALOG: &str = "multi-operator-postgres";

/// What the controllers may do in the manager's own namespace, which it may not watch: read the catalog.
pub const OWN_NAMESPACE: &[Permission] = &[Permission { group: "", resources: &["configmaps"], verbs: &["get"] }];

/// What a manager says of all databases.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The image with the agent.
    pub agent_image: Arc<str>,
    /// The ConfigMap with the catalog of releases, in the manager's own namespace.
    pub catalog: Key,
}

/// The stores that the operator of SampleDB reads.
pub struct SampleDBOperator {
    databases: Arc<Store<SampleDB>>,
    snapshots: Arc<Store<Snapshot>>,
    servers: Arc<Store<StatefulSet>>,
    services: Arc<Store<Service>>,
    configs: Arc<Store<ConfigMap>>,
    claims: Arc<Store<Claim>>,
    pods: Arc<Store<Pod>>,
    jobs: Arc<Store<Job>>,
    client: Client,
    namespaces: Namespaces,
    catalogs: Catalogs,
    postgres: Servers,
    secrets: Secrets,
    named_claims: NamedClaims,
    server_pods: ServerPods,
    trials: Trials,
    /// When it looked for the first time: a manager that waits for its turn does not look.
    began: OnceLock<Timestamp>,
    settings: Settings,
}

impl SampleDBOperator {
    /// The controller's name.
    pub const NAME: &'static str = "sample-db";

    /// An operator over these caches.
    #[must_use]
    pub fn new(cache: &mut Cache, client: Client, settings: Settings) -> Self {
        Self {
            databases: cache.store(),
            snapshots: cache.store(),
            servers: cache.store(),
            services: cache.store(),
            configs: cache.store(),
            claims: cache.store(),
            pods: cache.store(),
            jobs: cache.store(),
            catalogs: Catalogs::new(client.clone(), settings.catalog.clone()),
            postgres: Servers::default(),
            secrets: Secrets::new(client.clone()),
            named_claims: NamedClaims::new(client.clone()),
            server_pods: ServerPods::new(client.clone()),
            trials: Trials::new(client.clone()),
            namespaces: Namespaces::new(client.clone()),
            began: OnceLock::new(),
            client,
            settings,
        }
    }
}

impl Operator for SampleDBOperator {
    const NAME: &'static str = Self::NAME;
    type Object = SampleDB;
    type Observed = Observed;
    type Act = DbAct;

    fn objects(&self) -> &Arc<Store<SampleDB>> {
        &self.databases
    }

    fn watch(&self, watches: &mut Watches) {
        watches.children(&self.servers);
        watches.children(&self.services);
        watches.children(&self.configs);
        watches.children(&self.claims);
        watches.children(&self.pods);
        watches.children(&self.jobs);
        watches.children(&self.snapshots);
    }

    async fn observe(&self, db: &Arc<SampleDB>) -> Result<Observed, Error> {
        self.look(db).await
    }

    fn plan(observed: &Observed, now: Timestamp) -> DbPlan {
        plan::plan(observed, now)
    }

    async fn act(&self, db: &Arc<SampleDB>, act: DbAct) -> Result<(), Error> {
        match act {
            DbAct::MakeSecret(of) => self.secrets.make(db, of).await,
            DbAct::RewriteSecret(of) => self.secrets.rewrite(db, of).await,
            DbAct::DropSecret(of) => self.secrets.drop(db, of).await,
            DbAct::SetPassword => self.postgres.set_password(db, &self.access(db).await?).await,
            DbAct::SetParameters { set, reset } => {
                self.postgres.set_parameters(db, &self.access(db).await?, &set, &reset).await
            }
            DbAct::LetIn => self.postgres.let_in(db, &self.access(db).await?).await,
            DbAct::ShutOut => self.postgres.shut_out(db, &self.access(db).await?).await,
        }
    }
}

#[cfg(test)]
mod mounted;

#[cfg(test)]
mod tests {
    use runtime::cache::Entry;
    use serde_json::json;

    use super::SampleDB;

    /// An empty toleration has three bytes of JSON, and takes a hundred in memory.
    #[test]
    fn a_spec_that_would_take_many_times_its_text_in_memory_is_not_kept() {
        let decoded = |tolerations: usize| {
            let object = json!({ "metadata": { "namespace": "n", "name": "shop", "uid": "u" },
                "spec": { "tolerations": vec![json!({}); tolerations] } });
            Entry::<SampleDB>::decode(&object.to_string()).unwrap()
        };
        assert!(matches!(decoded(20_000), Entry::Object(_)));
        let Entry::Broken(broken) = decoded(30_000) else { panic!("it is kept") };
        assert!(broken.error.starts_with("spec.tolerations is too long: "), "{}", broken.error);
    }
}
