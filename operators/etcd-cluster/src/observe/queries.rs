//! What the stores do not hold and the operator asks live systems for.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use runtime::Error;
use runtime::namespaces::Termination;
use runtime::plan::{Apply, Create, DryRun, Key, Kind};
use serde_json::Value;

use crate::EtcdCluster;
use crate::etcd::Place;
use crate::plan::Etcd;

/// The API server's answer to a query of one object.
#[derive(Clone, Debug)]
pub enum Answer {
    /// The object exists.
    Live(Arc<Value>),
    /// It does not exist.
    Gone,
    /// The API server did not answer, so neither is known.
    Unknown,
}

/// Queries about one cluster, for one reconcile. Tests put a model in place of the API server and etcd.
pub trait Queries {
    /// The time.
    fn now(&self) -> Timestamp;

    /// A random number.
    fn random(&self) -> u64;

    /// Lets time go by before the same is asked again.
    fn wait(&self, time: Duration) -> impl Future<Output = ()> + Send;

    /// The object of that kind and name in the cluster's namespace. The answer may be some seconds old.
    fn object(&mut self, kind: Kind, name: &str) -> impl Future<Output = Answer> + Send;

    /// The pod of that name in the cluster's namespace as it is now, whatever its labels.
    ///
    /// # Errors
    /// If it cannot be read now.
    fn pod(&self, name: &str) -> impl Future<Output = Result<Option<Value>, Error>> + Send;

    /// The metadata of all pods that bear the labels of `cluster`, whoever owns them; none if they cannot be listed now.
    fn labeled_pods(&self, cluster: &EtcdCluster) -> impl Future<Output = Option<Vec<ObjectMeta>>> + Send;

    /// Whether a PVC that names no class would get one: the API server completes one in a dry run.
    ///
    /// # Errors
    /// Why that is not known.
    fn default_class(&self, probe: &Apply) -> impl Future<Output = Result<bool, String>> + Send;

    /// Whether the API server would create that pod.
    fn dry_run(&self, pod: &Create) -> impl Future<Output = DryRun> + Send;

    /// Whether the namespace dictates which users pods run as (OpenShift).
    ///
    /// # Errors
    /// Transient, while the namespace cannot be read and never was.
    fn assigns_uids(&self) -> impl Future<Output = Result<bool, Error>> + Send;

    /// What is being deleted together with the cluster, if anything.
    fn termination(&self) -> impl Future<Output = Option<Termination>> + Send;

    /// Addresses that cluster DNS publishes for a headless Service; none if they cannot be read now.
    fn ready_endpoints(&self, service: &Key) -> impl Future<Output = Vec<Box<str>>> + Send;

    /// What the members at those addresses and the cluster `latched` answer.
    fn etcd(&self, members: &[Place], latched: Option<u64>) -> impl Future<Output = Etcd> + Send;

    /// The version that all members have agreed upon, by the member at `address`.
    fn cluster_version(&self, address: &str) -> impl Future<Output = Option<String>> + Send;

    /// The members to which the one at `address` is sending a snapshot.
    fn receivers(&self, address: &str) -> impl Future<Output = BTreeSet<u64>> + Send;
}
