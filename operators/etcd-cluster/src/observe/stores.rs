//! Reads the stores: what they hold of a cluster, and for which members they hold no pod. Nothing here waits for a live system.

use std::collections::BTreeSet;
use std::sync::Arc;

use runtime::cache::{Cache, Entry, Projection as _, Store};
use runtime::plan::{ChildState, Owner};
use runtime::projections::{Claim, DisruptionBudget, Pod, Service};

use crate::EtcdCluster;
use crate::plan::{objects, placement, pull, unlabeled};

/// The stores that the operator reads. Watches feed them.
pub struct Stores {
    /// The EtcdClusters.
    pub clusters: Arc<Store<EtcdCluster>>,
    /// Pods of members and of checks.
    pub pods: Arc<Store<Pod>>,
    /// PVCs of members.
    pub claims: Arc<Store<Claim>>,
    /// The Services of members and of clients.
    pub services: Arc<Store<Service>>,
    /// The PodDisruptionBudgets.
    pub budgets: Arc<Store<DisruptionBudget>>,
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
    pub pull: Option<Arc<Pod>>,
    /// The pods that check whether one as the spec asks starts.
    pub trials: Vec<Arc<Pod>>,
    /// Foreign pods that bear all labels by which the Services select members.
    pub foreign: BTreeSet<Box<str>>,
    /// The PVCs that bear the cluster's labels.
    pub claims: Vec<Arc<Claim>>,
    /// Members whose pods the stores do not hold. A pod that lost its labels is not watched, so a query by name has to tell.
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
        }
    }

    /// Reads what belongs to `cluster`.
    #[must_use]
    pub fn read(&self, cluster: &EtcdCluster) -> Cached {
        let (key, meta) = (&cluster.meta.key, &cluster.meta);
        let owner = Owner { kind: EtcdCluster::KIND.qualified().into(), name: key.name.clone() };
        let pods = self.pods.owned(&key.namespace, &owner).into_iter().filter_map(Entry::into_object);
        let pods: Vec<Arc<Pod>> = pods.collect();
        let foreign = unlabeled::foreign(cluster, &pods);
        let mut pods: Vec<_> = pods.into_iter().filter(|pod| pod.meta.controlled_by(&meta.uid)).collect();
        let pull = pull::take(cluster, &mut pods);
        let trials = placement::take(cluster, &mut pods);
        let claims = self.claims.owned(&key.namespace, &owner).into_iter().filter_map(Entry::into_object);
        let claims: Vec<Arc<Claim>> = claims.collect();
        let of_pods = pods.iter().map(|pod| &**pod);
        Cached {
            peers: self.services.child(key, meta),
            clients: self.services.child(&key.sibling(&objects::client_service(cluster)), meta),
            budget: self.budgets.child(key, meta),
            missing_pods: unlabeled::unseen(cluster, of_pods, claims.iter().map(|claim| &**claim)),
            pods,
            pull,
            trials,
            foreign,
            claims,
        }
    }
}
