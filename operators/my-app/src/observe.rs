//! Reads the stores. The result depends only on them.

use std::sync::Arc;

use runtime::apply::adoption::{self, AdoptionVerdict};
use runtime::cache::{Cache, CacheEntry, Projection, Store};
use runtime::controller::WatchBuilder;
use runtime::plan::{ChildState, Owner};
use runtime::projections::{Autoscaler, Deployment, DisruptionBudget, HttpRoute, Ingress, Pod, Service};

use crate::MyApp;
use crate::plan::{Observed, OverrideLimit};

/// The stores that the operator reads.
pub(crate) struct Stores {
    pub(crate) apps: Arc<Store<MyApp>>,
    deployments: Arc<Store<Deployment>>,
    services: Arc<Store<Service>>,
    budgets: Arc<Store<DisruptionBudget>>,
    autoscalers: Arc<Store<Autoscaler>>,
    ingresses: Arc<Store<Ingress>>,
    http_routes: Arc<Store<HttpRoute>>,
    pods: Arc<Store<Pod>>,
}

impl Stores {
    /// Takes the stores of `cache`.
    pub(crate) fn new(cache: &mut Cache) -> Self {
        let (apps, http_routes) = (cache.store::<MyApp>(), cache.store::<HttpRoute>());
        let all = apps.clone();
        http_routes.health().required_while(move || all.any(wants_http_route));
        Self {
            apps,
            deployments: cache.store(),
            services: cache.store(),
            budgets: cache.store(),
            autoscalers: cache.store(),
            ingresses: cache.store(),
            http_routes,
            pods: cache.store(),
        }
    }

    /// Reconciles a MyApp on each event of its children.
    pub(crate) fn watch(&self, watches: &mut WatchBuilder) {
        watches.children(&self.deployments);
        watches.children(&self.services);
        watches.children(&self.budgets);
        watches.children(&self.autoscalers);
        watches.children(&self.ingresses);
        watches.optional_children(&self.http_routes);
        watches.children(&self.pods);
    }

    /// What the stores have of `app`, whose pod overrides `limit` restricts.
    pub(crate) fn read(&self, app: &Arc<MyApp>, limit: OverrideLimit) -> Observed {
        let key = &app.meta.key;
        let owner = Owner { kind: MyApp::KIND.qualified().into(), name: key.name.clone() };
        let deployment = self.deployments.child(key, &app.meta);
        let is_past = |pod: &Pod| deployment.owned().is_some_and(|live| live.rollout.is_past(&pod.meta));
        let pods = self.pods.owned(&key.namespace, &owner).into_iter().filter_map(CacheEntry::into_object);
        // A pod that no ReplicaSet controls any more, because its labels were edited, does not count either.
        let pods: Vec<_> = pods.filter(|pod| pod.meta.controller.is_some() && !is_past(pod)).collect();
        let failing_pods = pods.iter().filter_map(|pod| Some((pod.meta.key.name.clone(), pod.diagnosis.clone()?)));
        let starting = pods.iter().filter_map(|pod| Some((pod.meta.key.name.clone(), pod.volume_wait.clone()?)));
        // The operator does not adopt any other Deployment, so it must not apply anything to it.
        let is_adopted = |live: &Arc<Deployment>| {
            adoption::judge(&live.meta, &live.orphaned, &MyApp::KIND, &app.meta) == AdoptionVerdict::Owned
        };
        let orphan = matches!(deployment, ChildState::Absent).then(|| self.deployments.get(key)).flatten();
        if wants_http_route(app) {
            self.http_routes.health().require();
        }
        Observed {
            orphan: orphan.and_then(CacheEntry::into_object).filter(is_adopted),
            limit,
            service: self.services.child(key, &app.meta),
            budget: self.budgets.child(key, &app.meta),
            autoscaler: self.autoscalers.child(key, &app.meta),
            ingress: self.ingresses.child(key, &app.meta),
            http_route: self.http_routes.child_if_served(key, &app.meta),
            failing_pods: failing_pods.collect(),
            starting: starting.collect(),
            deployment,
            ..Observed::new(app.clone())
        }
    }
}

/// Whether the MyApp requests a route that is an HTTPRoute.
fn wants_http_route(app: &MyApp) -> bool {
    app.spec.route.as_ref().is_some_and(|route| route.gateway.is_some())
}

#[cfg(test)]
mod tests {
    use jiff::{Timestamp, ToSpan};
    use runtime::cache::Cache;
    use runtime::plan::meta::OWNER_KIND;
    use runtime::plan::{Effect, Plan};
    use serde_json::{Value, json};

    use super::*;
    use crate::MyAppOperator;
    use crate::plan::plan;

    /// The plan of a new MyApp `web` next to a Deployment of its name without a controller and with these labels.
    fn with_orphan(labels: &Value) -> Plan<api::my_app::MyAppStatus> {
        let mut cache = Cache::new(&[]);
        let operator = MyAppOperator::new(&mut cache);
        let metadata = json!({ "name": "web", "namespace": "n", "uid": "d", "resourceVersion": "1", "labels": labels });
        let deployment = json!({ "metadata": metadata, "spec": { "replicas": 3 } }).to_string();
        cache.store::<Deployment>().apply(CacheEntry::decode(&deployment).unwrap());
        let app = json!({ "metadata": { "name": "web", "namespace": "n", "uid": "u" }, "spec": { "image": "i" } });
        plan(
            &operator.read_stores(&Arc::new(MyApp::decode(&app.to_string()).unwrap()), Timestamp::UNIX_EPOCH),
            Timestamp::UNIX_EPOCH,
        )
    }

    fn labels(instance: &str) -> Value {
        json!({ "app.kubernetes.io/managed-by": "multi-operator", "app.kubernetes.io/name": "myapp",
            "app.kubernetes.io/instance": instance })
    }

    /// Such as a copy of another MyApp's Deployment: the operator would otherwise set its number of pods.
    #[test]
    fn nothing_is_applied_to_an_orphan_that_is_not_adopted() {
        let number = |plan: &Plan<_>| {
            let hand_overs =
                plan.effects.iter().filter(|effect| matches!(effect, Effect::Apply(it) if it.manager_prefix.is_some()));
            (hand_overs.count(), plan.effects.len())
        };
        assert_eq!(number(&with_orphan(&labels("web"))), (1, 2));
        assert_eq!(number(&with_orphan(&labels("other"))), (0, 1));
        assert_eq!(number(&with_orphan(&json!({ "app.kubernetes.io/managed-by": "multi-operator" }))), (0, 1));
        let copy: Plan<_> = with_orphan(&labels("other"));
        assert_eq!(
            copy.status.and_then(|status| status.ready).as_deref(),
            Some("0/1"),
            "its number of pods does not count either"
        );
    }

    /// A MyApp `web`, an operator, and its stores.
    struct AppStores {
        cache: Cache,
        operator: MyAppOperator,
        app: Arc<MyApp>,
    }

    impl AppStores {
        fn new() -> Self {
            let mut cache = Cache::new(&[]);
            let operator = MyAppOperator::new(&mut cache);
            let app = json!({ "metadata": { "name": "web", "namespace": "n", "uid": "u" },
                "spec": { "image": "i", "port": 80, "strategy": { "type": "Recreate" } } });
            let app = Arc::new(MyApp::decode(&app.to_string()).unwrap());
            Self { cache, operator, app }
        }

        /// Puts an object into its store. The object with that kind, name and uid controls it.
        fn put<V: Projection>(&mut self, name: &str, controller: (&str, &str, &str), mut object: Value) {
            let (kind, of, uid) = controller;
            let mut labels = labels("web");
            labels[OWNER_KIND] = json!(MyApp::KIND.qualified());
            let owner = json!({ "apiVersion": "apps/v1", "kind": kind, "name": of, "uid": uid, "controller": true });
            object["metadata"] = json!({ "namespace": "n", "name": name, "uid": name, "resourceVersion": "1",
                "generation": 1, "labels": labels, "ownerReferences": [owner] });
            self.cache.store::<V>().apply(CacheEntry::decode(&object.to_string()).unwrap());
        }

        /// Puts its Deployment, with this status, into the store.
        fn deployment(&mut self, status: &Value) {
            self.put::<Deployment>(
                "web",
                ("MyApp", "web", "u"),
                json!({ "spec": { "replicas": 2, "strategy": { "type": "Recreate" } }, "status": status }),
            );
        }

        fn observed(&self, now: Timestamp) -> Observed {
            self.operator.read_stores(&self.app, now)
        }
    }

    /// The failure of an earlier image does not show that the current one fails.
    #[test]
    fn pods_of_an_earlier_template_are_neither_failing_nor_starting() {
        let mut stores = AppStores::new();
        let scheduled =
            json!({ "type": "PodScheduled", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z" });
        let sandbox = json!({ "type": "PodReadyToStartContainers", "status": "False" });
        let volumes = json!([{ "name": "a", "configMap": { "name": "settings" } }]);
        let waiting = |reason: &str| {
            json!({ "spec": { "containers": [{ "name": "app", "image": "i" }], "volumes": volumes },
                "status": { "phase": "Pending", "conditions": [scheduled, sandbox],
                    "containerStatuses": [{ "name": "app", "state": { "waiting": { "reason": reason, "message": "why" } } }] } })
        };
        for set in ["web-1", "web-2"] {
            let controller = ("ReplicaSet", set, set);
            stores.put::<Pod>(&format!("{set}-failing"), controller, waiting("ImagePullBackOff"));
            stores.put::<Pod>(&format!("{set}-starting"), controller, waiting("ContainerCreating"));
        }
        let named = |observed: &Observed| {
            let failing = observed.failing_pods.iter().map(|(name, _)| name.to_string());
            failing.chain(observed.starting.iter().map(|(name, _)| name.to_string())).collect::<Vec<_>>()
        };
        let progressing =
            json!([{ "type": "Progressing", "status": "True", "message": "ReplicaSet \"web-2\" is progressing." }]);
        stores.deployment(&json!({ "observedGeneration": 1, "updatedReplicas": 2, "conditions": progressing }));
        assert_eq!(named(&stores.observed(Timestamp::UNIX_EPOCH)), ["web-2-failing", "web-2-starting"]);
        stores.deployment(&json!({ "observedGeneration": 1, "updatedReplicas": 0 }));
        assert_eq!(named(&stores.observed(Timestamp::UNIX_EPOCH)), [""; 0], "the current template has no pods yet");
    }

    /// By the clock of this process, which may differ from the API server's.
    #[test]
    fn a_standstill_starts_when_it_is_first_observed() {
        let mut stores = AppStores::new();
        let first = Timestamp::UNIX_EPOCH;
        let later = first + 10.seconds();
        let stuck = json!({ "observedGeneration": 1, "replicas": 2, "updatedReplicas": 1 });
        stores.deployment(&stuck);
        let known = stores.observed(first).standstill.expect("one");
        assert_eq!(stores.observed(later).standstill, Some(known.clone()), "it continues");
        stores.deployment(&json!({ "observedGeneration": 1, "replicas": 2, "updatedReplicas": 2 }));
        assert_eq!(stores.observed(later).standstill, None);
        stores.deployment(&stuck);
        let again = stores.observed(later).standstill.expect("another one");
        assert_ne!(again, known);
    }

    /// The plan uses this to decide whether it applies, deletes or reports.
    #[test]
    fn a_child_that_another_object_controls_is_not_owned() {
        let mut stores = AppStores::new();
        stores.put::<Service>("web", ("MyApp", "web", "another"), json!({ "spec": {} }));
        assert!(matches!(stores.observed(Timestamp::UNIX_EPOCH).service, ChildState::Absent));
        stores.put::<Service>("web", ("MyApp", "web", "u"), json!({ "spec": {} }));
        assert!(stores.observed(Timestamp::UNIX_EPOCH).service.owned().is_some());
    }
}
