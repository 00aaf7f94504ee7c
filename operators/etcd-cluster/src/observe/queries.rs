//! Queries of live systems, for what the stores do not hold.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use runtime::Error;
use runtime::namespaces::Termination;
use runtime::plan::{Apply, Create, DryRun, Key, ResourceKind};
use serde_json::Value;

use super::secrets::SecretLookup;
use crate::EtcdCluster;
use crate::etcd::MemberEndpoint;
use crate::plan::Etcd;

/// The result of a read of one object.
#[derive(Clone, Debug)]
pub enum ObjectLookup {
    /// The object exists.
    Found(Arc<Value>),
    /// It does not exist.
    Absent,
    /// The API server did not answer, so it is unknown whether the object exists.
    Unknown,
}

/// Queries about one cluster, for one reconcile. Tests put a model in place of the API server and etcd.
pub trait Queries {
    /// The time.
    fn now(&self) -> Timestamp;

    /// A random number.
    fn random(&self) -> u64;

    /// The domain of the Kubernetes cluster.
    fn cluster_domain(&self) -> &str;

    /// Waits before a repeated query.
    fn wait(&self, time: Duration) -> impl Future<Output = ()> + Send;

    /// The object of that kind and name in the cluster's namespace. The result may be some seconds old.
    fn object(&mut self, kind: ResourceKind, name: &str) -> impl Future<Output = ObjectLookup> + Send;

    /// The pod of that name in the cluster's namespace as it is now, whatever its labels.
    ///
    /// # Errors
    /// If it cannot be read.
    fn pod(&self, name: &str) -> impl Future<Output = Result<Option<Value>, Error>> + Send;

    /// The Secret of that name in the cluster's namespace, as it was no longer ago than that.
    fn secret(&self, name: &str, max_age: Duration) -> impl Future<Output = SecretLookup> + Send;

    /// The metadata of all pods with the labels of `cluster`, foreign ones included; none if they cannot be listed.
    fn labeled_pods(&self, cluster: &EtcdCluster) -> impl Future<Output = Option<Vec<ObjectMeta>>> + Send;

    /// Whether a PVC without a class would get the default one. The API server completes a PVC in a dry run.
    ///
    /// # Errors
    /// Why that is unknown.
    fn default_class(&self, probe: &Apply) -> impl Future<Output = Result<bool, String>> + Send;

    /// Whether the API server would create that pod.
    fn dry_run(&self, pod: &Create) -> impl Future<Output = DryRun> + Send;

    /// Whether the namespace assigns the user ids of pods (OpenShift).
    ///
    /// # Errors
    /// Transient, while the namespace cannot be read and never was.
    fn assigns_uids(&self) -> impl Future<Output = Result<bool, Error>> + Send;

    /// What is terminating together with the cluster, if anything.
    fn termination(&self) -> impl Future<Output = Option<Termination>> + Send;

    /// Addresses that cluster DNS publishes for a headless Service; none if they cannot be read.
    fn ready_endpoints(&self, service: &Key) -> impl Future<Output = Vec<Box<str>>> + Send;

    /// The state of etcd, as the members at those endpoints report it. Once the cluster id is `latched`, only members of that
    /// cluster count.
    fn etcd(&self, members: &[MemberEndpoint], latched: Option<u64>) -> impl Future<Output = Etcd> + Send;

    /// The cluster version, which all members have agreed on, as the member at `address` reports it.
    fn cluster_version(&self, address: &str) -> impl Future<Output = Option<String>> + Send;

    /// The ids of the members to which the one at `address` is sending a snapshot.
    fn snapshot_receivers(&self, address: &str) -> impl Future<Output = BTreeSet<u64>> + Send;
}
