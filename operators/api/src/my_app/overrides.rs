//! What goes beyond a MyApp's own fields: a pod template over its own, and what restarts pods.

use std::borrow::Cow;
use std::collections::BTreeMap;

use kube::KubeSchema;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::environment::NameRef;

/// A pod template that is merged over the MyApp's own.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, KubeSchema)]
pub struct PodOverrides {
    /// Labels and annotations of pods.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<PodMetadata>,
    /// Fields of pods, as `kubectl explain pod.spec` has them; the operator checks them.
    #[serde(default, skip_serializing_if = "FreeObject::is_empty")]
    pub spec: FreeObject,
}

/// Labels and annotations of pods.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, KubeSchema)]
pub struct PodMetadata {
    /// Labels, beside those by which the pods are found.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(extend("maxProperties" = 64))]
    #[x_kube(validation = Rule::new(concat!(
        "!['app.kubernetes.io/name', 'app.kubernetes.io/instance', 'app.kubernetes.io/managed-by', ",
        "'multi-operator.example.com/owner-kind', 'multi-operator.example.com/owner-uid', ",
        "'multi-operator.example.com/whole'].exists(key, key in self)"
    )).message(
        "labels that find the pods are the operator's: app.kubernetes.io/name, instance and managed-by, \
         multi-operator.example.com/owner-kind, owner-uid and whole"
    ))]
    pub labels: BTreeMap<String, String>,
    /// Annotations.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(extend("maxProperties" = 64))]
    #[x_kube(validation = Rule::new(
        "!['kubectl.kubernetes.io/restartedAt', 'multi-operator.example.com/contents'].exists(key, key in self)"
    ).message(
        "annotations that restart pods are the operator's: annotate the MyApp with kubectl.kubernetes.io/restartedAt instead"
    ))]
    pub annotations: BTreeMap<String, String>,
}

/// An object whose fields this definition does not say.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FreeObject(pub Map<String, Value>);

impl FreeObject {
    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl JsonSchema for FreeObject {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        "FreeObject".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true })
    }
}

/// One object whose content restarts pods when it changes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = Rule::new("has(self.configMapRef) != has(self.secretRef)")
    .message("restartOn takes exactly one of configMapRef and secretRef"))]
pub struct RestartOn {
    /// A ConfigMap of the same namespace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub config_map_ref: Option<NameRef>,
    /// A Secret of the same namespace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret_ref: Option<NameRef>,
}
