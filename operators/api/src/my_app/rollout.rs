//! How a rollout replaces pods of a MyApp, and how many may be unavailable.

use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use kube::KubeSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How a rollout replaces pods.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = Rule::new("!has(self.rollingUpdate) || self.?type.orValue('RollingUpdate') == 'RollingUpdate'")
    .message("strategy.rollingUpdate requires the type RollingUpdate"))]
pub struct RolloutStrategy {
    /// Type of the strategy. Default: RollingUpdate.
    #[serde(default, rename = "type", skip_serializing_if = "Option::is_none")]
    pub type_: Option<StrategyType>,
    /// Pace of a RollingUpdate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rolling_update: Option<RollingUpdate>,
}

impl RolloutStrategy {
    /// Whether all earlier pods stop before the first new one starts.
    #[must_use]
    pub fn recreates(&self) -> bool {
        self.type_ == Some(StrategyType::Recreate)
    }
}

/// Whether new pods start next to earlier ones (RollingUpdate, default) or after them (Recreate).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum StrategyType {
    /// New pods become ready while earlier ones serve.
    RollingUpdate,
    /// Earlier pods stop first: nothing serves in between, and no two versions run at a time.
    Recreate,
}

/// What happens when a rollout makes no progress for `progressDeadlineSeconds`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Rollback {
    /// The rollout stays as it is, and earlier pods keep serving.
    #[default]
    None,
    /// The pods return to the last image that was Ready, until the spec changes.
    Automatic,
}

impl Rollback {
    pub(super) fn is_none(&self) -> bool {
        *self == Self::None
    }
}

/// Pace of a RollingUpdate, as numbers of pods or percentages of `replicas`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = Rule::new(
    "!has(self.maxSurge) || !has(self.maxUnavailable) || !(string(self.maxSurge) in ['0', '0%']) \
     || !(string(self.maxUnavailable) in ['0', '0%'])"
).message("maxSurge and maxUnavailable must not both be 0: no pod could be replaced"))]
pub struct RollingUpdate {
    /// Number of pods above `replicas`. Default: 25%, rounded up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[x_kube(validation = Rule::new(COUNT_OR_PERCENT).message(COUNT_OR_PERCENT_MESSAGE))]
    pub max_surge: Option<IntOrString>,
    /// Number of pods that may be unavailable. Default: 25%, rounded down.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[x_kube(validation = Rule::new(COUNT_OR_PERCENT).message(COUNT_OR_PERCENT_MESSAGE))]
    pub max_unavailable: Option<IntOrString>,
}

/// Exactly one bound: a number of pods, or a percentage such as `25%`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = Rule::new("has(self.minAvailable) != has(self.maxUnavailable)")
    .message("disruptionBudget takes exactly one of minAvailable and maxUnavailable"))]
pub struct DisruptionBudget {
    /// Pods that must stay.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[x_kube(validation = Rule::new(COUNT_OR_PERCENT).message(COUNT_OR_PERCENT_MESSAGE))]
    pub min_available: Option<IntOrString>,
    /// Pods that a drain may take.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[x_kube(validation = Rule::new(COUNT_OR_PERCENT).message(COUNT_OR_PERCENT_MESSAGE))]
    pub max_unavailable: Option<IntOrString>,
}

const COUNT_OR_PERCENT: &str = "type(self) == int ? self >= 0 && self <= 2147483647 : (size(self) <= 4 && self.matches('^([0-9]|[1-9][0-9]|100)%$'))";
const COUNT_OR_PERCENT_MESSAGE: &str = "must be a number of pods, 0 or more, or a percentage from 0% to 100%";
