//! The operators of EtcdCluster, with etcd members as pods that keep their names and volumes, of EtcdBackup ([`backup`]), and of
//! EtcdRestore ([`restore`]).
//!
//! Each member is a pod with a PVC of the same name. The spec determines how many there are and what they run. Which members
//! exist is queried from etcd in every reconcile, and never cached. [`plan`] takes one step at a time: a new member joins as a
//! learner, and votes once it is in sync; a member without a pod restarts on its volume; the operator replaces a member only
//! while the others hold quorum, and upgrades by etcd's own rules. The agent (`operators/agent`) runs before etcd in each pod, so
//! that a member that lost its data does not vote.

use std::sync::Arc;

use api::etcd_cluster::EtcdClusterReason;
use jiff::Timestamp;
use kube::Client;
use runtime::cache::{Cache, Store};
use runtime::controller::WatchBuilder;
use runtime::permissions::Permission;
use runtime::{Error, Operator};

mod agent_pod;
pub mod backup;
pub mod certificates;
pub mod etcd;
mod issuance;
mod kind;
mod metrics;
pub mod observe;
pub mod plan;
mod preconditions;
pub mod referenced;
pub mod restore;
mod scope;

pub use backup::EtcdBackupOperator;
pub use kind::{EtcdBackup, EtcdBackupKind, EtcdCluster, EtcdClusterKind, EtcdRestore, EtcdRestoreKind};
pub use restore::EtcdRestoreOperator;
pub use scope::Scope;

use etcd::{EtcdClient, GrpcEtcdClient};
use observe::Stores;
use observe::live::LiveSystems;
use plan::{EtcdAct, EtcdChange, EtcdPlan, Observed};

/// The permissions of the controllers in each watched namespace.
pub const PERMISSIONS: &[Permission] = &[
    // `patch` for the finalizer, which is metadata.
    Permission { group: api::ETCD_GROUP, resources: &["etcdclusters"], verbs: &["get", "list", "watch", "patch"] },
    // `patch` for the annotation that requests the last backup of a cluster.
    Permission { group: api::ETCD_GROUP, resources: &["etcdbackups"], verbs: &["get", "list", "watch", "patch"] },
    // A cluster that has lost all volumes begins again from a backup.
    Permission {
        group: api::ETCD_GROUP,
        resources: &["etcdrestores"],
        verbs: &["get", "list", "watch", "create", "delete"],
    },
    Permission {
        group: api::ETCD_GROUP,
        resources: &["etcdclusters/status", "etcdbackups/status", "etcdrestores/status"],
        verbs: &["patch"],
    },
    // Owner references that block deletion require it with OwnerReferencesPermissionEnforcement (OpenShift).
    Permission {
        group: api::ETCD_GROUP,
        resources: &["etcdclusters/finalizers", "etcdbackups/finalizers", "etcdrestores/finalizers"],
        verbs: &["update"],
    },
    Permission { group: "batch", resources: &["jobs"], verbs: &["get", "list", "watch", "create", "delete"] },
    Permission {
        group: "",
        resources: &["pods", "persistentvolumeclaims", "services"],
        verbs: &["get", "list", "watch", "create", "patch", "delete"],
    },
    Permission {
        group: "policy",
        resources: &["poddisruptionbudgets"],
        verbs: &["get", "list", "watch", "create", "patch", "delete"],
    },
    // To find out whether cluster DNS publishes a pod; read while a member joins.
    Permission { group: "discovery.k8s.io", resources: &["endpointslices"], verbs: &["list"] },
    // The certificates of clusters with TLS, by name: users provide them, or the operator issues them.
    Permission { group: "", resources: &["secrets"], verbs: &["get", "create", "update"] },
    // To find out whether the namespace assigns the user ids of pods (OpenShift); read before pods are created.
    Permission { group: "", resources: &["namespaces"], verbs: &["get"] },
];

/// The settings of the manager for all clusters.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Which clusters this install manages.
    pub scope: Scope,
    /// Whether the install watches all namespaces.
    pub all_namespaces: bool,
    /// The image with the agent.
    pub agent_image: Arc<str>,
    /// The domain of the Kubernetes cluster, which certificates name.
    pub cluster_domain: Arc<str>,
}

/// The operator: the stores that it reads, and the live systems that it queries and changes.
pub struct EtcdClusterOperator<E = GrpcEtcdClient> {
    stores: Stores,
    live: LiveSystems<E>,
    settings: Settings,
}

impl EtcdClusterOperator {
    /// The controller's name.
    pub const NAME: &'static str = kind::CONTROLLER;
}

impl<E: EtcdClient> EtcdClusterOperator<E> {
    /// An operator over these caches, which reaches etcd through `etcd`.
    #[must_use]
    pub fn new(cache: &mut Cache, client: Client, etcd: E, settings: Settings) -> Self {
        Self { stores: Stores::new(cache), live: LiveSystems::new(client, etcd), settings }
    }

    async fn change(&self, endpoints: &[Box<str>], change: &EtcdChange) -> Result<(), Error> {
        if let EtcdChange::Remove { absent, staying, .. } = change {
            preconditions::must_be_absent(&self.live.client, absent).await?;
            preconditions::must_stay(&self.live.client, staying).await?;
        }
        match self.live.etcd.act(endpoints, change).await {
            // etcd accepts the change later. The next reconcile retries it, and the status reports that meanwhile.
            Err(Error::Transient { reason, message, .. })
                if reason.is_one_of(&[EtcdClusterReason::WaitingForEtcd, EtcdClusterReason::LearnerNotInSync]) =>
            {
                tracing::debug!(%reason, "{message}");
                Ok(())
            }
            Ok(()) => {
                tracing::info!(?change, "etcd changed");
                Ok(())
            }
            failed => failed,
        }
    }
}

impl<E: EtcdClient> Operator for EtcdClusterOperator<E> {
    const NAME: &'static str = kind::CONTROLLER;
    type Object = EtcdCluster;
    type Observed = Observed;
    type Act = EtcdAct;

    fn objects(&self) -> &Arc<Store<EtcdCluster>> {
        &self.stores.clusters
    }

    fn watch(&self, watches: &mut WatchBuilder) {
        watches.children(&self.stores.pods);
        watches.children(&self.stores.claims);
        watches.children(&self.stores.services);
        watches.children(&self.stores.budgets);
        watches.children(&self.stores.restores);
        watches.children(&self.stores.backups);
    }

    async fn observe(&self, cluster: &Arc<EtcdCluster>) -> Result<Observed, Error> {
        let mut queries = self.live.queries(&cluster.meta.key, &self.settings.cluster_domain);
        let observed = observe::observe(&self.stores, &mut queries, &self.settings.agent_image, cluster).await?;
        metrics::set(&observed);
        Ok(observed)
    }

    fn plan(observed: &Observed, now: Timestamp) -> EtcdPlan {
        plan::plan(observed, now)
    }

    async fn act(&self, cluster: &Arc<EtcdCluster>, act: EtcdAct) -> Result<(), Error> {
        match act {
            EtcdAct::Change { endpoints, change } => self.change(&endpoints, &change).await,
            EtcdAct::IssueCertificates { issued, members } => {
                let cluster = plan::issued_tls::with(cluster, issued);
                self.live.issue_certificates(&cluster, &self.settings.cluster_domain, &members).await
            }
        }
    }

    fn manages(&self, cluster: &EtcdCluster) -> bool {
        let annotated = cluster.annotations.get(api::etcd_cluster::SCOPE).map(|scope| &**scope);
        self.settings.scope.manages(annotated, self.settings.all_namespaces)
    }
}

#[cfg(test)]
mod tests {
    use runtime::cache::CacheEntry;
    use serde_json::json;

    use super::*;

    /// An empty term has three bytes of JSON, and takes some fifty in memory.
    #[test]
    fn a_spec_that_takes_much_more_memory_than_text_is_not_kept() {
        let decoded = |terms: usize| {
            let terms = vec![json!({}); terms];
            let required = json!({ "requiredDuringSchedulingIgnoredDuringExecution": { "nodeSelectorTerms": terms } });
            let pod = json!({ "affinity": { "nodeAffinity": required } });
            let object =
                json!({ "metadata": { "namespace": "n", "name": "c", "uid": "u" }, "spec": { "size": 3, "pod": pod } });
            CacheEntry::<EtcdCluster>::decode(&object.to_string()).unwrap()
        };
        assert!(matches!(decoded(20_000), CacheEntry::Object(_)));
        let CacheEntry::Undecodable(broken) = decoded(470_000) else { panic!("it is kept") };
        assert!(broken.error.starts_with("spec.pod.affinity is too long: "), "{}", broken.error);
        assert!(broken.error.ends_with("make it shorter"), "{}", broken.error);
    }
}
