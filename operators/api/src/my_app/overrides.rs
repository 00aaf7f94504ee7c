//! What goes beyond a MyApp's own fields: a pod template over its own, and what restarts pods.

use std::borrow::Cow;
use std::collections::BTreeMap;

use kube::KubeSchema;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

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

/// An object whose fields this definition does not say, as the API server writes it: parsed, some JSON takes a hundred times the room of
/// its text, and nothing but the size of objects bounds it.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct FreeObject(Option<Box<RawValue>>);

impl FreeObject {
    /// Its text.
    #[must_use]
    pub fn text(&self) -> &str {
        self.0.as_ref().map_or("{}", |text| text.get())
    }

    fn is_empty(&self) -> bool {
        self.text() == "{}"
    }
}

impl PartialEq for FreeObject {
    fn eq(&self, other: &Self) -> bool {
        self.text() == other.text()
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
    pub config_map_ref: Option<SourceRef>,
    /// A Secret of the same namespace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret_ref: Option<SourceRef>,
}

/// A ConfigMap or Secret that the operator reads, by name: the name is a part of a URL.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, KubeSchema)]
pub struct SourceRef {
    /// Its name.
    #[schemars(
        length(min = 1, max = 253),
        regex(pattern = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$")
    )]
    pub name: String,
    /// Whether it may be missing; if not, a missing one is reported (RestartSourceMissing) and replaces no pod.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub optional: Option<bool>,
}
