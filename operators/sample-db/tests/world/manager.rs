//! The manager under test: it observes as the real one does, over stores that the world feeds.

use std::sync::Arc;

use futures::FutureExt as _;
use runtime::Error;
use runtime::cache::Cache;
use runtime::plan::Key;
use runtime::projections::{Claim, ConfigMap, Job, Pod, Service, StatefulSet};
use runtime::testing::World;
use sample_db::database::Observed;
use sample_db::database::objects::SecretOf;
use sample_db::snapshot::observe::{self, SnapshotStores};
use sample_db::{Access, DatabaseStores, Memory, Observer, SampleDB, Settings, Snapshot, snapshot};

use crate::queries::Live;
use crate::site::Site;

/// Its stores, and what it remembers.
pub struct Manager {
    pub databases: DatabaseStores,
    pub snapshots: SnapshotStores,
    memory: Memory,
    settings: Settings,
}

impl Manager {
    /// A manager whose stores are told of all that happens in a world.
    pub fn fed(world: &mut World) -> Self {
        let mut cache = Cache::new(&[]);
        let (databases, snapshots) = (DatabaseStores::new(&mut cache), SnapshotStores::new(&mut cache));
        world.feed(&cache.store::<SampleDB>());
        world.feed(&cache.store::<Snapshot>());
        world.feed(&cache.store::<StatefulSet>());
        world.feed(&cache.store::<Service>());
        world.feed(&cache.store::<ConfigMap>());
        world.feed(&cache.store::<Claim>());
        world.feed(&cache.store::<Pod>());
        world.feed(&cache.store::<Job>());
        let settings = Settings { agent_image: "agent:1".into(), catalog: Key::new("n", sample_db::CATALOG) };
        Self { databases, snapshots, memory: Memory::default(), settings }
    }

    /// Another one in another world, which remembers as much.
    pub fn fork(&self, world: &mut World) -> Self {
        Self { memory: self.memory.clone(), ..Self::fed(world) }
    }

    /// It ends, and another one begins.
    pub fn restart(&mut self, site: &mut Site) {
        self.memory = Memory::default();
        site.held = crate::asked::Held::default();
    }

    /// Has a Secret that was written be read again.
    pub fn forget_secret(&self, db: &SampleDB, of: SecretOf) {
        self.memory.forget_secret(db, of);
    }

    fn observer<'a, 'w>(&'a self, live: &'a Live<'w>) -> Observer<'a, Live<'w>, Live<'w>> {
        let Self { databases: stores, memory, settings, .. } = self;
        Observer { stores, memory, settings, api: live, servers: live, now: live.now() }
    }

    /// What is known of a database.
    pub fn observe(&self, world: &World, site: &mut Site, db: &Arc<SampleDB>) -> Result<Observed, Error> {
        let live = Live::of(world, site);
        self.observer(&live).observe(db).now_or_never().expect("a model answers at once")
    }

    /// How to get at the server of a database.
    pub fn access(&self, world: &World, site: &mut Site, db: &Arc<SampleDB>) -> Result<Access, Error> {
        let live = Live::of(world, site);
        self.observer(&live).access(db).now_or_never().expect("a model answers at once")
    }

    /// What is known of a snapshot.
    pub fn observe_snapshot(
        &self,
        world: &World,
        site: &mut Site,
        snapshot: &Arc<Snapshot>,
    ) -> Result<snapshot::observed::Observed, Error> {
        let live = Live::of(world, site);
        let observed = observe::observe(&self.snapshots, &live, &self.settings.agent_image, snapshot, live.now());
        observed.now_or_never().expect("a model answers at once")
    }

    /// The keys of all objects of ours.
    pub fn keys(&self) -> (Vec<Key>, Vec<Key>) {
        let (mut databases, mut snapshots) = (self.databases.databases.keys(), self.snapshots.snapshots.keys());
        databases.sort();
        snapshots.sort();
        (databases, snapshots)
    }
}
