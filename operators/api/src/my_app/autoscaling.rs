//! How many pods of a MyApp run, left to a HorizontalPodAutoscaler.

use std::borrow::Cow;

use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use kube::KubeSchema;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// Bounds of the number of pods, and what decides between them: 80 % of the CPU requested, unless something is given.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, KubeSchema)]
#[x_kube(validation = Rule::new("self.?min.orValue(1) <= self.max")
    .message("autoscaling.min (1 by default) must not be above autoscaling.max"))]
pub struct Autoscaling {
    /// The fewest pods; 1 by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1000))]
    pub min: Option<i32>,
    /// The most pods.
    #[schemars(range(min = 1, max = 1000))]
    pub max: i32,
    /// CPU that pods are to use: a percentage of what they request, such as `80%`, or an average, such as `250m`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[x_kube(validation = Rule::new(TARGET).message(TARGET_MESSAGE))]
    pub cpu: Option<IntOrString>,
    /// Memory that pods are to use: a percentage of what they request, such as `80%`, or an average, such as `256Mi`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[x_kube(validation = Rule::new(TARGET).message(TARGET_MESSAGE))]
    pub memory: Option<IntOrString>,
    /// Metrics as a HorizontalPodAutoscaler of autoscaling/v2 has them, passed on as they are.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 16))]
    #[x_kube(merge_strategy = ListMerge::Atomic)]
    pub metrics: Vec<Metric>,
}

impl Autoscaling {
    /// The fewest pods.
    #[must_use]
    pub fn least(&self) -> i32 {
        self.min.unwrap_or(1)
    }
}

/// A number alone is a percentage, as it is elsewhere.
const TARGET: &str = "type(self) == int ? self >= 1 && self <= 10000 : \
    self.matches('^[1-9][0-9]{0,3}%$') || (isQuantity(self) && quantity(self).isGreaterThan(quantity('0')))";
const TARGET_MESSAGE: &str = "must be a percentage of what pods request, such as 80%, or an average of them as a quantity above 0, such \
    as 250m or 256Mi";

/// A metric of autoscaling/v2, whatever is in it: the API server judges it with the HorizontalPodAutoscaler. It is kept as text, since
/// parsed it may take a hundred times the room.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Metric(Box<RawValue>);

impl Metric {
    /// Its text.
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
