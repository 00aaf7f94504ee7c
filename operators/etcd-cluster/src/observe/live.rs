//! The live systems behind a cluster: the API server, and etcd.

use std::collections::BTreeSet;
use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::Pod as CorePod;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::api::ListParams;
use kube::core::PartialObjectMeta;
use kube::{Api, Client};
use runtime::cache::Projection as _;
use runtime::namespaces::{NamespaceReader, Termination};
use runtime::plan::meta::selector_text;
use runtime::plan::{Apply, Create, DryRun, Key, ResourceKind};
use runtime::{Error, pod_requests};
use serde::Deserialize;
use serde_json::Value;

use super::by_name::{ObjectReader, ObjectsByName};
use super::queries::{ObjectLookup, Queries};
use super::secrets::{SecretLookup, SecretReader};
use crate::EtcdCluster;
use crate::etcd::{EtcdClient, MemberEndpoint};
use crate::issuance::Issuance;
use crate::plan::{Etcd, MembersKnow, issued_tls, objects};

/// The API server and etcd, with what is cached of them between reconciles.
pub(crate) struct LiveSystems<E> {
    pub(crate) client: Client,
    pub(crate) etcd: E,
    namespaces: NamespaceReader,
    by_name: ObjectsByName,
    secrets: SecretReader,
}

/// Queries about one cluster, for one reconcile.
pub(crate) struct LiveQueries<'a, E> {
    systems: &'a LiveSystems<E>,
    cluster: &'a Key,
    domain: &'a str,
    by_name: ObjectReader<'a>,
}

impl<E: EtcdClient> LiveSystems<E> {
    /// The API server that `client` reaches, and its etcd clusters, which `etcd` reaches.
    pub(crate) fn new(client: Client, etcd: E) -> Self {
        Self {
            namespaces: NamespaceReader::new(client.clone()),
            by_name: ObjectsByName::new(client.clone()),
            secrets: SecretReader::new(client.clone()),
            etcd,
            client,
        }
    }

    /// Begins a reconcile of that cluster, in a Kubernetes cluster with that domain.
    pub(crate) fn queries<'a>(&'a self, cluster: &'a Key, domain: &'a str) -> LiveQueries<'a, E> {
        LiveQueries { systems: self, cluster, domain, by_name: self.by_name.reader(cluster) }
    }

    /// Issues the certificates of that cluster that are due.
    pub(crate) async fn issue_certificates(
        &self,
        cluster: &EtcdCluster,
        domain: &str,
        members: &MembersKnow,
    ) -> Result<(), Error> {
        let issued = Issuance::new(&self.client, cluster, domain, runtime::clock::now()).run(members).await;
        self.secrets.forget(&cluster.meta.key.namespace, &issued_tls::secrets(cluster));
        issued
    }
}

impl<E: EtcdClient> Queries for LiveQueries<'_, E> {
    fn now(&self) -> Timestamp {
        runtime::clock::now()
    }

    fn random(&self) -> u64 {
        runtime::clock::random()
    }

    fn cluster_domain(&self) -> &str {
        self.domain
    }

    async fn wait(&self, time: Duration) {
        tokio::time::sleep(time).await;
    }

    async fn object(&mut self, kind: ResourceKind, name: &str) -> ObjectLookup {
        self.by_name.read(kind, name).await
    }

    async fn pod(&self, name: &str) -> Result<Option<Value>, Error> {
        pod_requests::get(&self.systems.client, &self.cluster.sibling(name)).await
    }

    async fn secret(&self, name: &str, max_age: Duration) -> SecretLookup {
        self.systems.secrets.read(&self.cluster.sibling(name), max_age).await
    }

    async fn labeled_pods(&self, cluster: &EtcdCluster) -> Option<Vec<ObjectMeta>> {
        let params = ListParams::default().labels(&selector_text(&objects::selector(cluster)));
        let api: Api<PartialObjectMeta<CorePod>> =
            Api::namespaced(self.systems.client.clone(), &cluster.meta.key.namespace);
        match api.list_metadata(&params).await {
            Ok(pods) => Some(pods.items.into_iter().map(|pod| pod.metadata).collect()),
            Err(error) => {
                tracing::debug!(%error, "pods cannot be listed");
                None
            }
        }
    }

    async fn default_class(&self, probe: &Apply) -> Result<bool, String> {
        #[derive(Clone, Debug, Deserialize)]
        struct Completed {
            spec: ClaimSpec,
        }
        #[derive(Clone, Debug, Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct ClaimSpec {
            storage_class_name: Option<String>,
        }
        let path = format!("{}?dryRun=All", probe.kind.path(&probe.key.namespace));
        let body = serde_json::to_vec(&probe.body).map_err(|error| error.to_string())?;
        let request = http::Request::post(path).header("Content-Type", "application/json").body(body);
        let request = request.map_err(|error| error.to_string())?;
        let completed = self.systems.client.request::<Completed>(request).await;
        let completed = completed.map_err(|error| Error::from(error).to_string())?;
        Ok(completed.spec.storage_class_name.is_some_and(|class| !class.is_empty()))
    }

    async fn dry_run(&self, pod: &Create) -> DryRun {
        pod_requests::dry_run(&self.systems.client, pod).await
    }

    async fn assigns_uids(&self) -> Result<bool, Error> {
        self.systems.namespaces.assigns_uids(&self.cluster.namespace).await
    }

    async fn termination(&self) -> Option<Termination> {
        self.systems.namespaces.termination(&self.cluster.namespace, EtcdCluster::KIND).await
    }

    async fn ready_endpoints(&self, service: &Key) -> Vec<Box<str>> {
        #[derive(Clone, Debug, Deserialize)]
        struct Slices {
            items: Vec<Slice>,
        }
        #[derive(Clone, Debug, Deserialize)]
        struct Slice {
            #[serde(default)]
            endpoints: Option<Vec<SliceEndpoint>>,
        }
        #[derive(Clone, Debug, Deserialize)]
        struct SliceEndpoint {
            addresses: Vec<Box<str>>,
        }
        let path = format!(
            "/apis/discovery.k8s.io/v1/namespaces/{}/endpointslices?labelSelector=kubernetes.io%2Fservice-name%3D{}",
            service.namespace, service.name
        );
        let Ok(request) = http::Request::get(path).body(Vec::new()) else { return Vec::new() };
        match self.systems.client.request::<Slices>(request).await {
            Ok(slices) => {
                let endpoints = slices.items.into_iter().filter_map(|slice| slice.endpoints).flatten();
                endpoints.flat_map(|endpoint| endpoint.addresses).collect()
            }
            Err(error) => {
                tracing::debug!(%error, "endpoint slices cannot be read");
                Vec::new()
            }
        }
    }

    async fn etcd(&self, members: &[MemberEndpoint], latched: Option<u64>) -> Etcd {
        self.systems.etcd.query(members, latched).await
    }

    async fn cluster_version(&self, address: &str) -> Option<String> {
        self.systems.etcd.cluster_version(address).await
    }

    async fn snapshot_receivers(&self, address: &str) -> BTreeSet<u64> {
        self.systems.etcd.snapshot_receivers(address).await
    }
}
