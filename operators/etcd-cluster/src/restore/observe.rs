//! The stores that EtcdRestores are observed from.

use std::sync::Arc;

use runtime::cache::{Cache, CacheEntry, Projection as _, Store};
use runtime::controller::WatchBuilder;
use runtime::job::earlier;
use runtime::plan::Owner;
use runtime::projections::{Job, Pod};

use super::observed::{RestoreObserved, RestoredCluster};
use crate::backup::observe::decoded;
use crate::{EtcdCluster, EtcdRestore};

/// The stores that the operator of EtcdRestore reads.
pub struct RestoreStores {
    /// The EtcdRestores.
    pub restores: Arc<Store<EtcdRestore>>,
    clusters: Arc<Store<EtcdCluster>>,
    jobs: Arc<Store<Job>>,
    pods: Arc<Store<Pod>>,
}

impl RestoreStores {
    /// Takes the stores of `cache`.
    #[must_use]
    pub fn new(cache: &mut Cache) -> Self {
        Self { restores: cache.store(), clusters: cache.store(), jobs: cache.store(), pods: cache.store() }
    }

    /// Reconciles an EtcdRestore on each event of its children.
    pub(crate) fn watch(&self, watches: &mut WatchBuilder) {
        watches.children(&self.jobs);
        watches.children(&self.pods);
        // No EtcdRestore owns a cluster, but one that is not in the store is absent only after all have been listed.
        watches.children(&self.clusters);
    }

    /// What the stores hold of `restore`.
    #[must_use]
    pub fn read(&self, restore: &Arc<EtcdRestore>, agent_image: &Arc<str>) -> RestoreObserved {
        let key = &restore.meta.key;
        let owner = Owner { kind: EtcdRestore::KIND.qualified().into(), name: key.name.clone() };
        let mut jobs = decoded(self.jobs.owned(&key.namespace, &owner));
        let mut pods = decoded(self.pods.owned(&key.namespace, &owner));
        earlier::remove_jobs_of_others(&restore.meta.uid, &mut jobs, &mut pods);
        let cluster = match self.clusters.get(&key.sibling(&restore.spec.etcd_cluster.name)) {
            Some(CacheEntry::Object(cluster)) => RestoredCluster::Found(cluster),
            Some(CacheEntry::Undecodable(broken)) => RestoredCluster::Unreadable(broken.error.to_string()),
            None => RestoredCluster::Missing,
        };
        RestoreObserved {
            cluster,
            jobs,
            pods,
            namespace_assigns_uids: false,
            agent_image: agent_image.clone(),
            restore: restore.clone(),
        }
    }
}
