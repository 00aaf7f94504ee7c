//! Pure: the observed state. Pure data.

use std::sync::Arc;

use api::ReconcileReason;
use runtime::plan::ChildState;
use runtime::plan::child::Served;
use runtime::projections::{
    Autoscaler, Deployment, DisruptionBudget, HttpRoute, Ingress, PodDiagnosis, Service, Starting,
};

use super::contents::{Contents, DryRunFailure};
use super::overrides::Limit;
use super::standstill::Standstill;
use crate::MyApp;

/// A MyApp and what belongs to it.
#[derive(Debug)]
pub struct Observed {
    /// The object itself.
    pub app: Arc<MyApp>,
    /// Its Deployment.
    pub deployment: ChildState<Deployment>,
    /// Its Service, desired if it has a port.
    pub service: ChildState<Service>,
    /// Its PodDisruptionBudget, desired if the spec has one.
    pub budget: ChildState<DisruptionBudget>,
    /// Its HorizontalPodAutoscaler, desired if the spec has one.
    pub autoscaler: ChildState<Autoscaler>,
    /// Its Ingress, desired if it has a route and names no gateway.
    pub ingress: ChildState<Ingress>,
    /// Its HTTPRoute, desired if it has a route that names a gateway.
    pub http_route: Served<HttpRoute>,
    /// Its failing pods of the current template, by name.
    pub failing_pods: Vec<(Arc<str>, PodDiagnosis)>,
    /// Those that wait for their volumes, by name.
    pub starting: Vec<(Arc<str>, Starting)>,
    /// A Deployment of its name without a controller: the next apply adopts it.
    pub orphan: Option<Arc<Deployment>>,
    /// Which pod overrides it may use.
    pub limit: Limit,
    /// What is known of the objects whose content restarts its pods.
    pub contents: Contents,
    /// A dry run of a pod with its overrides that the API server refused or did not answer.
    pub dry_run_failure: Option<DryRunFailure>,
    /// Since when this process has observed its Deployment at a standstill, if it seems to be at one.
    pub standstill: Option<Standstill>,
}

impl Observed {
    /// The Deployment that pods run by, or will once it is taken over.
    pub(super) fn live_deployment(&self) -> Option<&Deployment> {
        match &self.deployment {
            ChildState::Owned(live) => Some(&live.view),
            ChildState::Absent => self.orphan.as_deref(),
            ChildState::Terminating | ChildState::Undecodable(_) => None,
        }
    }

    /// Why not everything that its pods depend on can be judged now, as a message.
    #[must_use]
    pub fn obstacle(&self) -> Option<(ReconcileReason, String)> {
        let deployment = self.deployment.obstacle("Deployment");
        let service = || self.service.obstacle("Service");
        deployment.or_else(service).or_else(|| self.budget.obstacle("PodDisruptionBudget"))
    }
}
