//! Resources of a MyApp's container.

use std::collections::BTreeMap;

use kube::KubeSchema;
use serde::{Deserialize, Serialize};

use crate::quantity::Quantity;

/// What each pod asks for and may use, as quantities such as `250m`, `1`, `128Mi`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, KubeSchema)]
#[x_kube(validation = Rule::new(WITHIN_LIMITS).message("resources.requests must not be above resources.limits"))]
pub struct Resources {
    /// What is set aside for each pod.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(extend("maxProperties" = 6))]
    #[x_kube(validation = Rule::new(QUANTITIES).message(QUANTITIES_MESSAGE))]
    pub requests: BTreeMap<String, Quantity>,
    /// What no pod may exceed.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(extend("maxProperties" = 6))]
    #[x_kube(validation = Rule::new(QUANTITIES).message(QUANTITIES_MESSAGE))]
    pub limits: BTreeMap<String, Quantity>,
}

const QUANTITIES: &str =
    "self.all(k, isQuantity(string(self[k])) && quantity(string(self[k])).compareTo(quantity('0')) >= 0)";
const QUANTITIES_MESSAGE: &str = "each value must be a quantity of 0 or more, such as 250m, 1 or 128Mi";

/// Written as short as it can be: CEL's cost limit takes each value for as long as a request may be.
const WITHIN_LIMITS: &str = "!has(self.requests) || !has(self.limits) || self.requests.all(k, !(k in self.limits) \
    || quantity(string(self.requests[k])).compareTo(quantity(string(self.limits[k]))) <= 0)";
