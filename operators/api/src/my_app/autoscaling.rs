//! How a HorizontalPodAutoscaler sets the number of pods of a MyApp.

use std::borrow::Cow;

use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use kube::KubeSchema;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// Bounds of the number of pods, and targets within them. Default target: 80% of the requested CPU.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, KubeSchema)]
#[x_kube(validation = Rule::new("self.?min.orValue(1) <= self.max")
    .message("autoscaling.min (1 by default) must not exceed autoscaling.max"))]
pub struct Autoscaling {
    /// Minimum number of pods, 1 to 1000. Default: 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1000))]
    pub min: Option<i32>,
    /// Maximum number of pods, 1 to 1000.
    #[schemars(range(min = 1, max = 1000))]
    pub max: i32,
    /// Target CPU of the pods: a percentage of their requests, such as `80%`, or an average, such as `250m`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[x_kube(validation = Rule::new(TARGET).message(TARGET_MESSAGE))]
    pub cpu: Option<IntOrString>,
    /// Target memory of the pods: a percentage of their requests, such as `80%`, or an average, such as `256Mi`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[x_kube(validation = Rule::new(TARGET).message(TARGET_MESSAGE))]
    pub memory: Option<IntOrString>,
    /// Metrics of autoscaling/v2, at most 16, passed on unchanged.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 16))]
    #[x_kube(merge_strategy = ListMerge::Atomic)]
    pub metrics: Vec<Metric>,
}

impl Autoscaling {
    /// The minimum number of pods.
    #[must_use]
    pub fn least(&self) -> i32 {
        self.min.unwrap_or(1)
    }
}

/// A number alone is a percentage, as elsewhere.
const TARGET: &str = "type(self) == int ? self >= 1 && self <= 10000 : \
    self.matches('^[1-9][0-9]{0,3}%$') || (isQuantity(self) && quantity(self).isGreaterThan(quantity('0')))";
const TARGET_MESSAGE: &str = "must be a percentage of the pods' requests, such as 80%, or an average as a quantity \
    above 0, such as 250m or 256Mi";

/// A metric of autoscaling/v2 with any content: the API server validates it in the HorizontalPodAutoscaler. It is kept
/// as text, because parsed JSON may take a hundred times the memory.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Metric(Box<RawValue>);

impl Metric {
    /// The text.
    #[must_use]
    pub fn text(&self) -> &str {
        self.0.get()
    }
}

impl PartialEq for Metric {
    fn eq(&self, other: &Self) -> bool {
        self.text() == other.text()
    }
}

impl JsonSchema for Metric {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        "Metric".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "object",
            "description": "A metric, as `kubectl explain hpa.spec.metrics` has it.",
            "required": ["type"],
            "properties": { "type": {
                "type": "string",
                "description": "Its kind, after which the field with the rest of it is called.",
                "enum": ["Resource", "ContainerResource", "Pods", "Object", "External"],
            } },
            "x-kubernetes-preserve-unknown-fields": true,
        })
    }
}
