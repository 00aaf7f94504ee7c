//! Pure: the HorizontalPodAutoscaler.

use api::my_app::{Autoscaling, Metric};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use runtime::cache::Projection;
use runtime::plan::Apply;
use runtime::plan::meta::child_meta;
use runtime::projections::{Autoscaler, Deployment};
use serde_json::{Value, json};

use crate::MyApp;
use crate::plan::free_json;

/// The default target, as in Kubernetes. The operator sends it anyway, so that it owns the field.
const CPU: IntOrString = IntOrString::Int(80);

/// The largest size of one of `spec.autoscaling.metrics`, in bytes of JSON. Valid metrics have a few hundred.
const MAX_BYTES: usize = 8 * 1024;

/// The autoscaler of `app`; `None` if it specifies none, or its metrics cannot be parsed.
pub(in crate::plan) fn autoscaler(app: &MyApp) -> Option<Apply> {
    let desired = app.spec.autoscaling.as_ref()?;
    let metrics = metrics(desired).ok()?;
    let autoscaler = json!({
        "metadata": child_meta(&MyApp::KIND, &app.meta),
        "spec": {
            "scaleTargetRef": {
                "apiVersion": Deployment::KIND.api_version(),
                "kind": Deployment::KIND.kind,
                "name": &*app.meta.key.name,
            },
            "minReplicas": desired.least(),
            "maxReplicas": desired.max,
            "metrics": metrics,
        },
    });
    Some(Apply::new(Autoscaler::KIND, app.meta.key.clone(), &autoscaler))
}

/// Why the operator neither creates nor changes the autoscaler of `app`, as a message.
pub(in crate::plan) fn unreadable_metrics(app: &MyApp) -> Option<String> {
    metrics(app.spec.autoscaling.as_ref()?).err()
}

fn metrics(desired: &Autoscaling) -> Result<Vec<Value>, String> {
    let is_set = desired.cpu.is_some() || desired.memory.is_some() || !desired.metrics.is_empty();
    let cpu = desired.cpu.as_ref().or_else(|| (!is_set).then_some(&CPU));
    let resources = [("cpu", cpu), ("memory", desired.memory.as_ref())];
    let resources = resources.into_iter().filter_map(|(name, target)| Some(Ok(resource(name, target?))));
    resources.chain(desired.metrics.iter().enumerate().map(|(at, metric)| parsed(at, metric))).collect()
}

fn parsed(at: usize, metric: &Metric) -> Result<Value, String> {
    free_json::parse(
        &format!("spec.autoscaling.metrics[{at}]"),
        metric.text(),
        MAX_BYTES,
        "remove what is not part of a metric",
    )
}

fn resource(name: &str, target: &IntOrString) -> Value {
    let utilization = |percent: i32| json!({ "type": "Utilization", "averageUtilization": percent });
    let target = match target {
        IntOrString::Int(percent) => utilization(*percent),
        IntOrString::String(text) => match text.strip_suffix('%').and_then(|percent| percent.parse().ok()) {
            Some(percent) => utilization(percent),
            None => json!({ "type": "AverageValue", "averageValue": text }),
        },
    };
    json!({ "type": "Resource", "resource": { "name": name, "target": target } })
}
