//! Environment variables of a MyApp. References never leave the namespace.

use kube::KubeSchema;
use serde::{Deserialize, Serialize};

/// One environment variable.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = Rule::new("!(has(self.value) && has(self.valueFrom))")
    .message("an environment variable takes value or valueFrom, not both"))]
pub struct EnvVar {
    /// Name: letters, digits, `_`, `-` and `.`, not starting with a digit.
    #[schemars(length(min = 1, max = 253), regex(pattern = r"^[-._a-zA-Z][-._a-zA-Z0-9]*$"))]
    pub name: String,
    /// Value; `$(OTHER)` expands to the value of OTHER. Default: empty.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 32768))]
    pub value: Option<String>,
    /// Source of the value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value_from: Option<ValueFrom>,
}

/// Exactly one source of a value.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = Rule::new(
    "[has(self.configMapKeyRef), has(self.secretKeyRef), has(self.fieldRef), has(self.resourceFieldRef)]\
     .filter(x, x).size() == 1"
).message("valueFrom takes exactly one of configMapKeyRef, secretKeyRef, fieldRef and resourceFieldRef"))]
pub struct ValueFrom {
    /// Entry of a ConfigMap in the same namespace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub config_map_key_ref: Option<EnvKeyRef>,
    /// Entry of a Secret in the same namespace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret_key_ref: Option<EnvKeyRef>,
    /// Field of the pod itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub field_ref: Option<FieldRef>,
    /// Request or limit of the container.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resource_field_ref: Option<ResourceFieldRef>,
}

/// One entry of a ConfigMap or Secret.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, KubeSchema)]
pub struct EnvKeyRef {
    /// Name of the ConfigMap or Secret.
    #[schemars(length(min = 1, max = 253))]
    pub name: String,
    /// Name of the entry.
    #[schemars(length(min = 1, max = 253))]
    pub key: String,
    /// Whether pods start without it. Default: false.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub optional: Option<bool>,
}

/// A field of the pod.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct FieldRef {
    /// Path of the field, such as `metadata.name`, `status.podIP` or `spec.nodeName`.
    #[schemars(length(min = 1, max = 253))]
    pub field_path: String,
}

/// A request or limit of the container. An unset limit is what the node has.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, KubeSchema)]
#[x_kube(validation = Rule::new(
    "!has(self.divisor) || self.divisor == '1' || (self.divisor == '1m') == self.resource.endsWith('cpu')"
).message("divisor must be 1 or 1m for cpu, and 1, 1k, 1M, 1G, 1T, 1P, 1E, 1Ki, 1Mi, 1Gi, 1Ti, 1Pi or 1Ei for all \
    others"))]
pub struct ResourceFieldRef {
    /// Resource to read, such as `limits.memory`.
    #[schemars(length(max = 32), extend("enum" = [
        "limits.cpu", "limits.memory", "limits.ephemeral-storage",
        "requests.cpu", "requests.memory", "requests.ephemeral-storage",
    ]))]
    pub resource: String,
    /// Unit of the value, which is rounded up. Default: 1 (a core, a byte).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 3), extend("enum" = [
        "1", "1m", "1k", "1M", "1G", "1T", "1P", "1E", "1Ki", "1Mi", "1Gi", "1Ti", "1Pi", "1Ei",
    ]))]
    pub divisor: Option<String>,
}

/// All entries of one ConfigMap or Secret.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = Rule::new("has(self.configMapRef) != has(self.secretRef)")
    .message("envFrom takes exactly one of configMapRef and secretRef"))]
pub struct EnvFrom {
    /// Prefix of each name. Default: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 253), regex(pattern = r"^[-._a-zA-Z][-._a-zA-Z0-9]*$"))]
    pub prefix: Option<String>,
    /// ConfigMap in the same namespace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub config_map_ref: Option<NameRef>,
    /// Secret in the same namespace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret_ref: Option<NameRef>,
}

/// A ConfigMap or Secret, by name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, KubeSchema)]
pub struct NameRef {
    /// Name of the ConfigMap or Secret.
    #[schemars(length(min = 1, max = 253))]
    pub name: String,
    /// Whether pods start without it. Default: false.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub optional: Option<bool>,
}
