//! Looks: reads the stores.

use std::sync::Arc;

use runtime::cache::{Cache, Entry, Store, View};
use runtime::controller::Watches;
use runtime::plan::adoption::{self, Verdict};
use runtime::plan::{Owner, Seen};
use runtime::views::{Autoscaler, Deployment, DisruptionBudget, HttpRoute, Ingress, Pod, Service};

use crate::MyApp;
use crate::plan::{Contents, Limit, Observed};

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
        let asking = apps.clone();
        http_routes.health().sought_while(move || asking.any(is_by_gateway));
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
    pub(crate) fn watch(&self, watches: &mut Watches) {
        watches.children(&self.deployments);
        watches.children(&self.services);
        watches.children(&self.budgets);
        watches.children(&self.autoscalers);
        watches.children(&self.ingresses);
        watches.optional_children(&self.http_routes);
        watches.children(&self.pods);
    }

    /// What the stores say of `app`, which may override pods up to `limit`.
    pub(crate) fn look(&self, app: &Arc<MyApp>, limit: Limit) -> Observed {
        let key = &app.meta.key;
        let owner = Owner { kind: MyApp::KIND.qualified().into(), name: key.name.clone() };
        let deployment = self.deployments.child(key, &app.meta);
        let is_past = |pod: &Pod| deployment.ours().is_some_and(|live| live.rollout.is_past(&pod.meta));
        let pods = self.pods.owned(&key.namespace, &owner).into_iter().filter_map(Entry::into_object);
        // A pod that no ReplicaSet controls any more, since somebody has edited its labels, is not counted either.
        let pods: Vec<_> = pods.filter(|pod| pod.meta.controller.is_some() && !is_past(pod)).collect();
        let troubles = pods.iter().filter_map(|pod| Some((pod.meta.key.name.clone(), pod.trouble.clone()?)));
        let starting = pods.iter().filter_map(|pod| Some((pod.meta.key.name.clone(), pod.starting.clone()?)));
        // Else it is not taken over, and nothing of it is to be touched before that is known.
        let is_taken_over = |live: &Arc<Deployment>| {
            adoption::judge(&live.meta, &live.orphaned, &MyApp::KIND, &app.meta) == Verdict::Ours
        };
        let orphan = matches!(deployment, Seen::Absent).then(|| self.deployments.get(key)).flatten();
        if is_by_gateway(app) {
            self.http_routes.health().seek();
        }
        Observed {
            orphan: orphan.and_then(Entry::into_object).filter(is_taken_over),
            limit,
            contents: Contents::default(),
            refused: None,
            stand: None,
            service: self.services.child(key, &app.meta),
            budget: self.budgets.child(key, &app.meta),
            autoscaler: self.autoscalers.child(key, &app.meta),
            ingress: self.ingresses.child(key, &app.meta),
            http_route: self.http_routes.child_if_served(key, &app.meta),
            troubles: troubles.collect(),
            starting: starting.collect(),
            deployment,
            app: app.clone(),
        }
    }
}

/// Whether it asks for an HTTPRoute.
fn is_by_gateway(app: &MyApp) -> bool {
    app.spec.route.as_ref().is_some_and(|route| route.gateway.is_some())
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use runtime::cache::Cache;
    use runtime::plan::{Effect, Plan};
    use serde_json::{Value, json};

    use super::*;
    use crate::MyAppOperator;
    use crate::plan::plan;

    /// What is planned for a new MyApp `web` beside a Deployment of its name that nobody controls, with these labels.
    fn beside(labels: &Value) -> Plan<api::my_app::MyAppStatus> {
        let mut cache = Cache::new(&[]);
        let operator = MyAppOperator::new(&mut cache);
        let metadata = json!({ "name": "web", "namespace": "n", "uid": "d", "resourceVersion": "1", "labels": labels });
        let deployment = json!({ "metadata": metadata, "spec": { "replicas": 3 } }).to_string();
        cache.store::<Deployment>().apply(Entry::decode(&deployment).unwrap());
        let app = json!({ "metadata": { "name": "web", "namespace": "n", "uid": "u" }, "spec": { "image": "i" } });
        plan(&operator.look(&Arc::new(MyApp::decode(&app.to_string()).unwrap())), Timestamp::UNIX_EPOCH)
    }

    fn labels(instance: &str) -> Value {
        json!({ "app.kubernetes.io/managed-by": "multi-operator", "app.kubernetes.io/name": "myapp",
            "app.kubernetes.io/instance": instance })
    }

    /// Such as a copy of another MyApp's, which would have its number of pods applied by force.
    #[test]
    fn of_an_orphan_that_is_not_taken_over_nothing_is_applied() {
        let number = |plan: &Plan<_>| {
            let hand_overs =
                plan.effects.iter().filter(|effect| matches!(effect, Effect::Apply(it) if it.hand_over.is_some()));
            (hand_overs.count(), plan.effects.len())
        };
        assert_eq!(number(&beside(&labels("web"))), (1, 2));
        assert_eq!(number(&beside(&labels("other"))), (0, 1));
        assert_eq!(number(&beside(&json!({ "app.kubernetes.io/managed-by": "multi-operator" }))), (0, 1));
        let copy: Plan<_> = beside(&labels("other"));
        assert_eq!(copy.status.and_then(|status| status.ready).as_deref(), Some("0/1"), "nor does its number count");
    }
}
