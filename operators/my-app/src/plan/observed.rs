//! Pure: the observed state.

use std::sync::Arc;

use api::ReconcileReason;
use runtime::plan::ChildState;
use runtime::plan::child::Served;
use runtime::projections::{
    Autoscaler, Deployment, DisruptionBudget, HttpRoute, Ingress, PodDiagnosis, Service, VolumeWait,
};

use super::contents::{DryRunFailure, RestartContents};
use super::overrides::OverrideLimit;
use super::standstill::Standstill;
use crate::MyApp;

/// A MyApp, its children, and what else its plan depends on.
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
    /// Its pods of the current template that wait for their volumes, by name.
    pub starting: Vec<(Arc<str>, VolumeWait)>,
    /// A Deployment of its name without a controller: the next apply adopts it.
    pub orphan: Option<Arc<Deployment>>,
    /// Which pod overrides it may use.
    pub limit: OverrideLimit,
    /// What is known of the objects whose content restarts its pods.
    pub contents: RestartContents,
    /// A dry run of a pod with its overrides that the API server rejected or did not answer.
    pub dry_run_failure: Option<DryRunFailure>,
    /// Since when its Deployment seems to be stuck, if it does.
    pub standstill: Option<Standstill>,
}

impl Observed {
    /// `app` without children.
    #[must_use]
    pub fn new(app: Arc<MyApp>) -> Self {
        Self {
            app,
            deployment: ChildState::Absent,
            service: ChildState::Absent,
            budget: ChildState::Absent,
            autoscaler: ChildState::Absent,
            ingress: ChildState::Absent,
            http_route: Served::Child(ChildState::Absent),
            failing_pods: Vec::new(),
            starting: Vec::new(),
            orphan: None,
            limit: OverrideLimit::default(),
            contents: RestartContents::default(),
            dry_run_failure: None,
            standstill: None,
        }
    }

    /// The Deployment that creates the pods, or will once the operator has adopted it.
    pub(super) fn live_deployment(&self) -> Option<&Deployment> {
        match &self.deployment {
            ChildState::Owned(live) => Some(&live.view),
            ChildState::Absent => self.orphan.as_deref(),
            ChildState::Terminating | ChildState::Undecodable(_) => None,
        }
    }

    /// Which object that its pods depend on cannot be observed or changed now: a reason, and a message.
    #[must_use]
    pub fn obstacle(&self) -> Option<(ReconcileReason, String)> {
        let deployment = self.deployment.blocking_reason("Deployment");
        let service = || self.service.blocking_reason("Service");
        deployment.or_else(service).or_else(|| self.budget.blocking_reason("PodDisruptionBudget"))
    }
}
