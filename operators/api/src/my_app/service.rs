//! The Service of a MyApp, except for its ports.

use std::collections::BTreeMap;

use kube::KubeSchema;
use serde::{Deserialize, Serialize};

use crate::ServiceType;

/// Type and annotations of the Service.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, KubeSchema)]
pub struct ServiceOptions {
    /// Type of the Service. Default: ClusterIP.
    #[serde(default, rename = "type", skip_serializing_if = "Option::is_none")]
    pub type_: Option<ServiceType>,
    /// Annotations of the Service.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(extend("maxProperties" = 32, "additionalProperties" = { "type": "string", "maxLength": 4096 }))]
    #[x_kube(validation = Rule::new("self.all(k, !k.startsWith('multi-operator.example.com/'))").message(
        "service.annotations: multi-operator.example.com/* are reserved for the operator: use other keys"
    ))]
    #[x_kube(validation = Rule::new("self.all(k, !format.qualifiedName().validate(k.lowerAscii()).hasValue())").message(
        "service.annotations must have valid Kubernetes annotation keys, such as team or example.com/team"
    ))]
    #[x_kube(merge_strategy = MapMerge::Granular)]
    pub annotations: BTreeMap<String, String>,
}
