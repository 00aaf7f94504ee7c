//! As the operators look, but for the clients that they look with.

use std::collections::BTreeSet;
use std::sync::Arc;

use runtime::cache::{Cache, Entry, Store, View};
use runtime::plan::meta::MANAGED_BY;
use runtime::plan::{DryRun, Key, Owner, Seen};
use runtime::testing::World;
use runtime::views::{Claim, ConfigMap, Job, Pod, Service, StatefulSet};
use sample_db::plan::objects::SecretOf;
use sample_db::plan::unlabeled::{self, Found};
use sample_db::plan::{self, Asked, Contact, InitSources, Observed, Placement, names, unwatched};
use sample_db::snapshot::observed::Volume;
use sample_db::{SampleDB, Snapshot, snapshot};

use crate::site::{Site, is_going, text};

/// The stores of the operators.
pub struct Stores {
    pub databases: Arc<Store<SampleDB>>,
    pub snapshots: Arc<Store<Snapshot>>,
    pub servers: Arc<Store<StatefulSet>>,
    pub services: Arc<Store<Service>>,
    pub configs: Arc<Store<ConfigMap>>,
    pub claims: Arc<Store<Claim>>,
    pub pods: Arc<Store<Pod>>,
    pub jobs: Arc<Store<Job>>,
}

fn decoded<V: View>(entries: Vec<Entry<V>>) -> Vec<Arc<V>> {
    entries.into_iter().filter_map(Entry::into_object).collect()
}

impl Stores {
    /// Stores that are told of all that happens in a world.
    pub fn fed(world: &mut World) -> Self {
        let mut cache = Cache::new(&[]);
        let stores = Self {
            databases: cache.store(),
            snapshots: cache.store(),
            servers: cache.store(),
            services: cache.store(),
            configs: cache.store(),
            claims: cache.store(),
            pods: cache.store(),
            jobs: cache.store(),
        };
        world.feed(&stores.databases);
        world.feed(&stores.snapshots);
        world.feed(&stores.servers);
        world.feed(&stores.services);
        world.feed(&stores.configs);
        world.feed(&stores.claims);
        world.feed(&stores.pods);
        world.feed(&stores.jobs);
        stores
    }

    /// A claim as it truly is.
    fn read(&self, world: &World, key: &Key) -> Option<Arc<Claim>> {
        let claim = world.get(Claim::KIND, key)?;
        Some(Arc::new(Claim::decode(&claim.to_string()).expect("it is a claim")))
    }

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

    /// What is seen of a database.
    pub fn database(&self, world: &World, site: &mut Site, db: &Arc<SampleDB>) -> Observed {
        let key = &db.meta.key;
        let owner = Owner { kind: SampleDB::KIND.qualified().into(), name: key.name.clone() };
        let sibling = |name: String| key.sibling(&name);
        let secrets = (site.look(db, SecretOf::System), site.look(db, SecretOf::App));
        let (mut jobs, mut pods) =
            (decoded(self.jobs.owned(&key.namespace, &owner)), decoded(self.pods.owned(&key.namespace, &owner)));
        plan::earlier::leave_out(&db.meta.uid, &mut jobs, &mut pods);
        let mut observed = Observed {
            catalog: Ok(Arc::default()),
            server: self.servers.child(&sibling(names::server(db).to_owned()), &db.meta),
            successor: match plan::successor(db) {
                Some(name) => self.servers.child(&sibling(name), &db.meta),
                None => Seen::Absent,
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
            system: secrets.0.seen.clone(),
            app: secrets.1.seen.clone(),
            system_remade: secrets.0.secret.as_ref().and_then(|secret| secret.remade.clone()),
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
            snapshots_on_data: false,
            namespace_going: db.meta.deleting && site.going,
            dictated_users: false,
            agent_image: "agent:1".into(),
            db: db.clone(),
        };
        // The watch shows none that lacks the label by which it selects.
        observed.claims.retain(|claim| claim.labels.contains_key(MANAGED_BY));
        for name in unwatched::unseen(&observed) {
            if let Some(claim) = self.read(world, &key.sibling(&name)) {
                unwatched::take_in(&mut observed, claim);
            }
        }
        for name in unlabeled::unseen(&observed) {
            let found = Found::of(db, world.get(Pod::KIND, &key.sibling(&name)));
            unlabeled::take_in(&mut observed, name, found);
        }
        if db.meta.deleting {
            let existing = db.spec.backup.storage.existing_claim.as_deref();
            observed.existing_claim = existing.and_then(|name| self.read(world, &key.sibling(name)));
            let last = Owner { kind: Snapshot::KIND.qualified().into(), name: plan::final_name(&observed).into() };
            observed.saving = decoded(self.pods.owned(&key.namespace, &last));
            if plan::is_to_be_asked(&observed) {
                observed.asked = site.ask(world, db, &observed, (&secrets.0, &secrets.1));
            }
            return observed;
        }
        let at_work = observed.job(&names::init_job(db)).is_some_and(|job| job.end.is_none());
        if db.status.initialization.completed_at.is_none() && !at_work && !db.spec.init.sql_from.is_empty() {
            observed.init_sources = InitSources::Digest(site.sql.0.clone());
        }
        match observed.contact() {
            Contact::Nothing => {}
            Contact::Knock => observed.silent_for = observed.pod().and_then(|pod| site.silent_for(&pod.meta.uid)),
            Contact::Ask => observed.asked = site.ask(world, db, &observed, (&secrets.0, &secrets.1)),
        }
        if let Some(pod) = plan::note_of(&observed, site.now).and_then(|note| observed.pod_named(&note.pod)) {
            observed.copied = site.copied(&pod.meta.uid);
        }
        let known = plan::placement(&observed, site.now);
        match known {
            Some(known @ (Placement::Trying(_) | Placement::Refused(_))) => observed.placement = known,
            _ if plan::trial(&observed, site.now).is_some_and(|trial| site.rejects(&trial.body)) => {
                observed.replacement = DryRun::Rejected("the policy says no".to_owned());
            }
            Some(Placement::Proven | Placement::Due(_)) => {}
            None => {
                let present = world.get(Pod::KIND, &key.sibling(&names::pod(db)));
                observed.placement = plan::beside(&observed, present.unwrap_or(&serde_json::Value::Null));
            }
        }
        observed
    }

    /// What is seen of a snapshot.
    pub fn snapshot(&self, world: &World, site: &Site, snapshot: &Arc<Snapshot>) -> snapshot::observed::Observed {
        let key = &snapshot.meta.key;
        let owner = Owner { kind: Snapshot::KIND.qualified().into(), name: key.name.clone() };
        let of = Owner { kind: SampleDB::KIND.qualified().into(), name: snapshot.spec.sample_db.as_str().into() };
        let db = self.databases.get(&key.sibling(&snapshot.spec.sample_db)).and_then(Entry::into_object);
        let of_claim = |claim: &str| match self.claims.get(&key.sibling(claim)) {
            Some(Entry::Object(claim)) => {
                let (uid, leaving) = (claim.meta.uid.clone(), claim.meta.deleting);
                Volume::Claim { uid, leaving, lost: false, watched: true, capacity: None }
            }
            _ if !snapshot::volume_matters(snapshot, db.as_deref()) => Volume::Unknown,
            _ => world.get(Claim::KIND, &key.sibling(claim)).map_or(Volume::Absent, |claim| Volume::Claim {
                uid: text(&claim["metadata"]["uid"]).into(),
                leaving: is_going(claim),
                lost: false,
                watched: false,
                capacity: None,
            }),
        };
        let server = db.as_deref().and_then(|db| self.pods.get(&key.sibling(&names::pod(db))));
        let (mut jobs, mut pods) =
            (decoded(self.jobs.owned(&key.namespace, &owner)), decoded(self.pods.owned(&key.namespace, &owner)));
        plan::earlier::leave_out(&snapshot.meta.uid, &mut jobs, &mut pods);
        let databases = decoded(self.databases.keys().iter().filter_map(|key| self.databases.get(key)).collect());
        let restoring = databases.iter().filter(|db| snapshot::observed::is_restoring_from(snapshot, db));
        snapshot::observed::Observed {
            server: server.and_then(Entry::into_object),
            siblings: decoded(self.snapshots.owned(&key.namespace, &of)),
            volume: snapshot.status.location.claim.as_deref().map_or(Volume::Absent, of_claim),
            restoring: restoring.map(|db| (*db.meta.key.name).into()).collect(),
            jobs,
            pods,
            namespace_going: snapshot.meta.deleting && site.going,
            dictated_users: false,
            agent_image: "agent:1".into(),
            snapshot: snapshot.clone(),
            db,
        }
    }

    /// The keys of all objects of ours.
    pub fn keys(&self) -> (Vec<Key>, Vec<Key>) {
        let (mut databases, mut snapshots) = (self.databases.keys(), self.snapshots.keys());
        databases.sort();
        snapshots.sort();
        (databases, snapshots)
    }
}
