//! Ties operators to caches. A new operator is one line in [`OPERATORS`].

use std::pin::Pin;
use std::sync::Arc;

use etcd_cluster::EtcdClusterOperator;
use kube::Client;
use runtime::cache::{Cache, Health};
use runtime::controller::{Controller, Settings};
use runtime::events::{self, Publisher};
use runtime::leader_election::{Fence, ForeignLeases, LeaseName};
use runtime::outage::Outages;
use runtime::own_pod::OwnPod;
use runtime::plan::Key;
use runtime::{Operator, crd};
use sample_db::{SampleDBOperator, SnapshotOperator};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::args::Args;
use crate::failure::Failure;
use crate::{agent_image, own_pod};

/// All operators, by the name of their controller.
const OPERATORS: [(&str, Wire); 5] = [
    (my_app::MyAppOperator::NAME, |cache, shared| {
        let operator = my_app::MyAppOperator::new(cache).with_limit(shared.pod_overrides);
        shared.tie(operator.with_client(shared.client.clone()))
    }),
    (sample::SampleOperator::NAME, |cache, shared| shared.tie(sample::SampleOperator::new(cache))),
    (SampleDBOperator::NAME, |cache, shared| {
        shared.tie(SampleDBOperator::new(cache, shared.client.clone(), shared.databases()))
    }),
    (SnapshotOperator::NAME, |cache, shared| {
        shared.tie(SnapshotOperator::new(cache, shared.client.clone(), shared.databases()))
    }),
    (EtcdClusterOperator::NAME, |cache, shared| {
        shared.tie(EtcdClusterOperator::new(cache, shared.client.clone(), shared.etcd.clone()))
    }),
];

type Wire = fn(&mut Cache, &Shared<'_>) -> Work;
type Work = Box<dyn FnOnce(CancellationToken) -> Pin<Box<dyn Future<Output = ()> + Send>>>;

/// What every controller gets.
struct Shared<'a> {
    client: &'a Client,
    publisher: &'a dyn Fn(&'static str) -> Publisher,
    foreign: Arc<ForeignLeases>,
    settings: Settings,
    etcd: etcd_cluster::Settings,
    pod_overrides: my_app::plan::Limit,
    catalog: Key,
}

impl Shared<'_> {
    fn databases(&self) -> sample_db::Settings {
        sample_db::Settings { agent_image: self.etcd.agent_image.clone(), catalog: self.catalog.clone() }
    }

    fn tie<O: Operator>(&self, operator: O) -> Work {
        let publisher = (self.publisher)(O::NAME);
        let controller =
            Controller::new(operator, self.client.clone(), publisher, self.foreign.clone(), self.settings.clone());
        Box::new(move |stop| Box::pin(controller.run(stop)))
    }
}

/// By what a manager may write, and when it can.
pub struct Leading {
    /// Its Lease, which objects name in their status.
    pub lease: LeaseName,
    /// Open while it leads.
    pub fence: Fence,
    /// Those of the API server.
    pub outages: Outages,
}

/// Caches and controllers, tied together.
pub struct Manager {
    cache: Cache,
    works: Vec<Work>,
    own_pod: Option<(Key, Publisher)>,
    outages: Outages,
    events: Pin<Box<dyn Future<Output = ()> + Send>>,
}

impl Manager {
    /// Ties the controllers that `args` ask for. They write while the fence is open.
    ///
    /// # Errors
    /// If an unknown controller is asked for.
    pub async fn new(args: &Args, client: &Client, identity: &str, leading: Leading) -> Result<Self, Failure> {
        let Leading { lease, fence, outages } = leading;
        let names: Vec<&str> = OPERATORS.iter().map(|(name, _)| *name).collect();
        let selected = args.controllers.select(&names)?;
        let (publisher, events) = events::channel(client.clone(), identity);
        let environment = |name: &str| std::env::var(name).ok();
        let own_pod = own_pod::key(environment).map(|key| (key, publisher("manager")));
        let shared = Shared {
            client,
            publisher: &publisher,
            foreign: Arc::new(ForeignLeases::new(client.clone())),
            settings: Settings {
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
        let wanted = OPERATORS.iter().filter(|(name, _)| selected.contains(name));
        let works = wanted.map(|(_, wire)| wire(&mut cache, &shared)).collect();
        Ok(Self { cache, works, own_pod, outages, events: Box::pin(events) })
    }

    /// How the watches fare.
    pub fn health(&self) -> Vec<Arc<Health>> {
        self.cache.health()
    }

    /// Starts what standbys do too: filling the caches. Returns what is left: the work of a leader.
    pub fn start(self, client: &Client, stop: &CancellationToken) -> Leader {
        let health = self.cache.health();
        let mut tasks = self.cache.start(client, &self.outages, stop);
        tasks.spawn(self.events);
        tasks.spawn(crd::look_after(client.clone(), health.clone(), api::FIELDS));
        if let Some((key, events)) = self.own_pod {
            tasks.spawn(OwnPod { client: client.clone(), key, health, events }.run());
        }
        Leader { works: self.works, _tasks: tasks }
    }
}

/// The catalog of PostgreSQL releases: in the manager's own namespace, and its Lease may be in another one.
fn catalog(environment: impl Fn(&str) -> Option<String>, lease: &LeaseName) -> Key {
    let own = own_pod::namespace(environment);
    Key::new(own.as_deref().unwrap_or(&lease.namespace), sample_db::CATALOG)
}

/// What the operator of EtcdCluster is told. Its agent's image is only looked for if it runs.
async fn etcd_settings(args: &Args, client: &Client, selected: &[&str]) -> etcd_cluster::Settings {
    let with_agent = [EtcdClusterOperator::NAME, SampleDBOperator::NAME, SnapshotOperator::NAME];
    let agent_image = if with_agent.iter().any(|name| selected.contains(name)) {
        agent_image::find(args.agent_image.as_deref(), client).await
    } else {
        Arc::default()
    };
    let all_namespaces = args.watch_namespaces.0.is_empty();
    etcd_cluster::Settings { scope: args.etcd_scope, all_namespaces, agent_image }
}

/// What only a leader does.
pub struct Leader {
    works: Vec<Work>,
    /// Ends the caches with the leader.
    _tasks: JoinSet<()>,
}

impl Leader {
    /// Runs all controllers until `stop`; passes under way are finished.
    pub async fn work(self, stop: CancellationToken) {
        let mut controllers: JoinSet<()> = self.works.into_iter().map(|work| work(stop.clone())).collect();
        while let Some(ended) = controllers.join_next().await {
            if let Err(error) = ended {
                tracing::error!(%error, "a controller ended");
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
