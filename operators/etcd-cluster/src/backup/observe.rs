//! The stores that EtcdBackups are observed from.

use std::sync::Arc;

use runtime::cache::{Cache, CacheEntry, Projection as _, Store};
use runtime::controller::WatchBuilder;
use runtime::job::earlier;
use runtime::plan::Owner;
use runtime::projections::{Job, Pod};

use super::observed::BackupObserved;
use crate::plan::issued_tls;
use crate::referenced::Referenced;
use crate::{EtcdBackup, EtcdCluster};

/// The stores that the operator of EtcdBackup reads.
pub struct BackupStores {
    /// The EtcdBackups.
    pub backups: Arc<Store<EtcdBackup>>,
    clusters: Arc<Store<EtcdCluster>>,
    jobs: Arc<Store<Job>>,
    pods: Arc<Store<Pod>>,
}

impl BackupStores {
    /// Takes the stores of `cache`.
    #[must_use]
    pub fn new(cache: &mut Cache) -> Self {
        Self { backups: cache.store(), clusters: cache.store(), jobs: cache.store(), pods: cache.store() }
    }

    /// Reconciles an EtcdBackup on each event of its children.
    pub(crate) fn watch(&self, watches: &mut WatchBuilder) {
        watches.children(&self.jobs);
        watches.children(&self.pods);
        // No backup owns a cluster, but one that is not in the store is absent only after all have been listed.
        watches.children(&self.clusters);
    }

    /// What the stores hold of `backup`.
    #[must_use]
    pub fn read(&self, backup: &Arc<EtcdBackup>, agent_image: &Arc<str>) -> BackupObserved {
        let key = &backup.meta.key;
        let owner = Owner { kind: EtcdBackup::KIND.qualified().into(), name: key.name.clone() };
        let mut jobs = decoded(self.jobs.owned(&key.namespace, &owner));
        let mut pods = decoded(self.pods.owned(&key.namespace, &owner));
        earlier::remove_jobs_of_others(&backup.meta.uid, &mut jobs, &mut pods);
        BackupObserved {
            cluster: self.cluster(backup),
            jobs,
            pods,
            observing_since: None,
            namespace_assigns_uids: false,
            agent_image: agent_image.clone(),
            backup: backup.clone(),
        }
    }

    fn cluster(&self, backup: &EtcdBackup) -> Referenced<EtcdCluster> {
        let Some(of) = &backup.spec.cluster_ref else { return Referenced::Nothing };
        match referenced(self.clusters.get(&backup.meta.key.sibling(&of.name))) {
            Referenced::Found(cluster) => Referenced::Found(issued_tls::effective(&cluster)),
            unavailable => unavailable,
        }
    }
}

/// The objects that decode.
pub(crate) fn decoded<V: runtime::cache::Projection>(entries: Vec<CacheEntry<V>>) -> Vec<Arc<V>> {
    entries.into_iter().filter_map(CacheEntry::into_object).collect()
}

/// What a store has of an object that a spec refers to.
pub(crate) fn referenced<V>(entry: Option<CacheEntry<V>>) -> Referenced<V> {
    match entry {
        Some(CacheEntry::Object(object)) => Referenced::Found(object),
        Some(CacheEntry::Undecodable(broken)) => Referenced::Unreadable(broken.error.to_string()),
        None => Referenced::Missing,
    }
}
