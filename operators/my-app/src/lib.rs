//! The operator of MyApp: a stateless application as a Deployment.
//!
//! A MyApp's Deployment bears its name. `port` or `ports` adds a Service, `disruptionBudget` a PodDisruptionBudget,
//! `autoscaling` a HorizontalPodAutoscaler, `route` an HTTPRoute or an Ingress; taking the field away takes the object away. How pods are replaced is the Deployment's own business, by `strategy`. What keeps
//! pods from serving (an image that cannot be pulled, a crash, a quota) is read from the Deployment and from the pods in trouble,
//! and told in the MyApp's conditions. Deletion is left to garbage collection, so there is no finalizer.

use std::convert::Infallible;
use std::sync::Arc;

use jiff::Timestamp;
use runtime::cache::{Cache, Store};
use runtime::controller::Watches;
use runtime::permissions::Permission;
use runtime::plan::{Kind, Plan};
use runtime::views::{Autoscaler, Custom, CustomKind, Deployment, DisruptionBudget, HttpRoute, Ingress, Pod, Service};
use runtime::{Error, Operator};

mod observe;
pub mod plan;

use plan::Observed;

/// The kind MyApp.
#[derive(Debug)]
pub enum MyAppKind {}

impl CustomKind for MyAppKind {
    const KIND: Kind = Kind { group: api::GROUP, version: "v1", kind: "MyApp", plural: "myapps" };
    type Spec = api::my_app::MyAppSpec;
    type Status = api::my_app::MyAppStatus;
}

/// A MyApp as the planner sees it.
pub type MyApp = Custom<MyAppKind>;

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
    Permission { group: "", resources: &["pods"], verbs: &["list", "watch"] },
];

/// The stores that the operator reads.
pub struct MyAppOperator {
    apps: Arc<Store<MyApp>>,
    deployments: Arc<Store<Deployment>>,
    services: Arc<Store<Service>>,
    budgets: Arc<Store<DisruptionBudget>>,
    autoscalers: Arc<Store<Autoscaler>>,
    ingresses: Arc<Store<Ingress>>,
    http_routes: Arc<Store<HttpRoute>>,
    pods: Arc<Store<Pod>>,
}

impl MyAppOperator {
    /// An operator over these caches.
    pub fn new(cache: &mut Cache) -> Self {
        Self {
            apps: cache.store(),
            deployments: cache.store(),
            services: cache.store(),
            budgets: cache.store(),
            autoscalers: cache.store(),
            ingresses: cache.store(),
            http_routes: cache.store(),
            pods: cache.store(),
        }
    }
}

impl Operator for MyAppOperator {
    const NAME: &'static str = "my-app";
    type Object = MyApp;
    type Observed = Observed;
    type Act = Infallible;

    fn objects(&self) -> &Arc<Store<MyApp>> {
        &self.apps
    }

    fn watch(&self, watches: &mut Watches) {
        watches.children(&self.deployments);
        watches.children(&self.services);
        watches.children(&self.budgets);
        watches.children(&self.autoscalers);
        watches.children(&self.ingresses);
        watches.optional_children(&self.http_routes);
        watches.children(&self.pods);
    }

    async fn observe(&self, app: &Arc<MyApp>) -> Result<Observed, Error> {
        Ok(self.look(app))
    }

    fn plan(observed: &Observed, now: Timestamp) -> Plan<api::my_app::MyAppStatus> {
        plan::plan(observed, now)
    }

    async fn act(&self, _: &Arc<MyApp>, act: Infallible) -> Result<(), Error> {
        match act {}
    }
}
