//! The stores that SampleDBs are observed from. What [`DatabaseStores::read`] returns depends on the stores alone.

use std::collections::BTreeSet;
use std::sync::Arc;

use runtime::cache::{Cache, CacheEntry, Projection, Store};
use runtime::controller::WatchBuilder;
use runtime::job::earlier;
use runtime::plan::{ChildState, DryRun, Owner};
use runtime::projections::{ConfigMap, Job, Pod, Pvc, Service, StatefulSet};

use crate::database::{self, InitSources, Observed, PlacementCheck, SecretState, ServerProbe};
use crate::operand::kinds::{SampleDB, Snapshot};
use crate::operand::labels::OWNER_UID;
use crate::operand::names;

/// The stores that the operator of SampleDB reads.
pub struct DatabaseStores {
    /// The SampleDBs.
    pub databases: Arc<Store<SampleDB>>,
    snapshots: Arc<Store<Snapshot>>,
    servers: Arc<Store<StatefulSet>>,
    services: Arc<Store<Service>>,
    configs: Arc<Store<ConfigMap>>,
    claims: Arc<Store<Pvc>>,
    pub(crate) pods: Arc<Store<Pod>>,
    jobs: Arc<Store<Job>>,
}

/// The objects that decode.
pub(crate) fn decoded<V: Projection>(entries: Vec<CacheEntry<V>>) -> Vec<Arc<V>> {
    entries.into_iter().filter_map(CacheEntry::into_object).collect()
}

impl DatabaseStores {
    /// Takes the stores of `cache`.
    #[must_use]
    pub fn new(cache: &mut Cache) -> Self {
        Self {
            databases: cache.store(),
            snapshots: cache.store(),
            servers: cache.store(),
            services: cache.store(),
            configs: cache.store(),
            claims: cache.store(),
            pods: cache.store(),
            jobs: cache.store(),
        }
    }

    /// Reconciles a SampleDB on each event of its children.
    pub(crate) fn watch(&self, watches: &mut WatchBuilder) {
        watches.children(&self.servers);
        watches.children(&self.services);
        watches.children(&self.configs);
        watches.children(&self.claims);
        watches.children(&self.pods);
        watches.children(&self.jobs);
        watches.children(&self.snapshots);
    }

    /// Returns what the stores hold of `db`. Everything that takes a query is unknown in it.
    pub(crate) fn read(&self, db: &Arc<SampleDB>, agent_image: &Arc<str>) -> Observed {
        let key = &db.meta.key;
        let owner = Owner { kind: SampleDB::KIND.qualified().into(), name: key.name.clone() };
        let sibling = |name: String| key.sibling(&name);
        let mut jobs = decoded(self.jobs.owned(&key.namespace, &owner));
        let mut pods = decoded(self.pods.owned(&key.namespace, &owner));
        earlier::remove_jobs_of_others(&db.meta.uid, &mut jobs, &mut pods);
        let mut observed = Observed {
            catalog: Ok(Arc::default()),
            server: self.servers.child(&sibling(names::server(db).to_owned()), &db.meta),
            target_server: match database::target_server_name(db) {
                Some(name) => self.servers.child(&sibling(name), &db.meta),
                None => ChildState::Absent,
            },
            servers: decoded(self.servers.owned(&key.namespace, &owner)),
            peers: self.services.child(&sibling(names::headless_service(db)), &db.meta),
            read_write: self.services.child(&sibling(names::read_write_service(db)), &db.meta),
            connection: self.configs.child(&sibling(names::connection_config_map(db)), &db.meta),
            configuration: self.configs.child(&sibling(names::server_config_map(db)), &db.meta),
            claims: decoded(self.claims.owned(&key.namespace, &owner)),
            pods,
            taken_names: BTreeSet::new(),
            final_snapshot_pods: Vec::new(),
            jobs,
            snapshots: decoded(self.snapshots.owned(&key.namespace, &owner)),
            restore_candidates: self.restore_candidates(db),
            superuser_secret: SecretState::Unknown("not read yet".to_owned()),
            app_secret: SecretState::Unknown("not read yet".to_owned()),
            password_regenerated_at: None,
            init_sources: InitSources::Digest(String::new()),
            probe: ServerProbe::Skipped,
            pod_failure: None,
            replacement: DryRun::Accepted,
            placement: PlacementCheck::Verified,
            silent_for: None,
            copy_result: None,
            observing_since: None,
            external: Vec::new(),
            existing_claim: None,
            snapshots_on_data: self.snapshots_on_data(db),
            namespace_terminating: false,
            namespace_assigns_uids: false,
            agent_image: agent_image.clone(),
            db: db.clone(),
        };
        if db.meta.deleting {
            let last = Owner { kind: Snapshot::KIND.qualified().into(), name: database::final_name(&observed).into() };
            observed.final_snapshot_pods = decoded(self.pods.owned(&key.namespace, &last));
        }
        observed
    }

    /// The snapshots that a new database may be restored from.
    fn restore_candidates(&self, db: &SampleDB) -> Vec<Arc<Snapshot>> {
        let key = &db.meta.key;
        let from = db.spec.bootstrap.from_snapshot.as_ref().filter(|_| db.status.restore.completed_at.is_none());
        let Some(from) = from else { return Vec::new() };
        let name = db.status.restore.snapshot.as_deref().or(from.name.as_deref());
        match (name, &from.of_sample_db) {
            (Some(name), _) => decoded(self.snapshots.get(&key.sibling(name)).into_iter().collect()),
            (None, Some(of)) => {
                let owner = Owner { kind: SampleDB::KIND.qualified().into(), name: of.as_str().into() };
                decoded(self.snapshots.owned(&key.namespace, &owner))
            }
            (None, None) => Vec::new(),
        }
    }

    /// Whether the PVC that the spec names for snapshots holds the data of a database.
    fn snapshots_on_data(&self, db: &SampleDB) -> bool {
        let Some(claim) = &db.spec.backup.storage.existing_claim else { return false };
        let claim = self.claims.get(&db.meta.key.sibling(claim)).and_then(CacheEntry::into_object);
        claim.is_some_and(|claim| claim.labels.contains_key(OWNER_UID) && names::is_data_claim(&claim.meta.key.name))
    }
}
