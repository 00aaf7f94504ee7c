//! Resources of a MyApp's container.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::ResourceRequirements;
use k8s_openapi::apimachinery::pkg::api::resource;
use kube::KubeSchema;
use serde::{Deserialize, Serialize};

use crate::quantity::Quantity;

/// Requests and limits of each pod, as quantities such as `250m`, `1`, `128Mi`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, KubeSchema)]
#[x_kube(validation = Rule::new(WITHIN_LIMITS).message("a request in resources.requests must not exceed its limit"))]
pub struct Resources {
    /// Resources reserved for each pod.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(extend("maxProperties" = 6))]
    #[x_kube(validation = Rule::new(QUANTITIES).message(QUANTITIES_MESSAGE))]
    pub requests: BTreeMap<String, Quantity>,
    /// Maximum for each pod.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(extend("maxProperties" = 6))]
    #[x_kube(validation = Rule::new(QUANTITIES).message(QUANTITIES_MESSAGE))]
    pub limits: BTreeMap<String, Quantity>,
}

const QUANTITIES: &str =
    "self.all(k, isQuantity(string(self[k])) && quantity(string(self[k])).compareTo(quantity('0')) >= 0)";
const QUANTITIES_MESSAGE: &str = "each value must be a quantity of 0 or more, such as 250m, 1 or 128Mi";

/// As short as possible, because CEL's cost limit counts each value as long as a request may be.
const WITHIN_LIMITS: &str = "!has(self.requests) || !has(self.limits) || self.requests.all(k, !(k in self.limits) \
    || quantity(string(self.requests[k])).compareTo(quantity(string(self.limits[k]))) <= 0)";

impl From<&Resources> for ResourceRequirements {
    fn from(given: &Resources) -> Self {
        Self { requests: quantities(&given.requests), limits: quantities(&given.limits), claims: None }
    }
}

fn quantities(given: &BTreeMap<String, Quantity>) -> Option<BTreeMap<String, resource::Quantity>> {
    let text = given.iter().map(|(name, quantity)| (name.clone(), resource::Quantity(quantity.0.clone())));
    (!given.is_empty()).then(|| text.collect())
}
