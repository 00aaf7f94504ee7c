//! The operator of MyApp: a stateless application as a Deployment.
//!
//! A MyApp's Deployment has its name. `port` or `ports` adds a Service, `disruptionBudget` a PodDisruptionBudget,
//! `autoscaling` a HorizontalPodAutoscaler, `route` an HTTPRoute or an Ingress; removing the field deletes the object.
//! The Deployment's own controller replaces pods, by `strategy`. The operator reads from the Deployment and from failing pods what keeps
//! pods from serving (an image that cannot be pulled, a crash, a quota), and reports it in the MyApp's conditions.
//! Garbage collection deletes the children of a deleted MyApp, so there is no finalizer.

use std::convert::Infallible;
use std::sync::Arc;

use jiff::Timestamp;
use kube::Client;
use runtime::cache::{Cache, Store};
use runtime::controller::WatchBuilder;
use runtime::permissions::Permission;
use runtime::plan::Plan;
use runtime::{Error, Operator};

mod contents;
mod dry_runs;
mod kind;
mod observe;
pub mod plan;
mod queries;
mod sources;
mod standstill_tracker;

pub use kind::{MyApp, MyAppKind};
use observe::Stores;
use plan::{Observed, OverrideLimit};
use queries::ApiServer;
pub use queries::Queries;
pub use sources::{RestartSource, SourceState};
use standstill_tracker::StandstillTracker;

/// The permissions of the controller in each watched namespace.
pub const PERMISSIONS: &[Permission] = &[
    Permission { group: api::GROUP, resources: &["myapps"], verbs: &["get", "list", "watch"] },
    Permission { group: api::GROUP, resources: &["myapps/status"], verbs: &["patch"] },
    // For owner references that block deletion, if the plugin OwnerReferencesPermissionEnforcement is enabled (OpenShift).
    Permission { group: api::GROUP, resources: &["myapps/finalizers"], verbs: &["update"] },
    // The operator does not use `delete`; the same plugin requires it from a client that adopts an orphan.
    Permission {
        group: "apps",
        resources: &["deployments"],
        verbs: &["get", "list", "watch", "create", "patch", "delete"],
    },
    Permission { group: "", resources: &["services"], verbs: &["get", "list", "watch", "create", "patch", "delete"] },
    Permission {
        group: "policy",
        resources: &["poddisruptionbudgets"],
        verbs: &["get", "list", "watch", "create", "patch", "delete"],
    },
    // `create` is for dry runs of pods with `podOverrides`.
    Permission { group: "", resources: &["pods"], verbs: &["list", "watch", "create"] },
    // The objects that `restartOn` names, by name.
    Permission { group: "", resources: &["configmaps", "secrets"], verbs: &["get"] },
    Permission {
        group: "autoscaling",
        resources: &["horizontalpodautoscalers"],
        verbs: &["get", "list", "watch", "create", "patch", "delete"],
    },
    Permission {
        group: "networking.k8s.io",
        resources: &["ingresses"],
        verbs: &["get", "list", "watch", "create", "patch", "delete"],
    },
    Permission {
        group: "gateway.networking.k8s.io",
        resources: &["httproutes"],
        verbs: &["get", "list", "watch", "create", "patch", "delete"],
    },
];

/// The operator: the stores that it reads, and queries for what the stores do not have.
pub struct MyAppOperator {
    stores: Stores,
    limit: OverrideLimit,
    standstills: StandstillTracker,
    api_server: Option<ApiServer>,
}

impl MyAppOperator {
    /// An operator over these caches, without queries.
    pub fn new(cache: &mut Cache) -> Self {
        Self {
            stores: Stores::new(cache),
            limit: OverrideLimit::default(),
            standstills: StandstillTracker::default(),
            api_server: None,
        }
    }

    /// Sets which pod overrides a MyApp may use.
    #[must_use]
    pub fn with_limit(self, limit: OverrideLimit) -> Self {
        Self { limit, ..self }
    }

    /// Queries the API server through `client`.
    #[must_use]
    pub fn with_client(self, client: Client) -> Self {
        let api_server = ApiServer::new(client, self.stores.apps.clone());
        Self { api_server: Some(api_server), ..self }
    }

    /// The first half of observe: what the stores have of `app`, and since when its Deployment seems to be stuck, by `now`.
    #[must_use]
    pub fn read_stores(&self, app: &Arc<MyApp>, now: Timestamp) -> Observed {
        let mut observed = self.stores.read(app, self.limit);
        observed.standstill = self.standstills.record(&observed, now, |key| self.stores.apps.get(key).is_some());
        observed
    }

    /// Both halves of observe: what the stores have of `app`, then the results of `queries`.
    pub async fn observe_with(&self, app: &Arc<MyApp>, queries: &impl Queries, now: Timestamp) -> Observed {
        let mut observed = self.read_stores(app, now);
        if app.meta.deleting {
            return observed;
        }
        // Also while the MyApp is paused: the status then reports whether everything matches the spec.
        observed.contents = contents::query(app, queries).await;
        if let Some(pod) = plan::dry_run_pod(&observed, now) {
            observed.dry_run_failure = queries.dry_run(&app.meta.key, &pod).await;
        }
        observed
    }
}

impl Operator for MyAppOperator {
    const NAME: &'static str = "my-app";
    type Object = MyApp;
    type Observed = Observed;
    type Act = Infallible;

    fn objects(&self) -> &Arc<Store<MyApp>> {
        &self.stores.apps
    }

    fn watch(&self, watches: &mut WatchBuilder) {
        self.stores.watch(watches);
    }

    async fn observe(&self, app: &Arc<MyApp>) -> Result<Observed, Error> {
        let now = runtime::clock::now();
        Ok(match &self.api_server {
            Some(api_server) => self.observe_with(app, api_server, now).await,
            None => self.read_stores(app, now),
        })
    }

    fn plan(observed: &Observed, now: Timestamp) -> Plan<api::my_app::MyAppStatus> {
        plan::plan(observed, now)
    }

    async fn act(&self, _: &Arc<MyApp>, act: Infallible) -> Result<(), Error> {
        match act {}
    }
}

#[cfg(test)]
mod testing;
