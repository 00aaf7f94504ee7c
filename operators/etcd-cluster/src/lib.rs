//! The operator of EtcdCluster: etcd members as pods that keep their names and volumes.
//!
//! Each member is a pod of its own, with a claim of the same name. How many there are and what they run follows from the
//! spec; who is a member is asked of etcd itself, at every pass, and never remembered. [`plan`] takes one step at a time:
//! members come in as learners, vote once they are in sync, come back on their volumes, are replaced only where the
//! others hold quorum, and roll to other versions along etcd's own rules. The agent (`operators/agent`) stands before
//! etcd in each pod, lest a member that lost its data votes as if it had not.

use std::sync::Arc;

use api::etcd_cluster::EtcdClusterReason;
use jiff::Timestamp;
use kube::Client;
use runtime::cache::{Cache, Store};
use runtime::controller::Watches;
use runtime::namespaces::Namespaces;
use runtime::permissions::Permission;
use runtime::views::{Claim, DisruptionBudget, Pod, Service};
use runtime::{Error, Operator};

mod by_name;
pub mod etcd;
mod kind;
mod look;
mod metrics;
mod observe;
pub mod plan;
mod scope;

pub use kind::{EtcdCluster, EtcdClusterKind};
pub use scope::Scope;

use by_name::ByName;
use etcd::{EtcdClient, Live};
use plan::{EtcdAct, EtcdPlan, Observed};

/// What the controller may do in each watched namespace.
pub const PERMISSIONS: &[Permission] = &[
    // `patch` for the finalizer, which is metadata.
    Permission { group: api::ETCD_GROUP, resources: &["etcdclusters"], verbs: &["get", "list", "watch", "patch"] },
    Permission { group: api::ETCD_GROUP, resources: &["etcdclusters/status"], verbs: &["patch"] },
    // Owner references that block deletion need it where OwnerReferencesPermissionEnforcement is on (OpenShift).
    Permission { group: api::ETCD_GROUP, resources: &["etcdclusters/finalizers"], verbs: &["update"] },
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
    // Whether cluster DNS tells of a pod yet; read while one joins.
    Permission { group: "discovery.k8s.io", resources: &["endpointslices"], verbs: &["list"] },
    // Whether the namespace dictates which users pods run as (OpenShift); read before pods are made.
    Permission { group: "", resources: &["namespaces"], verbs: &["get"] },
];

/// What a manager says of all clusters.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Which clusters this install looks after.
    pub scope: Scope,
    /// Whether it watches all namespaces.
    pub all_namespaces: bool,
    /// The image with the agent.
    pub agent_image: Arc<str>,
}

/// The stores that the operator reads, and etcd.
pub struct EtcdClusterOperator {
    clusters: Arc<Store<EtcdCluster>>,
    pods: Arc<Store<Pod>>,
    claims: Arc<Store<Claim>>,
    services: Arc<Store<Service>>,
    budgets: Arc<Store<DisruptionBudget>>,
    client: Client,
    namespaces: Namespaces,
    by_name: ByName,
    etcd: Live,
    settings: Settings,
}

impl EtcdClusterOperator {
    /// The controller's name.
    pub const NAME: &'static str = kind::CONTROLLER;

    /// An operator over these caches.
    #[must_use]
    pub fn new(cache: &mut Cache, client: Client, settings: Settings) -> Self {
        Self {
            clusters: cache.store(),
            pods: cache.store(),
            claims: cache.store(),
            services: cache.store(),
            budgets: cache.store(),
            namespaces: Namespaces::new(client.clone()),
            by_name: ByName::new(client.clone()),
            client,
            etcd: Live::default(),
            settings,
        }
    }
}

impl Operator for EtcdClusterOperator {
    const NAME: &'static str = Self::NAME;
    type Object = EtcdCluster;
    type Observed = Observed;
    type Act = EtcdAct;

    fn objects(&self) -> &Arc<Store<EtcdCluster>> {
        &self.clusters
    }

    fn watch(&self, watches: &mut Watches) {
        watches.children(&self.pods);
        watches.children(&self.claims);
        watches.children(&self.services);
        watches.children(&self.budgets);
    }

    async fn observe(&self, cluster: &Arc<EtcdCluster>) -> Result<Observed, Error> {
        let observed = self.look(cluster).await?;
        metrics::tell(&observed);
        Ok(observed)
    }

    fn plan(observed: &Observed, now: Timestamp) -> EtcdPlan {
        plan::plan(observed, now)
    }

    async fn act(&self, _: &Arc<EtcdCluster>, act: EtcdAct) -> Result<(), Error> {
        if let plan::Change::Remove { absent, staying, .. } = &act.change {
            look::must_be_absent(&self.client, absent).await?;
            look::must_stay(&self.client, staying).await?;
        }
        let change = act.change.clone();
        match self.etcd.act(act).await {
            // etcd says when it will do so; asked again soon, and told in the status meanwhile.
            Err(Error::Transient { reason, message, .. })
                if reason.is_one_of(&[EtcdClusterReason::WaitingForEtcd, EtcdClusterReason::LearnerNotInSync]) =>
            {
                tracing::debug!(%reason, "{message}");
                Ok(())
            }
            Ok(()) => {
                tracing::info!(?change, "etcd has changed membership");
                Ok(())
            }
            failed => failed,
        }
    }

    fn manages(&self, cluster: &EtcdCluster) -> bool {
        let annotated = cluster.annotations.get(api::etcd_cluster::SCOPE).map(|scope| &**scope);
        self.settings.scope.manages(annotated, self.settings.all_namespaces)
    }
}

#[cfg(test)]
mod tests {
    use runtime::cache::Entry;
    use serde_json::json;

    use super::*;

    /// An empty term has three bytes of JSON, and takes some fifty in memory.
    #[test]
    fn a_spec_that_would_take_many_times_its_text_in_memory_is_not_kept() {
        let decoded = |terms: usize| {
            let terms = vec![json!({}); terms];
            let required = json!({ "requiredDuringSchedulingIgnoredDuringExecution": { "nodeSelectorTerms": terms } });
            let pod = json!({ "affinity": { "nodeAffinity": required } });
            let object =
                json!({ "metadata": { "namespace": "n", "name": "c", "uid": "u" }, "spec": { "size": 3, "pod": pod } });
            Entry::<EtcdCluster>::decode(&object.to_string()).unwrap()
        };
        assert!(matches!(decoded(20_000), Entry::Object(_)));
        let Entry::Broken(broken) = decoded(470_000) else { panic!("it is kept") };
        assert!(broken.error.starts_with("spec.pod.affinity is too long: "), "{}", broken.error);
        assert!(broken.error.ends_with("make it shorter"), "{}", broken.error);
    }
}
