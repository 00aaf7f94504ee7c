//! Looks: reads the stores.

use std::sync::Arc;

use runtime::cache::{Entry, View};
use runtime::plan::{Owner, Seen};
use runtime::views::{Deployment, Pod};

use crate::plan::{Contents, Observed};
use crate::{MyApp, MyAppOperator};

impl MyAppOperator {
    /// What the stores say of `app`.
    #[must_use]
    pub fn look(&self, app: &Arc<MyApp>) -> Observed {
        let key = &app.meta.key;
        let owner = Owner { kind: MyApp::KIND.qualified().into(), name: key.name.clone() };
        let deployment = self.deployments.child(key, &app.meta);
        let is_past = |pod: &Pod| deployment.ours().is_some_and(|live| live.rollout.is_past(&pod.meta));
        let pods = self.pods.owned(&key.namespace, &owner).into_iter().filter_map(Entry::into_object);
        // A pod that no ReplicaSet controls any more, since somebody has edited its labels, is not counted either.
        let pods: Vec<_> = pods.filter(|pod| pod.meta.controller.is_some() && !is_past(pod)).collect();
        let troubles = pods.iter().filter_map(|pod| Some((pod.meta.key.name.clone(), pod.trouble.clone()?)));
        let starting = pods.iter().filter_map(|pod| Some((pod.meta.key.name.clone(), pod.starting.clone()?)));
        let nobodys = |live: &Arc<Deployment>| live.meta.controller.is_none() && !live.meta.deleting;
        let orphan = matches!(deployment, Seen::Absent).then(|| self.deployments.get(key)).flatten();
        if is_by_gateway(app) {
            self.http_routes.health().seek();
        }
        Observed {
            orphan: orphan.and_then(Entry::into_object).filter(nobodys),
            limit: self.limit,
            contents: Contents::default(),
            refused: None,
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
pub(crate) fn is_by_gateway(app: &MyApp) -> bool {
    app.spec.route.as_ref().is_some_and(|route| route.gateway.is_some())
}
