//! The definitions, with the finishing touches that the derive cannot make.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    CustomResourceDefinition, JSON, JSONSchemaPropsOrArray,
};
use kube::CustomResourceExt;
use serde_json::json;

use crate::{ETCD_GROUP, etcd_cluster::EtcdCluster, my_app::MyApp, sample::Sample};

/// Every definition of ours, in the order of their names.
#[must_use]
pub fn crds() -> Vec<CustomResourceDefinition> {
    let all = [EtcdCluster::crd(), MyApp::crd(), Sample::crd()];
    all.into_iter().map(never_observed_by_default).map(without_older_times).collect()
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

/// Takes the older name of a condition's time from the kinds that never had it.
fn without_older_times(mut crd: CustomResourceDefinition) -> CustomResourceDefinition {
    if crd.spec.group == ETCD_GROUP {
        return crd;
    }
    for version in &mut crd.spec.versions {
        let schema = version.schema.as_mut().and_then(|schema| schema.open_api_v3_schema.as_mut());
        let status = schema.and_then(|schema| schema.properties.as_mut()?.get_mut("status"));
        let conditions = status.and_then(|status| status.properties.as_mut()?.get_mut("conditions"));
        if let Some(JSONSchemaPropsOrArray::Schema(item)) = conditions.and_then(|list| list.items.as_mut()) {
            item.properties.get_or_insert_default().remove("lastUpdateTime");
        }
    }
    crd
}
