//! CRDs from the types of `api`.

use crate::generated::{Generated, document};

pub(crate) fn files() -> Vec<Generated> {
    let named = |crd| {
        let crd: &k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition = crd;
        format!("config/crd/bases/{}_{}.yaml", crd.spec.group, crd.spec.names.plural)
    };
    api::crds().iter().map(|crd| (named(crd).into(), document(crd))).collect()
}
