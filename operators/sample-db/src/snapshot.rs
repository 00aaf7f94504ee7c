//! The operator of SampleDBSnapshot: takes a backup by a Job, verifies it by another Job, uploads it by a third
//! one, and removes its files when it is deleted. Or it imports one from an object store.

use std::sync::Arc;

use jiff::Timestamp;
use kube::Client;
use runtime::cache::{Cache, Store};
use runtime::controller::WatchBuilder;
use runtime::{Error, Operator};

use crate::live_api::LiveApi;
use crate::operand::kinds::Snapshot;
use crate::settings::Settings;
use effects::SnapshotPlan;
use observe::SnapshotStores;
use observed::Observed;

pub(crate) mod effects;
mod events;
mod finalizer;
mod import;
mod jobs;
pub(crate) mod location;
pub mod observe;
pub mod observed;
pub mod plan;
pub(crate) mod record;
mod size;
mod status;
mod store;
mod transfer;
mod transfer_job;
mod upload;
mod verification;
pub(crate) mod volume;

/// The operator of SampleDBSnapshot: the stores that it reads, and the API server.
pub struct SnapshotOperator {
    stores: SnapshotStores,
    api: LiveApi,
    settings: Settings,
}

impl SnapshotOperator {
    /// The controller's name.
    pub const NAME: &'static str = "sample-db-snapshot";

    /// An operator over these caches.
    #[must_use]
    pub fn new(cache: &mut Cache, client: Client, settings: Settings) -> Self {
        Self { stores: SnapshotStores::new(cache), api: LiveApi::new(client), settings }
    }
}

impl Operator for SnapshotOperator {
    const NAME: &'static str = Self::NAME;
    type Object = Snapshot;
    type Observed = Observed;
    type Act = std::convert::Infallible;

    fn objects(&self) -> &Arc<Store<Snapshot>> {
        &self.stores.snapshots
    }

    fn watch(&self, watches: &mut WatchBuilder) {
        self.stores.watch(watches);
    }

    async fn observe(&self, snapshot: &Arc<Snapshot>) -> Result<Observed, Error> {
        observe::observe(&self.stores, &self.api, &self.settings.agent_image, snapshot, runtime::clock::now()).await
    }

    fn plan(observed: &Observed, now: Timestamp) -> SnapshotPlan {
        plan::plan(observed, now)
    }

    async fn act(&self, _: &Arc<Snapshot>, act: std::convert::Infallible) -> Result<(), Error> {
        match act {}
    }
}

#[cfg(test)]
mod tests;
