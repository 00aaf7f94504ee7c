//! The operator of MyApp: a stateless application as a Deployment.
//!
//! A MyApp's Deployment bears its name. `port` or `ports` adds a Service, `disruptionBudget` a PodDisruptionBudget,
//! `autoscaling` a HorizontalPodAutoscaler, `route` an HTTPRoute or an Ingress; taking the field away takes the object away.
//! How pods are replaced is the Deployment's own business, by `strategy`. What keeps pods from serving (an image that cannot be
//! pulled, a crash, a quota) is read from the Deployment and from the pods in trouble, and told in the MyApp's conditions.
//! Deletion is left to garbage collection, so there is no finalizer.

use std::convert::Infallible;
use std::sync::Arc;

use jiff::Timestamp;
use kube::Client;
use runtime::cache::{Cache, Store};
use runtime::controller::Watches;
use runtime::permissions::Permission;
use runtime::plan::Plan;
use runtime::{Error, Operator};

mod kind;
mod observe;
pub mod plan;
mod sources;
mod stands;
mod trials;

pub use kind::{MyApp, MyAppKind};
use observe::Stores;
use plan::{Limit, Observed};
use sources::Sources;
use stands::Stands;
use trials::Trials;

/// What the controller may do in each watched namespace.
pub const PERMISSIONS: &[Permission] = &[
    Permission { group: api::GROUP, resources: &["myapps"], verbs: &["get", "list", "watch"] },
    Permission { group: api::GROUP, resources: &["myapps/status"], verbs: &["patch"] },
    // Owner references that block deletion need it where OwnerReferencesPermissionEnforcement is on (OpenShift).
    Permission { group: api::GROUP, resources: &["myapps/finalizers"], verbs: &["update"] },
    // `delete` is not used, but that same plugin asks for it of whoever adopts an orphan.
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
    // `create` is for dry runs of pods with `podOverrides` alone.
    Permission { group: "", resources: &["pods"], verbs: &["list", "watch", "create"] },
    // What `restartOn` names, by name.
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

/// The operator: the stores that it reads, and what it asks the API server for.
pub struct MyAppOperator {
    stores: Stores,
    limit: Limit,
    stands: Stands,
    server: Option<Server>,
}

/// What the API server is asked beside the caches.
struct Server {
    trials: Trials,
    sources: Sources,
}

impl MyAppOperator {
    /// An operator over these caches, which asks nobody else.
    pub fn new(cache: &mut Cache) -> Self {
        Self { stores: Stores::new(cache), limit: Limit::default(), stands: Stands::default(), server: None }
    }

    /// What the stores say of `app`.
    #[must_use]
    pub fn look(&self, app: &Arc<MyApp>) -> Observed {
        self.stores.look(app, self.limit)
    }

    /// It lets MyApps override that much of pods.
    #[must_use]
    pub fn with_limit(self, limit: Limit) -> Self {
        Self { limit, ..self }
    }

    /// It asks the API server about pods with overrides, and for what restarts pods.
    #[must_use]
    pub fn asking(self, client: Client) -> Self {
        let server = Server { trials: Trials::new(client.clone()), sources: Sources::new(client) };
        Self { server: Some(server), ..self }
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

    fn watch(&self, watches: &mut Watches) {
        self.stores.watch(watches);
    }

    async fn observe(&self, app: &Arc<MyApp>) -> Result<Observed, Error> {
        let mut observed = self.look(app);
        observed.stand = self.stands.look(&observed, Timestamp::now(), |key| self.stores.apps.get(key).is_some());
        if let Some(server) = self.server.as_ref().filter(|_| !app.meta.deleting) {
            // While it is paused as well: whether all is as asked is told then, too.
            observed.contents = server.sources.look(app).await;
            if let Some(trial) = plan::trial(&observed, Timestamp::now()) {
                server.trials.retain(|key| self.stores.apps.get(key).is_some());
                observed.refused = server.trials.ask(&app.meta.key, &trial).await;
            }
        }
        Ok(observed)
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
