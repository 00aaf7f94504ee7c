//! What goes beyond a MyApp's own fields: pod template overrides, and objects that restart pods.

use std::borrow::Cow;
use std::collections::BTreeMap;

use kube::KubeSchema;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// A pod template that the operator merges over its own.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, KubeSchema)]
pub struct PodOverrides {
    /// Labels and annotations of pods.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<PodMetadata>,
    /// Pod fields, as in `kubectl explain pod.spec`; the operator checks them.
    #[serde(default, skip_serializing_if = "FreeObject::is_empty")]
    pub spec: FreeObject,
}

/// Labels and annotations of pods.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, KubeSchema)]
pub struct PodMetadata {
    /// Labels of pods, except those that select the pods.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(extend("maxProperties" = 64))]
    #[x_kube(validation = Rule::new(concat!(
        "!['app.kubernetes.io/name', 'app.kubernetes.io/instance', 'app.kubernetes.io/managed-by', ",
        "'multi-operator.example.com/owner-kind', 'multi-operator.example.com/owner-uid', ",
        "'multi-operator.example.com/whole'].exists(key, key in self)"
    )).message(
        "labels that select the pods are reserved for the operator: app.kubernetes.io/name, instance and managed-by, \
         multi-operator.example.com/owner-kind, owner-uid and whole"
    ))]
    pub labels: BTreeMap<String, String>,
    /// Annotations of pods.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(extend("maxProperties" = 64))]
    #[x_kube(validation = Rule::new(
        "!['kubectl.kubernetes.io/restartedAt', 'multi-operator.example.com/contents'].exists(key, key in self)"
    ).message(
        "annotations that restart pods are reserved for the operator: annotate the MyApp with \
         kubectl.kubernetes.io/restartedAt instead"
    ))]
    pub annotations: BTreeMap<String, String>,
}

/// An object without a schema, kept as the text that the API server writes: some JSON takes a hundred times as much
/// memory once parsed, and only the size of objects bounds it.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct FreeObject(Option<Box<RawValue>>);

impl FreeObject {
    /// The text.
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

/// An object whose content restarts pods when it changes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = Rule::new("has(self.configMapRef) != has(self.secretRef)")
    .message("restartOn takes exactly one of configMapRef and secretRef"))]
pub struct RestartOn {
    /// ConfigMap in the same namespace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub config_map_ref: Option<SourceRef>,
    /// Secret in the same namespace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret_ref: Option<SourceRef>,
}

/// A ConfigMap or Secret that the operator reads, by name, which becomes part of a URL.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, KubeSchema)]
pub struct SourceRef {
    /// Name of the ConfigMap or Secret.
    #[schemars(
        length(min = 1, max = 253),
        regex(pattern = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$")
    )]
    pub name: String,
    /// Whether it may be missing. Default: false; a missing one is reported (RestartSourceMissing) and replaces no pod.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub optional: Option<bool>,
}
