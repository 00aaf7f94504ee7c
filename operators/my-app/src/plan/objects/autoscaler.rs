//! The HorizontalPodAutoscaler.

use api::my_app::Autoscaling;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use runtime::cache::View;
use runtime::plan::Apply;
use runtime::plan::meta::child_meta;
use runtime::views::{Autoscaler, Deployment};
use serde_json::{Value, json};

use crate::MyApp;

/// What is aimed at where nothing is given, as Kubernetes does; sent all the same, so that it is ours.
const CPU: IntOrString = IntOrString::Int(80);

/// The autoscaler of `app`, wanted if it asks for one.
pub(in crate::plan) fn autoscaler(app: &MyApp) -> Option<Apply> {
    let wanted = app.spec.autoscaling.as_ref()?;
    let autoscaler = json!({
        "metadata": child_meta(&MyApp::KIND, &app.meta),
        "spec": {
            "scaleTargetRef": {
                "apiVersion": Deployment::KIND.api_version(),
                "kind": Deployment::KIND.kind,
                "name": &*app.meta.key.name,
            },
            "minReplicas": wanted.least(),
            "maxReplicas": wanted.max,
            "metrics": metrics(wanted),
        },
    });
    Some(Apply::new(Autoscaler::KIND, app.meta.key.clone(), &autoscaler))
}

fn metrics(wanted: &Autoscaling) -> Vec<Value> {
    let given = wanted.cpu.is_some() || wanted.memory.is_some() || !wanted.metrics.is_empty();
    let cpu = wanted.cpu.as_ref().or_else(|| (!given).then_some(&CPU));
    let resources = [("cpu", cpu), ("memory", wanted.memory.as_ref())];
    let resources = resources.into_iter().filter_map(|(name, target)| Some(resource(name, target?)));
    resources.chain(wanted.metrics.iter().map(|metric| json!(metric))).collect()
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
