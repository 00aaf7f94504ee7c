//! What is known of a MyApp.

use kube::KubeSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Contract, Status};

/// Where the application stands, in one word.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Phase {
    /// Nothing runs yet, and nothing can be started now: the Ready condition says why.
    #[default]
    Pending,
    /// Pods are being started, replaced or stopped.
    Progressing,
    /// All pods asked for are ready and run the image asked for.
    Running,
    /// Not all is as asked for (too few pods, or pods of an earlier image), and that will not change by itself.
    Degraded,
    /// No pods are asked for, and none run.
    ScaledToZero,
    /// `spec.paused` is true.
    Paused,
}

/// Condition type: whether the way in from outside that `spec.route` asks for is open, by the word of the Gateway's or the Ingress's
/// controller; absent without it.
pub const ROUTE_ACCEPTED: &str = "RouteAccepted";

/// Condition type: whether the number of pods follows the metrics of `spec.autoscaling`; absent without it, and until the autoscaler
/// has looked.
pub const SCALING_ACTIVE: &str = "ScalingActive";

/// What is known of a MyApp.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct MyAppStatus {
    /// Where the application stands, in one word.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phase: Option<Phase>,
    /// Ready pods of those asked for, for example `2/3`. The operator reads the second number back when a Deployment is created again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ready: Option<String>,
    /// Pods that exist.
    #[serde(default)]
    pub replicas: i32,
    /// Pods that are ready.
    #[serde(default)]
    pub ready_replicas: i32,
    /// Pods that run the present template.
    #[serde(default)]
    pub updated_replicas: i32,
    /// The image that all pods run; until a rollout has ended, the one before it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image: Option<String>,
    /// What the pods have returned from to `image`, by `spec.rollback`; absent otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rolled_back_from: Option<RolledBack>,
    /// The pods' label selector, as autoscalers read it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub selector: Option<String>,
    /// The part that every kind shares.
    #[serde(flatten)]
    pub contract: Contract,
}

/// An image that was given up, and is not tried again until the spec changes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RolledBack {
    /// The image.
    pub image: String,
    /// The generation of the object for which it is given up.
    pub generation: i64,
    /// What it failed of, in words.
    #[serde(default)]
    pub message: String,
}

impl Status for MyAppStatus {
    fn contract(&self) -> &Contract {
        &self.contract
    }
    fn contract_mut(&mut self) -> &mut Contract {
        &mut self.contract
    }
    fn fall_short(&mut self) {
        self.phase = Some(if self.replicas == 0 { Phase::Pending } else { Phase::Degraded });
    }
}
