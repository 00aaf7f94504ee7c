//! The API server and etcd of a world, as the operator queries them.

use std::collections::BTreeSet;
use std::future::ready;
use std::sync::Arc;
use std::time::Duration;

use api::ReconcileReason;
use etcd_cluster::EtcdCluster;
use etcd_cluster::etcd::MemberEndpoint;
use etcd_cluster::observe::{ObjectLookup, Queries, SecretLookup, observe};
use etcd_cluster::plan::{Etcd, Observed, objects};
use futures::FutureExt as _;
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use runtime::Error;
use runtime::cache::Projection as _;
use runtime::namespaces::Termination;
use runtime::plan::{Apply, Create, DryRun, Key, ResourceKind};
use runtime::projections::Pod;
use serde_json::Value;

use crate::bench::Bench;
use crate::raft::hash;

impl Bench {
    /// The state that the operator observes, by its own code.
    ///
    /// # Errors
    /// As the operator's own.
    pub fn observe(&mut self, cluster: &Arc<EtcdCluster>) -> Result<Observed, Error> {
        self.names += 1;
        let observed = observe(&self.stores, &mut Model(self), &"agent:1".into(), cluster).now_or_never();
        observed.expect("a model answers at once")
    }
}

/// The live systems of a world.
struct Model<'a>(&'a Bench);

impl Queries for Model<'_> {
    fn now(&self) -> Timestamp {
        self.0.now
    }

    fn random(&self) -> u64 {
        hash(&[&self.0.names.to_string()])
    }

    fn cluster_domain(&self) -> &str {
        "cluster.local"
    }

    fn wait(&self, _: Duration) -> impl Future<Output = ()> + Send {
        ready(())
    }

    fn object(&mut self, kind: ResourceKind, name: &str) -> impl Future<Output = ObjectLookup> + Send {
        let live = self.0.world.get(kind, &self.0.key.sibling(name));
        let answer = live.map_or(ObjectLookup::Absent, |live| ObjectLookup::Found(Arc::new(live.clone())));
        ready(if self.0.blind { ObjectLookup::Unknown } else { answer })
    }

    fn pod(&self, name: &str) -> impl Future<Output = Result<Option<Value>, Error>> + Send {
        let pod = self.0.world.get(Pod::KIND, &self.0.key.sibling(name)).cloned();
        ready(if self.0.blind { Err(unavailable()) } else { Ok(pod) })
    }

    fn secret(&self, name: &str, _: Duration) -> impl Future<Output = SecretLookup> + Send {
        let files = self.0.secrets.get(name).cloned();
        ready(files.map_or(SecretLookup::Absent, |files| SecretLookup::Found(Arc::new(files))))
    }

    fn labeled_pods(&self, cluster: &EtcdCluster) -> impl Future<Output = Option<Vec<ObjectMeta>>> + Send {
        let selector = objects::selector(cluster);
        let has_labels =
            |pod: &Value| selector.iter().all(|(key, value)| pod["metadata"]["labels"][key] == value.as_str());
        let pods = self.0.world.all(Pod::KIND);
        let pods = pods.filter(|(key, pod)| key.namespace == self.0.key.namespace && has_labels(pod));
        let metadata = pods.map(|(_, pod)| serde_json::from_value(pod["metadata"].clone()).expect("metadata"));
        ready((!self.0.blind).then(|| metadata.collect()))
    }

    fn default_class(&self, _: &Apply) -> impl Future<Output = Result<bool, String>> + Send {
        ready(if self.0.blind { Err("the API server is unavailable".to_owned()) } else { Ok(self.0.default_class) })
    }

    fn dry_run(&self, _: &Create) -> impl Future<Output = DryRun> + Send {
        ready(self.0.refuses.clone().map_or(DryRun::Accepted, DryRun::Rejected))
    }

    fn assigns_uids(&self) -> impl Future<Output = Result<bool, Error>> + Send {
        // What has been read before is kept.
        let unknown = self.0.blind && self.0.world.all(Pod::KIND).next().is_none();
        ready(if unknown { Err(unavailable()) } else { Ok(self.0.assigns_uids) })
    }

    fn termination(&self) -> impl Future<Output = Option<Termination>> + Send {
        ready(self.0.terminating.then_some(Termination::Namespace))
    }

    fn ready_endpoints(&self, _: &Key) -> impl Future<Output = Vec<Box<str>>> + Send {
        ready(if self.0.mute { Vec::new() } else { self.0.kubelet.published() })
    }

    fn etcd(&self, members: &[MemberEndpoint], latched: Option<u64>) -> impl Future<Output = Etcd> + Send {
        ready(match members {
            [] => Etcd::default(),
            members => self.0.etcds.query(members, &self.0.unreached(), latched),
        })
    }

    fn cluster_version(&self, _: &str) -> impl Future<Output = Option<String>> + Send {
        ready(self.0.cluster().map(|cluster| format!("3.{}.0", cluster.minor)))
    }

    fn snapshot_receivers(&self, _: &str) -> impl Future<Output = BTreeSet<u64>> + Send {
        ready(BTreeSet::new())
    }
}

fn unavailable() -> Error {
    Error::transient(ReconcileReason::Conflict, "the API server is unavailable")
}
