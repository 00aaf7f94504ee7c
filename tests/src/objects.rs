//! What tests read from objects.

use api::my_app::{MyApp, MyAppPhase, MyAppStatus};
use api::sample::Sample;
use api::{Condition, Contract};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{Container, Pod};

/// A kind that this project's operators reconcile.
pub trait ManagedKind: kube::ResourceExt {
    /// The shared part of its status.
    fn contract(&self) -> Option<&Contract>;

    /// The condition of that type, judged for the present generation.
    fn condition(&self, type_: &str) -> Option<&Condition> {
        let condition = self.contract()?.condition(type_)?;
        (condition.observed_generation == self.meta().generation).then_some(condition)
    }

    /// Whether it is done: Ready is True, for the present generation.
    fn is_ready(&self) -> bool {
        let observed = self.contract().map(|contract| contract.observed_generation);
        let ready = self.contract().is_some_and(|contract| contract.is_true("Ready"));
        ready && observed == self.meta().generation && self.condition("Ready").is_some()
    }

    /// Reason and message of Ready, if it is not True.
    fn not_ready(&self) -> Option<(&str, &str)> {
        let ready = self.condition("Ready").filter(|ready| ready.status != api::ConditionStatus::True)?;
        Some((&ready.reason, &ready.message))
    }
}

impl ManagedKind for MyApp {
    fn contract(&self) -> Option<&Contract> {
        self.status.as_ref().map(|status| &status.contract)
    }
}

impl ManagedKind for Sample {
    fn contract(&self) -> Option<&Contract> {
        self.status.as_ref().map(|status| &status.contract)
    }
}

/// The status, if it speaks of the present generation.
#[must_use]
pub fn status(app: &MyApp) -> Option<&MyAppStatus> {
    app.status.as_ref().filter(|status| Some(status.contract.observed_generation) == app.metadata.generation)
}

/// The phase, if it speaks of the present generation.
#[must_use]
pub fn phase(app: &MyApp) -> Option<MyAppPhase> {
    status(app)?.phase
}

/// Whether it runs with so many pods, all ready.
#[must_use]
pub fn runs(app: &MyApp, pods: i32) -> bool {
    let counts = |status: &MyAppStatus| [status.replicas, status.ready_replicas, status.updated_replicas] == [pods; 3];
    app.is_ready() && phase(app) == Some(MyAppPhase::Running) && status(app).is_some_and(counts)
}

/// The container of the Deployment's pods.
///
/// # Panics
/// If there is none.
#[must_use]
pub fn container(deployment: &Deployment) -> &Container {
    let template = deployment.spec.as_ref().and_then(|spec| spec.template.spec.as_ref());
    template.and_then(|pods| pods.containers.first()).expect("a Deployment has a container")
}

/// The image of the Deployment's pods.
#[must_use]
pub fn image(deployment: &Deployment) -> &str {
    container(deployment).image.as_deref().unwrap_or_default()
}

/// The number of pods in the Deployment's spec.
#[must_use]
pub fn replicas(deployment: &Deployment) -> Option<i32> {
    deployment.spec.as_ref()?.replicas
}

/// Whether the pod is ready and not terminating.
#[must_use]
pub fn serves(pod: &Pod) -> bool {
    let conditions = pod.status.as_ref().and_then(|status| status.conditions.as_deref()).unwrap_or_default();
    pod.metadata.deletion_timestamp.is_none() && conditions.iter().any(|c| c.type_ == "Ready" && c.status == "True")
}
