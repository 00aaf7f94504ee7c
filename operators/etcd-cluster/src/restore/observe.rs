//! The stores that EtcdRestores are observed from.

use std::sync::Arc;

use runtime::cache::{Cache, Projection as _, Store};
use runtime::controller::WatchBuilder;
use runtime::job::earlier;
use runtime::plan::Owner;
use runtime::projections::{Job, Pod};

use super::observed::RestoreObserved;
use crate::backup::observe::{decoded, referenced};
use crate::referenced::Referenced;
use crate::{EtcdBackup, EtcdCluster, EtcdRestore};

/// The stores that the operator of EtcdRestore reads.
pub struct RestoreStores {
    /// The EtcdRestores.
    pub restores: Arc<Store<EtcdRestore>>,
    clusters: Arc<Store<EtcdCluster>>,
    backups: Arc<Store<EtcdBackup>>,
    jobs: Arc<Store<Job>>,
    pods: Arc<Store<Pod>>,
}

impl RestoreStores {
    /// Takes the stores of `cache`.
    #[must_use]
    pub fn new(cache: &mut Cache) -> Self {
        Self {
            restores: cache.store(),
            clusters: cache.store(),
            backups: cache.store(),
            jobs: cache.store(),
            pods: cache.store(),
        }
    }

    /// Reconciles an EtcdRestore on each event of its children.
    pub(crate) fn watch(&self, watches: &mut WatchBuilder) {
        watches.children(&self.jobs);
        watches.children(&self.pods);
        // An EtcdRestore owns neither, but one that is not in the store is absent only after all have been listed.
        watches.children(&self.clusters);
        watches.children(&self.backups);
    }

    /// What the stores hold of `restore`.
    #[must_use]
    pub fn read(&self, restore: &Arc<EtcdRestore>, agent_image: &Arc<str>) -> RestoreObserved {
        let key = &restore.meta.key;
        let owner = Owner { kind: EtcdRestore::KIND.qualified().into(), name: key.name.clone() };
        let mut jobs = decoded(self.jobs.owned(&key.namespace, &owner));
        let mut pods = decoded(self.pods.owned(&key.namespace, &owner));
        earlier::remove_jobs_of_others(&restore.meta.uid, &mut jobs, &mut pods);
        let backup = match &restore.spec.etcd_backup {
            Some(of) => referenced(self.backups.get(&key.sibling(&of.name))),
            None => Referenced::Nothing,
        };
        RestoreObserved {
            cluster: referenced(self.clusters.get(&key.sibling(&restore.spec.etcd_cluster.name))),
            backup,
            jobs,
            pods,
            namespace_assigns_uids: false,
            agent_image: agent_image.clone(),
            restore: restore.clone(),
        }
    }
}
