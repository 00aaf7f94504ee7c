//! Observed state of a MyApp.

use kube::KubeSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Contract, ObjectStatus};

/// State of the application, in one word.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum MyAppPhase {
    /// Nothing runs yet, and nothing can be started: the Ready condition says why.
    #[default]
    Pending,
    /// Pods are starting, being replaced, or stopping.
    Progressing,
    /// All requested pods are ready and run the requested image.
    Running,
    /// The pods do not match the spec (too few, or of an earlier image), and that will not pass by itself.
    Degraded,
    /// No pods are requested, and none run.
    ScaledToZero,
    /// `spec.paused` is true.
    Paused,
}

/// Condition type: whether the controller of the Gateway or Ingress accepts what `spec.route` requests; absent without
/// it.
pub const ROUTE_ACCEPTED: &str = "RouteAccepted";

/// Condition type: whether the number of pods follows the metrics of `spec.autoscaling`; absent without it, and until
/// the autoscaler reports.
pub const SCALING_ACTIVE: &str = "ScalingActive";

/// Observed state of a MyApp.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct MyAppStatus {
    /// State of the application, in one word.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phase: Option<MyAppPhase>,
    /// Ready pods of the requested number, such as `2/3`. The operator reads the second number when it recreates a
    /// Deployment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ready: Option<String>,
    /// Pods that exist.
    #[serde(default)]
    pub replicas: i32,
    /// Pods that are ready.
    #[serde(default)]
    pub ready_replicas: i32,
    /// Pods that run the current template.
    #[serde(default)]
    pub updated_replicas: i32,
    /// Image that all pods run; until a rollout ends, the previous one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image: Option<String>,
    /// Image that `spec.rollback` gave up for `image`; absent otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rolled_back_from: Option<RolledBack>,
    /// Label selector of the pods, for autoscalers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub selector: Option<String>,
    /// The part that all kinds share.
    #[serde(flatten)]
    pub contract: Contract,
}

/// An image that the operator gave up, and does not retry until the spec changes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RolledBack {
    /// Image that failed.
    pub image: String,
    /// Generation of the object that requested it.
    pub generation: i64,
    /// Why it failed.
    #[serde(default)]
    pub message: String,
}

impl ObjectStatus for MyAppStatus {
    fn contract(&self) -> &Contract {
        &self.contract
    }
    fn contract_mut(&mut self) -> &mut Contract {
        &mut self.contract
    }
    fn mark_failed(&mut self) {
        self.phase = Some(if self.replicas == 0 { MyAppPhase::Pending } else { MyAppPhase::Degraded });
    }
}
