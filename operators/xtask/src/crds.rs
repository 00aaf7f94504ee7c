//! CRDs from the types of `api`.

use std::path::Path;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;

use crate::generated::{Generated, document};

/// What the file of a CRD is called.
pub(crate) fn file_name(crd: &CustomResourceDefinition) -> String {
    format!("{}_{}.yaml", crd.spec.group, crd.spec.names.plural)
}

pub(crate) fn files() -> Vec<Generated> {
    let named = |crd: &CustomResourceDefinition| Path::new("config/crd/bases").join(file_name(crd));
    api::crds().iter().map(|crd| (named(crd), document(crd))).collect()
}
