//! The stores of SampleDBs, and what they hold of one: given these, the result depends on nothing else.

use std::collections::BTreeSet;
use std::sync::Arc;

use runtime::cache::{Cache, Entry, Projection, Store};
use runtime::controller::Watches;
use runtime::plan::{ChildState, DryRun, Owner};
use runtime::projections::{Claim, ConfigMap, Job, Pod, Service, StatefulSet};

use crate::database::{self, Asked, InitSources, Observed, Placement, SecretSeen};
use crate::operand::kinds::{SampleDB, Snapshot};
use crate::operand::labels::OWNER_UID;
use crate::operand::{earlier, names};

/// The stores that the operator of SampleDB reads.
pub struct DatabaseStores {
    /// The SampleDBs.
    pub databases: Arc<Store<SampleDB>>,
    snapshots: Arc<Store<Snapshot>>,
    servers: Arc<Store<StatefulSet>>,
    services: Arc<Store<Service>>,
    configs: Arc<Store<ConfigMap>>,
    claims: Arc<Store<Claim>>,
    pub(crate) pods: Arc<Store<Pod>>,
    jobs: Arc<Store<Job>>,
}

/// Those that decode.
pub(crate) fn decoded<V: Projection>(entries: Vec<Entry<V>>) -> Vec<Arc<V>> {
    entries.into_iter().filter_map(Entry::into_object).collect()
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
    pub(crate) fn watch(&self, watches: &mut Watches) {
        watches.children(&self.servers);
        watches.children(&self.services);
        watches.children(&self.configs);
        watches.children(&self.claims);
        watches.children(&self.pods);
        watches.children(&self.jobs);
        watches.children(&self.snapshots);
    }

    /// What the stores hold of `db`; as for the rest, nothing was queried yet.
    pub(crate) fn read(&self, db: &Arc<SampleDB>, agent_image: &Arc<str>) -> Observed {
        let key = &db.meta.key;
        let owner = Owner { kind: SampleDB::KIND.qualified().into(), name: key.name.clone() };
        let sibling = |name: String| key.sibling(&name);
        let mut jobs = decoded(self.jobs.owned(&key.namespace, &owner));
        let mut pods = decoded(self.pods.owned(&key.namespace, &owner));
        earlier::leave_out(&db.meta.uid, &mut jobs, &mut pods);
        let mut observed = Observed {
            catalog: Ok(Arc::default()),
            server: self.servers.child(&sibling(names::server(db).to_owned()), &db.meta),
            successor: match database::successor(db) {
                Some(name) => self.servers.child(&sibling(name), &db.meta),
                None => ChildState::Absent,
            },
            servers: decoded(self.servers.owned(&key.namespace, &owner)),
            peers: self.services.child(&sibling(names::peers(db)), &db.meta),
            read_write: self.services.child(&sibling(names::read_write(db)), &db.meta),
            connection: self.configs.child(&sibling(names::connection(db)), &db.meta),
            configuration: self.configs.child(&sibling(names::configuration(db)), &db.meta),
            claims: decoded(self.claims.owned(&key.namespace, &owner)),
            pods,
            taken: BTreeSet::new(),
            saving: Vec::new(),
            jobs,
            snapshots: decoded(self.snapshots.owned(&key.namespace, &owner)),
            sources: self.sources(db),
            system: SecretSeen::Unknown("not read yet".to_owned()),
            app: SecretSeen::Unknown("not read yet".to_owned()),
            system_remade: None,
            init_sources: InitSources::Digest(String::new()),
            asked: Asked::Nothing,
            failed: None,
            replacement: DryRun::Accepted,
            placement: Placement::Proven,
            silent_for: None,
            copied: None,
            began: None,
            external: Vec::new(),
            existing_claim: None,
            snapshots_on_data: self.snapshots_on_data(db),
            namespace_going: false,
            namespace_assigns_uids: false,
            agent_image: agent_image.clone(),
            db: db.clone(),
        };
        if db.meta.deleting {
            let last = Owner { kind: Snapshot::KIND.qualified().into(), name: database::final_name(&observed).into() };
            observed.saving = decoded(self.pods.owned(&key.namespace, &last));
        }
        observed
    }

    /// Snapshots that a new database may be filled from.
    fn sources(&self, db: &SampleDB) -> Vec<Arc<Snapshot>> {
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

    /// Whether the claim that the spec names for snapshots holds the data of a database.
    fn snapshots_on_data(&self, db: &SampleDB) -> bool {
        let Some(claim) = &db.spec.backup.storage.existing_claim else { return false };
        let claim = self.claims.get(&db.meta.key.sibling(claim)).and_then(Entry::into_object);
        claim.is_some_and(|claim| claim.labels.contains_key(OWNER_UID) && names::is_data(&claim.meta.key.name))
    }
}
