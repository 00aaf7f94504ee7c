//! Reads the stores: the objects of a cluster, and the members without a pod there. Nothing here waits for a live system.

use std::collections::BTreeSet;
use std::sync::Arc;

use runtime::cache::{Cache, CacheEntry, Projection as _, Store};
use runtime::plan::{ChildState, Owner};
use runtime::projections::{DisruptionBudget, Pod, Pvc, Service};

use crate::plan::{image_check, objects, placement, unlabeled};
use crate::{EtcdBackup, EtcdCluster, EtcdRestore};

/// The stores that the operator reads. Watches feed them.
pub struct Stores {
    /// The EtcdClusters.
    pub clusters: Arc<Store<EtcdCluster>>,
    /// Pods of members and of checks.
    pub pods: Arc<Store<Pod>>,
    /// PVCs of members.
    pub claims: Arc<Store<Pvc>>,
    /// The Services of members and of clients.
    pub services: Arc<Store<Service>>,
    /// The PodDisruptionBudgets.
    pub budgets: Arc<Store<DisruptionBudget>>,
    /// The EtcdRestores.
    pub restores: Arc<Store<EtcdRestore>>,
    /// The EtcdBackups.
    pub backups: Arc<Store<EtcdBackup>>,
}

/// What the stores hold of one cluster.
#[derive(Debug)]
pub struct Cached {
    /// The headless Service.
    pub peers: ChildState<Service>,
    /// The client Service.
    pub clients: ChildState<Service>,
    /// The PodDisruptionBudget.
    pub budget: ChildState<DisruptionBudget>,
    /// The pods of members.
    pub pods: Vec<Arc<Pod>>,
    /// The pod that checks whether an image can be pulled.
    pub image_check: Option<Arc<Pod>>,
    /// The pods that check whether a pod of the current spec starts.
    pub trials: Vec<Arc<Pod>>,
    /// Foreign pods with all labels by which the Services select members.
    pub foreign: BTreeSet<Box<str>>,
    /// The PVCs with the cluster's labels.
    pub claims: Vec<Arc<Pvc>>,
    /// The EtcdRestores of the cluster.
    pub restores: Vec<Arc<EtcdRestore>>,
    /// The EtcdBackups of the cluster.
    pub backups: Vec<Arc<EtcdBackup>>,
    /// Whether the EtcdRestore that is under way exists, and does not decode.
    pub restore_unreadable: bool,
    /// Members whose pods the stores do not hold. A pod that lost its labels is not watched, so the operator reads it by name.
    pub missing_pods: BTreeSet<String>,
}

impl Stores {
    /// Stores that `cache` feeds.
    pub fn new(cache: &mut Cache) -> Self {
        Self {
            clusters: cache.store(),
            pods: cache.store(),
            claims: cache.store(),
            services: cache.store(),
            budgets: cache.store(),
            restores: cache.store(),
            backups: cache.store(),
        }
    }

    /// Whether an EtcdCluster has members.
    pub(super) fn runs(&self, cluster: &runtime::plan::Key) -> bool {
        let known = self.clusters.get(cluster).and_then(CacheEntry::into_object);
        known.is_some_and(|known| known.status.cluster_id.is_some())
    }

    /// Reads what belongs to `cluster`.
    #[must_use]
    pub fn read(&self, cluster: &EtcdCluster) -> Cached {
        let (key, meta) = (&cluster.meta.key, &cluster.meta);
        let owner = Owner { kind: EtcdCluster::KIND.qualified().into(), name: key.name.clone() };
        let pods = self.pods.owned(&key.namespace, &owner).into_iter().filter_map(CacheEntry::into_object);
        let pods: Vec<Arc<Pod>> = pods.collect();
        let foreign = unlabeled::foreign_selected(cluster, &pods);
        let mut pods: Vec<_> = pods.into_iter().filter(|pod| pod.meta.controlled_by(&meta.uid)).collect();
        let image_check = image_check::take(cluster, &mut pods);
        let trials = placement::take(cluster, &mut pods);
        let claims = self.claims.owned(&key.namespace, &owner).into_iter().filter_map(CacheEntry::into_object);
        let claims: Vec<Arc<Pvc>> = claims.collect();
        let of_pods = pods.iter().map(|pod| &**pod);
        let restores = self.restores.owned(&key.namespace, &owner).into_iter().filter_map(CacheEntry::into_object);
        let backups = self.backups.owned(&key.namespace, &owner).into_iter().filter_map(CacheEntry::into_object);
        let begun = cluster.status.restore.as_ref().map(|restore| key.sibling(&restore.name));
        let begun = begun.and_then(|key| self.restores.get(&key));
        Cached {
            restores: restores.collect(),
            backups: backups.collect(),
            restore_unreadable: matches!(begun, Some(CacheEntry::Undecodable(_))),
            peers: self.services.child(key, meta),
            clients: self.services.child(&key.sibling(&objects::client_service(cluster)), meta),
            budget: self.budgets.child(key, meta),
            missing_pods: unlabeled::missing_pods(cluster, of_pods, claims.iter().map(|claim| &**claim)),
            pods,
            image_check,
            trials,
            foreign,
            claims,
        }
    }
}
