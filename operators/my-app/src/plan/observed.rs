//! What was seen. Pure data.

use std::sync::Arc;

use api::ReconcileReason;
use runtime::plan::Seen;
use runtime::plan::seen::Served;
use runtime::plan::trouble::Trouble;
use runtime::plan::trouble::starting::Starting;
use runtime::views::{Autoscaler, Deployment, DisruptionBudget, HttpRoute, Ingress, Service};

use super::contents::{Contents, Refused};
use super::overrides::Limit;
use super::stand::Stand;
use crate::MyApp;

/// A MyApp and what belongs to it.
#[derive(Debug)]
pub struct Observed {
    /// The object itself.
    pub app: Arc<MyApp>,
    /// Its Deployment.
    pub deployment: Seen<Deployment>,
    /// Its Service, wanted if it has a port.
    pub service: Seen<Service>,
    /// Its PodDisruptionBudget, wanted if it asks for one.
    pub budget: Seen<DisruptionBudget>,
    /// Its HorizontalPodAutoscaler, wanted if it asks for one.
    pub autoscaler: Seen<Autoscaler>,
    /// Its Ingress, wanted if it has a route and names no gateway.
    pub ingress: Seen<Ingress>,
    /// Its HTTPRoute, wanted if it has a route that names a gateway.
    pub http_route: Served<HttpRoute>,
    /// Its pods of the present template that are in trouble, by name.
    pub troubles: Vec<(Arc<str>, Trouble)>,
    /// Those that wait for their volumes, by name.
    pub starting: Vec<(Arc<str>, Starting)>,
    /// A Deployment of its name that nobody controls: the next apply takes it over.
    pub orphan: Option<Arc<Deployment>>,
    /// What of pods it may override.
    pub limit: Limit,
    /// What is known of the objects whose content restarts its pods.
    pub contents: Contents,
    /// That the API server would not take pods with its overrides, or does not say.
    pub refused: Option<Refused>,
    /// What this process has seen of its Deployment, if that seems to be at a standstill.
    pub stand: Option<Stand>,
}

impl Observed {
    /// The Deployment that pods run by, or will once it is taken over.
    pub(super) fn live_deployment(&self) -> Option<&Deployment> {
        match &self.deployment {
            Seen::Ours(live) => Some(&live.view),
            Seen::Absent => self.orphan.as_deref(),
            Seen::Leaving | Seen::Unreadable(_) => None,
        }
    }

    /// Why not everything that its pods depend on can be judged now, in words.
    #[must_use]
    pub fn obstacle(&self) -> Option<(ReconcileReason, String)> {
        let deployment = self.deployment.obstacle("Deployment");
        let service = || self.service.obstacle("Service");
        deployment.or_else(service).or_else(|| self.budget.obstacle("PodDisruptionBudget"))
    }
}
