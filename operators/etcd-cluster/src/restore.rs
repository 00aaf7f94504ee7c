//! The operator of EtcdRestore: verifies a snapshot by a Job, before anything of the cluster is touched.
//!
//! The operator of EtcdCluster does the rest, as one of the steps of that cluster (`plan/restore.rs`): it stops the members, keeps their
//! volumes, and lets the cluster begin again from the snapshot. Both sides read the status of the other one, and write only their own.

use std::convert::Infallible;
use std::sync::Arc;

use api::etcd_restore::EtcdRestoreStatus;
use jiff::Timestamp;
use kube::Client;
use runtime::cache::{Cache, Store};
use runtime::controller::WatchBuilder;
use runtime::namespaces::NamespaceReader;
use runtime::plan::Plan;
use runtime::{Error, Operator};

use crate::EtcdRestore;
use crate::kind::RESTORE_CONTROLLER;
use observe::RestoreStores;
use observed::RestoreObserved;

mod job;
pub mod observe;
pub mod observed;
pub mod plan;
mod resolve;
mod status;

/// The operator of EtcdRestore: the stores that it reads, and the API server.
pub struct EtcdRestoreOperator {
    stores: RestoreStores,
    namespaces: NamespaceReader,
    agent_image: Arc<str>,
}

impl EtcdRestoreOperator {
    /// The controller's name.
    pub const NAME: &'static str = RESTORE_CONTROLLER;

    /// An operator over these caches.
    #[must_use]
    pub fn new(cache: &mut Cache, client: Client, agent_image: Arc<str>) -> Self {
        Self { stores: RestoreStores::new(cache), namespaces: NamespaceReader::new(client), agent_image }
    }
}

impl Operator for EtcdRestoreOperator {
    const NAME: &'static str = Self::NAME;
    type Object = EtcdRestore;
    type Observed = RestoreObserved;
    type Act = Infallible;

    fn objects(&self) -> &Arc<Store<EtcdRestore>> {
        &self.stores.restores
    }

    fn watch(&self, watches: &mut WatchBuilder) {
        self.stores.watch(watches);
    }

    async fn observe(&self, restore: &Arc<EtcdRestore>) -> Result<RestoreObserved, Error> {
        let mut observed = self.stores.read(restore, &self.agent_image);
        observed.namespace_assigns_uids = self.namespaces.assigns_uids(&restore.meta.key.namespace).await?;
        Ok(observed)
    }

    fn plan(observed: &RestoreObserved, now: Timestamp) -> Plan<EtcdRestoreStatus> {
        plan::plan(observed, now)
    }

    async fn act(&self, _: &Arc<EtcdRestore>, act: Infallible) -> Result<(), Error> {
        match act {}
    }
}

#[cfg(test)]
mod tests;
