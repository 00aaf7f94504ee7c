//! The definitions, with the finishing touches that the derive cannot make.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{CustomResourceDefinition, JSON};
use kube::CustomResourceExt;
use serde_json::json;

use crate::{my_app::MyApp, sample::Sample};

/// Every definition of ours, in the order of their names.
#[must_use]
pub fn crds() -> Vec<CustomResourceDefinition> {
    [MyApp::crd(), Sample::crd()].into_iter().map(never_observed_by_default).collect()
}

/// Gives `status` the default `{observedGeneration: -1}`, so that nobody takes an untouched object for a finished one
/// (kstatus and Argo CD compare `observedGeneration` with the generation).
fn never_observed_by_default(mut crd: CustomResourceDefinition) -> CustomResourceDefinition {
    for version in &mut crd.spec.versions {
        let status = version
            .schema
            .as_mut()
            .and_then(|schema| schema.open_api_v3_schema.as_mut())
            .and_then(|schema| schema.properties.as_mut())
            .and_then(|properties| properties.get_mut("status"))
            .expect("every kind of ours has a status");
        status.default = Some(JSON(json!({ "observedGeneration": -1 })));
        status.nullable = None;
    }
    crd
}
