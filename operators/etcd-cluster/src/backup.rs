//! The operator of EtcdBackup: takes backups of an etcd cluster by Jobs, once or by a schedule.
//!
//! The agent does the work in one Job for each backup: it takes the snapshot, restores it to verify it, and removes older
//! backups. The store with the backups is the truth: the status repeats what the last Job found there. A Job is named after the
//! time that it is for, so a manager that has lost its status, or takes over from another one, finds the same backup.

use std::convert::Infallible;
use std::sync::{Arc, OnceLock};

use jiff::Timestamp;
use kube::Client;
use runtime::cache::{Cache, Store};
use runtime::controller::WatchBuilder;
use runtime::namespaces::NamespaceReader;
use runtime::plan::Plan;
use runtime::{Error, Operator};

use crate::EtcdBackup;
use crate::kind::BACKUP_CONTROLLER;
use observe::BackupStores;
use observed::BackupObserved;

mod due;
mod job;
mod metrics;
pub mod observe;
pub mod observed;
pub mod plan;
mod status;
mod target;

/// The operator of EtcdBackup: the stores that it reads, and the API server.
pub struct EtcdBackupOperator {
    stores: BackupStores,
    namespaces: NamespaceReader,
    agent_image: Arc<str>,
    observing_since: OnceLock<Timestamp>,
}

impl EtcdBackupOperator {
    /// The controller's name.
    pub const NAME: &'static str = BACKUP_CONTROLLER;

    /// An operator over these caches.
    #[must_use]
    pub fn new(cache: &mut Cache, client: Client, agent_image: Arc<str>) -> Self {
        Self {
            stores: BackupStores::new(cache),
            namespaces: NamespaceReader::new(client),
            agent_image,
            observing_since: OnceLock::new(),
        }
    }
}

impl Operator for EtcdBackupOperator {
    const NAME: &'static str = Self::NAME;
    type Object = EtcdBackup;
    type Observed = BackupObserved;
    type Act = Infallible;

    fn objects(&self) -> &Arc<Store<EtcdBackup>> {
        &self.stores.backups
    }

    fn watch(&self, watches: &mut WatchBuilder) {
        self.stores.watch(watches);
    }

    async fn observe(&self, backup: &Arc<EtcdBackup>) -> Result<BackupObserved, Error> {
        let mut observed = self.stores.read(backup, &self.agent_image);
        observed.observing_since = Some(*self.observing_since.get_or_init(runtime::clock::now));
        metrics::report(&observed, runtime::clock::now());
        observed.namespace_assigns_uids = self.namespaces.assigns_uids(&backup.meta.key.namespace).await?;
        Ok(observed)
    }

    fn plan(observed: &BackupObserved, now: Timestamp) -> Plan<api::etcd_backup::EtcdBackupStatus> {
        plan::plan(observed, now)
    }

    async fn act(&self, _: &Arc<EtcdBackup>, act: Infallible) -> Result<(), Error> {
        match act {}
    }
}

#[cfg(test)]
mod tests;
