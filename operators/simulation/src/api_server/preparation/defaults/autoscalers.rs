//! The defaults of HorizontalPodAutoscalers (`autoscaling/v2`).

use serde_json::{Value, json};

use crate::api_server::preparation::values::{default, object_at, within};

/// Adds the defaults of an autoscaler.
pub(super) fn autoscaler(autoscaler: &mut Value) {
    let Some(spec) = object_at(autoscaler, &["spec"]) else { return };
    default(spec, "minReplicas", 1);
    let target = json!({ "type": "Utilization", "averageUtilization": 80 });
    default(spec, "metrics", json!([{ "type": "Resource", "resource": { "name": "cpu", "target": target } }]));
    let Some(behavior) = within(spec, &["behavior"]) else { return };
    for direction in ["scaleUp", "scaleDown"] {
        default(behavior, direction, json!({}));
        let Some(rules) = within(behavior, &[direction]) else { continue };
        default(rules, "selectPolicy", "Max");
        let percent = json!({ "type": "Percent", "value": 100, "periodSeconds": 15 });
        if direction == "scaleUp" {
            default(rules, "stabilizationWindowSeconds", 0);
            default(rules, "policies", json!([{ "type": "Pods", "value": 4, "periodSeconds": 15 }, percent]));
        } else {
            default(rules, "policies", json!([percent]));
        }
    }
}
