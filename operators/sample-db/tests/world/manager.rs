//! The manager under test: it observes like the real one, over stores that the simulation feeds.

use std::sync::Arc;

use futures::FutureExt as _;
use runtime::Error;
use runtime::cache::Cache;
use runtime::plan::Key;
use runtime::projections::{ConfigMap, Job, Pod, Pvc, Service, StatefulSet};
use runtime::testing::FakeCluster;
use sample_db::database::Observed;
use sample_db::database::objects::SecretRole;
use sample_db::snapshot::observe::{self, SnapshotStores};
use sample_db::{DatabaseStores, Memory, Observer, SampleDB, ServerAccess, Settings, Snapshot, snapshot};

use crate::infrastructure::Infrastructure;
use crate::queries::LiveQueries;

/// Its stores and its memory.
pub struct Manager {
    pub databases: DatabaseStores,
    pub snapshots: SnapshotStores,
    memory: Memory,
    settings: Settings,
}

impl Manager {
    /// A manager whose stores are fed with all events of a cluster.
    pub fn fed(cluster: &mut FakeCluster) -> Self {
        let mut cache = Cache::new(&[]);
        let (databases, snapshots) = (DatabaseStores::new(&mut cache), SnapshotStores::new(&mut cache));
        cluster.feed(&cache.store::<SampleDB>());
        cluster.feed(&cache.store::<Snapshot>());
        cluster.feed(&cache.store::<StatefulSet>());
        cluster.feed(&cache.store::<Service>());
        cluster.feed(&cache.store::<ConfigMap>());
        cluster.feed(&cache.store::<Pvc>());
        cluster.feed(&cache.store::<Pod>());
        cluster.feed(&cache.store::<Job>());
        let settings = Settings { agent_image: "agent:1".into(), catalog: Key::new("n", sample_db::CATALOG) };
        Self { databases, snapshots, memory: Memory::default(), settings }
    }

    /// A copy in another cluster, with the same memory.
    pub fn fork(&self, cluster: &mut FakeCluster) -> Self {
        Self { memory: self.memory.clone(), ..Self::fed(cluster) }
    }

    /// The manager ends, and another one begins.
    pub fn restart(&mut self, infra: &mut Infrastructure) {
        self.memory = Memory::default();
        infra.manager_memory = crate::postgres::ManagerMemory::default();
    }

    /// Drops a cached Secret, after a write to it.
    pub fn forget_secret(&self, db: &SampleDB, of: SecretRole) {
        self.memory.forget_secret(db, of);
    }

    fn observer<'a, 'w>(&'a self, live: &'a LiveQueries<'w>) -> Observer<'a, LiveQueries<'w>, LiveQueries<'w>> {
        let Self { databases: stores, memory, settings, .. } = self;
        Observer { stores, memory, settings, api: live, servers: live, now: live.now() }
    }

    /// Observes a database.
    pub fn observe(
        &self,
        cluster: &FakeCluster,
        infra: &mut Infrastructure,
        db: &Arc<SampleDB>,
    ) -> Result<Observed, Error> {
        let live = LiveQueries::of(cluster, infra);
        self.observer(&live).observe(db).now_or_never().expect("a model answers at once")
    }

    /// Access to the server of a database.
    pub fn access(
        &self,
        cluster: &FakeCluster,
        infra: &mut Infrastructure,
        db: &Arc<SampleDB>,
    ) -> Result<ServerAccess, Error> {
        let live = LiveQueries::of(cluster, infra);
        self.observer(&live).access(db).now_or_never().expect("a model answers at once")
    }

    /// Observes a snapshot.
    pub fn observe_snapshot(
        &self,
        cluster: &FakeCluster,
        infra: &mut Infrastructure,
        snapshot: &Arc<Snapshot>,
    ) -> Result<snapshot::observed::Observed, Error> {
        let live = LiveQueries::of(cluster, infra);
        let observed = observe::observe(&self.snapshots, &live, &self.settings.agent_image, snapshot, live.now());
        observed.now_or_never().expect("a model answers at once")
    }

    /// The keys of all databases and snapshots.
    pub fn keys(&self) -> (Vec<Key>, Vec<Key>) {
        let (mut databases, mut snapshots) = (self.databases.databases.keys(), self.snapshots.snapshots.keys());
        databases.sort();
        snapshots.sort();
        (databases, snapshots)
    }
}
