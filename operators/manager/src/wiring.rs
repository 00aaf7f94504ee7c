//! Connects operators to caches. A new operator is one line in [`operators`].

use std::pin::Pin;
use std::sync::Arc;

use etcd_cluster::plan::issued_tls;
use etcd_cluster::{EtcdBackupOperator, EtcdClusterOperator, EtcdRestoreOperator};
use kube::Client;
use runtime::cache::{Cache, KindHealth};
use runtime::controller::{Controller, ControllerSettings};
use runtime::events::{self, Publisher};
use runtime::leader_election::{Fence, ForeignLeases, LeaseName};
use runtime::manager_pod::ManagerPod;
use runtime::outage::Outages;
use runtime::plan::Key;
use runtime::{Operator, crd};
use sample_db::{SampleDBOperator, SnapshotOperator};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::args::Args;
use crate::error::ManagerError;
use crate::operands::OperandClients;
use crate::{agent_image, own_pod};

/// All operators, by the name of their controller.
fn operators<C: OperandClients>() -> [(&'static str, ControllerFactory<C>); 7] {
    [
        (my_app::MyAppOperator::NAME, |cache, shared| {
            let operator = my_app::MyAppOperator::new(cache).with_limit(shared.pod_overrides);
            shared.tie(operator.with_client(shared.client.clone()))
        }),
        (sample::SampleOperator::NAME, |cache, shared| shared.tie(sample::SampleOperator::new(cache))),
        (SampleDBOperator::NAME, |cache, shared| {
            let operator = SampleDBOperator::new(cache, shared.client.clone(), shared.databases());
            shared.tie(operator.with_postgres(shared.operands.postgres()))
        }),
        (SnapshotOperator::NAME, |cache, shared| {
            shared.tie(SnapshotOperator::new(cache, shared.client.clone(), shared.databases()))
        }),
        (EtcdClusterOperator::NAME, |cache, shared| {
            let etcd = shared.operands.etcd();
            shared.tie(EtcdClusterOperator::new(cache, shared.client.clone(), etcd, shared.etcd.clone()))
        }),
        (EtcdBackupOperator::NAME, |cache, shared| {
            let agent_image = shared.etcd.agent_image.clone();
            shared.tie(EtcdBackupOperator::new(cache, shared.client.clone(), agent_image))
        }),
        (EtcdRestoreOperator::NAME, |cache, shared| {
            let agent_image = shared.etcd.agent_image.clone();
            shared.tie(EtcdRestoreOperator::new(cache, shared.client.clone(), agent_image))
        }),
    ]
}

type ControllerFactory<C> = fn(&mut Cache, &ControllerContext<'_, C>) -> ControllerRun;
type ControllerRun = Box<dyn FnOnce(CancellationToken) -> Pin<Box<dyn Future<Output = ()> + Send>>>;

/// What every controller is created from.
struct ControllerContext<'a, C> {
    client: &'a Client,
    operands: &'a C,
    publisher: &'a dyn Fn(&'static str) -> Publisher,
    foreign: Arc<ForeignLeases>,
    settings: ControllerSettings,
    etcd: etcd_cluster::Settings,
    pod_overrides: my_app::plan::OverrideLimit,
    catalog: Key,
}

impl<C> ControllerContext<'_, C> {
    fn databases(&self) -> sample_db::Settings {
        sample_db::Settings { agent_image: self.etcd.agent_image.clone(), catalog: self.catalog.clone() }
    }

    fn tie<O: Operator>(&self, operator: O) -> ControllerRun {
        let publisher = (self.publisher)(O::NAME);
        let controller =
            Controller::new(operator, self.client.clone(), publisher, self.foreign.clone(), self.settings.clone());
        Box::new(move |stop| Box::pin(controller.run(stop)))
    }
}

/// What decides whether this manager may write.
pub struct Leadership {
    /// Its Lease, which objects record in their status.
    pub lease: LeaseName,
    /// Open while this manager leads.
    pub fence: Fence,
    /// Outages of the API server.
    pub outages: Outages,
}

/// The caches, and the controllers that read them.
pub struct Manager {
    cache: Cache,
    controllers: Vec<ControllerRun>,
    own_pod: Option<(Key, Publisher)>,
    outages: Outages,
    events: Pin<Box<dyn Future<Output = ()> + Send>>,
}

impl Manager {
    /// Creates the controllers that `args` select. They write while the fence is open.
    ///
    /// # Errors
    /// `args` select an unknown controller.
    pub async fn new<C: OperandClients>(
        args: &Args,
        client: &Client,
        operands: &C,
        identity: &str,
        leading: Leadership,
    ) -> Result<Self, ManagerError> {
        let operators = operators::<C>();
        let Leadership { lease, fence, outages } = leading;
        let names: Vec<&str> = operators.iter().map(|(name, _)| *name).collect();
        let selected = args.controllers.select(&names)?;
        let (publisher, events) = events::channel(client.clone(), identity);
        let environment = |name: &str| std::env::var(name).ok();
        let own_pod = own_pod::key(environment).map(|key| (key, publisher("manager")));
        let shared = ControllerContext {
            client,
            operands,
            publisher: &publisher,
            foreign: Arc::new(ForeignLeases::new(client.clone())),
            settings: ControllerSettings {
                lease: lease.clone(),
                fence,
                outages: outages.clone(),
                take_over: args.take_over,
                concurrency: u16::try_from(args.concurrency)?,
                deadline: args.reconcile_timeout,
            },
            etcd: etcd_settings(args, client, &selected).await,
            pod_overrides: args.pod_overrides,
            catalog: catalog(environment, &lease),
        };
        let mut cache = Cache::new(&args.watch_namespaces.0);
        let wanted = operators.iter().filter(|(name, _)| selected.contains(name));
        let controllers = wanted.map(|(_, wire)| wire(&mut cache, &shared)).collect();
        Ok(Self { cache, controllers, own_pod, outages, events: Box::pin(events) })
    }

    /// The health of the watches.
    pub fn health(&self) -> Vec<Arc<KindHealth>> {
        self.cache.health()
    }

    /// Starts what standbys run as well: the watches that fill the caches. Returns the controllers, which only a leader runs.
    pub fn start(self, client: &Client, stop: &CancellationToken) -> ControllerSet {
        let health = self.cache.health();
        let mut tasks = self.cache.start(client, &self.outages, stop);
        tasks.spawn(self.events);
        tasks.spawn(crd::run_checks(client.clone(), health.clone(), api::FIELDS));
        if let Some((key, events)) = self.own_pod {
            tasks.spawn(ManagerPod { client: client.clone(), key, health, events }.run());
        }
        ControllerSet { controllers: self.controllers, _tasks: tasks }
    }
}

/// The catalog of PostgreSQL releases. It is in the manager's own namespace, which may differ from that of its Lease.
fn catalog(environment: impl Fn(&str) -> Option<String>, lease: &LeaseName) -> Key {
    let own = own_pod::namespace(environment);
    Key::new(own.as_deref().unwrap_or(&lease.namespace), sample_db::CATALOG)
}

/// The domain of the Kubernetes cluster, as the manager's own pod knows it.
fn cluster_domain() -> Arc<str> {
    let resolver = std::fs::read_to_string("/etc/resolv.conf").unwrap_or_default();
    issued_tls::domain(&resolver).unwrap_or(issued_tls::DEFAULT_DOMAIN).into()
}

/// The settings of the operator of EtcdCluster. The manager looks up the agent's image only if an operator that needs it runs.
async fn etcd_settings(args: &Args, client: &Client, selected: &[&str]) -> etcd_cluster::Settings {
    let users_of_agent = [
        EtcdClusterOperator::NAME,
        EtcdBackupOperator::NAME,
        EtcdRestoreOperator::NAME,
        SampleDBOperator::NAME,
        SnapshotOperator::NAME,
    ];
    let agent_image = if users_of_agent.iter().any(|name| selected.contains(name)) {
        agent_image::find(args.agent_image.as_deref(), client).await
    } else {
        Arc::default()
    };
    let all_namespaces = args.watch_namespaces.0.is_empty();
    etcd_cluster::Settings { scope: args.etcd_scope, all_namespaces, agent_image, cluster_domain: cluster_domain() }
}

/// The controllers, which only a leader runs.
pub struct ControllerSet {
    controllers: Vec<ControllerRun>,
    /// The tasks of the caches, which end with this value.
    _tasks: JoinSet<()>,
}

impl ControllerSet {
    /// Runs all controllers until `stop`, and finishes running reconciles.
    pub async fn run(self, stop: CancellationToken) {
        let mut controllers: JoinSet<()> = self.controllers.into_iter().map(|run| run(stop.clone())).collect();
        while let Some(ended) = controllers.join_next().await {
            if let Err(error) = ended {
                tracing::error!(%error, "a controller ended unexpectedly; aborting");
                std::process::abort();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_catalog_is_in_the_managers_own_namespace_wherever_its_lease_is() {
        let lease = LeaseName { namespace: "infra".to_owned(), name: "multi-operator".to_owned() };
        let catalog = |variable: &'static str, value: &'static str| {
            super::catalog(move |name| (name == variable).then(|| value.to_owned()), &lease).to_string()
        };
        assert_eq!(catalog("POD_NAMESPACE", "operators"), "operators/multi-operator-postgres");
        assert_eq!(catalog("MY_POD_NAMESPACE", "operators"), "operators/multi-operator-postgres");
        assert_eq!(catalog("POD_NAMESPACE", ""), "infra/multi-operator-postgres", "outside of a cluster");
    }
}
