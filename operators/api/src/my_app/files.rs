//! Files and volumes of a MyApp's container, in addition to its image. There are no paths of the node and no devices.

use kube::KubeSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::environment::{FieldRef, ResourceFieldRef};

/// Read-only files from exactly one source.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = Rule::new(
    "[has(self.configMap), has(self.secret), has(self.projected) && size(self.projected) > 0].filter(x, x).size() == 1"
).message("files take exactly one of configMap, secret and projected"))]
pub struct MountedFiles {
    /// Directory of the files, or with `subPath` the file.
    #[schemars(length(max = 512))]
    #[x_kube(validation = Rule::new(MOUNT_PATH).message(MOUNT_PATH_MESSAGE))]
    pub mount_path: String,
    /// The one file of the source to mount at `mountPath`. It does not follow changes. Default: all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 512))]
    #[x_kube(validation = Rule::new(RELATIVE_PATH).message(RELATIVE_PATH_MESSAGE))]
    pub sub_path: Option<String>,
    /// ConfigMap in the same namespace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub config_map: Option<FileSource>,
    /// Secret in the same namespace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret: Option<FileSource>,
    /// Several sources in one directory.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 8))]
    #[x_kube(merge_strategy = ListMerge::Atomic)]
    pub projected: Vec<ProjectedSource>,
    /// Permission bits of the files, 0 to 0777 (511). Default: 0644.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 511))]
    pub default_mode: Option<i32>,
}

/// A ConfigMap or Secret whose entries become files.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, KubeSchema)]
pub struct FileSource {
    /// Name of the ConfigMap or Secret.
    #[schemars(length(min = 1, max = 253))]
    pub name: String,
    /// Entries to mount. Default: all, each in a file of its name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 32))]
    #[x_kube(merge_strategy = ListMerge::Atomic)]
    pub items: Vec<FileItem>,
    /// Whether pods start without it. Default: false.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub optional: Option<bool>,
}

/// An entry, and its file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, KubeSchema)]
pub struct FileItem {
    /// Name of the entry.
    #[schemars(length(min = 1, max = 253))]
    pub key: String,
    /// Path of the file, relative to the directory.
    #[schemars(length(min = 1, max = 253))]
    #[x_kube(validation = Rule::new(RELATIVE_PATH).message(RELATIVE_PATH_MESSAGE))]
    pub path: String,
    /// Permission bits of the file, 0 to 0777 (511). Default: `defaultMode`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 511))]
    pub mode: Option<i32>,
}

/// Exactly one source.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = Rule::new(
    "[has(self.configMap), has(self.secret), has(self.downwardAPI), has(self.serviceAccountToken)].filter(x, x).size() == 1"
).message("a projected source takes exactly one of configMap, secret, downwardAPI and serviceAccountToken"))]
pub struct ProjectedSource {
    /// ConfigMap in the same namespace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub config_map: Option<FileSource>,
    /// Secret in the same namespace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret: Option<FileSource>,
    /// Fields of the pod.
    #[serde(default, rename = "downwardAPI", skip_serializing_if = "Option::is_none")]
    pub downward_api: Option<DownwardApi>,
    /// Token of `serviceAccountName`; the kubelet renews it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub service_account_token: Option<TokenFile>,
}

/// Fields of the pod as files.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, KubeSchema)]
pub struct DownwardApi {
    /// Files to create.
    #[schemars(length(min = 1, max = 16))]
    #[x_kube(merge_strategy = ListMerge::Atomic)]
    pub items: Vec<DownwardFile>,
}

/// Exactly one field of the pod, and its file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = Rule::new("has(self.fieldRef) != has(self.resourceFieldRef)")
    .message("a file of downwardAPI takes exactly one of fieldRef and resourceFieldRef"))]
pub struct DownwardFile {
    /// Path of the file, relative to the directory.
    #[schemars(length(min = 1, max = 253))]
    #[x_kube(validation = Rule::new(RELATIVE_PATH).message(RELATIVE_PATH_MESSAGE))]
    pub path: String,
    /// Field such as `metadata.labels`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub field_ref: Option<FieldRef>,
    /// Request or limit of the container.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resource_field_ref: Option<ResourceFieldRef>,
}

/// A token in a file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct TokenFile {
    /// Path of the file, relative to the directory.
    #[schemars(length(min = 1, max = 253))]
    #[x_kube(validation = Rule::new(RELATIVE_PATH).message(RELATIVE_PATH_MESSAGE))]
    pub path: String,
    /// Audience of the token. Default: the API server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 1024))]
    pub audience: Option<String>,
    /// Lifetime of a token in seconds, at least 600. Default: 3600.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 600, max = 4_294_967_296_i64))]
    pub expiration_seconds: Option<i64>,
}

/// A directory that starts empty in each pod and ends with it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct ScratchVolume {
    /// Path of the directory.
    #[schemars(length(max = 512))]
    #[x_kube(validation = Rule::new(MOUNT_PATH).message(MOUNT_PATH_MESSAGE))]
    pub mount_path: String,
    /// Maximum size, as text such as `1Gi`. The kubelet evicts a pod that exceeds it.
    #[schemars(length(max = 32))]
    #[x_kube(validation = Rule::new("isQuantity(self) && quantity(self).isGreaterThan(quantity('0'))")
        .message("sizeLimit must be a quantity above 0, such as 64Mi or 1Gi"))]
    pub size_limit: String,
    /// Where the data is: by default on the node's disk; `Memory` counts toward the container's memory limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub medium: Option<Medium>,
}

/// Where the data is: by default on the node's disk; Memory counts toward the container's memory limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Medium {
    /// In memory.
    Memory,
}

/// An existing PVC, by name. The operator neither creates nor deletes it, and all pods share it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct MountedClaim {
    /// Name of the PVC, in the same namespace.
    #[schemars(length(min = 1, max = 253))]
    pub name: String,
    /// Path of the volume.
    #[schemars(length(max = 512))]
    #[x_kube(validation = Rule::new(MOUNT_PATH).message(MOUNT_PATH_MESSAGE))]
    pub mount_path: String,
    /// Directory of the volume to mount. Default: its root.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 512))]
    #[x_kube(validation = Rule::new(RELATIVE_PATH).message(RELATIVE_PATH_MESSAGE))]
    pub sub_path: Option<String>,
    /// Whether pods may only read it. Default: false.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub read_only: bool,
}

const MOUNT_PATH: &str = "self.matches('^(/[^/:]+)+$') && !self.matches('/[.][.]?(/|$)')";
const MOUNT_PATH_MESSAGE: &str =
    "mountPath must be an absolute path other than /, without ':', '.', '..', '//' or a trailing '/'";
const RELATIVE_PATH: &str = "!self.startsWith('/') && !self.matches('(^|/)[.][.](/|$)') && !self.startsWith('..')";
const RELATIVE_PATH_MESSAGE: &str = "must be a relative path without '..'";

/// No two mounts have the same path. Within a list, the path is the key.
pub(super) const DISTINCT: &str = "!(has(self.files) && self.files.exists(f, \
    (has(self.scratch) && self.scratch.exists(s, s.mountPath == f.mountPath)) || (has(self.persistentVolumeClaims) \
    && self.persistentVolumeClaims.exists(c, c.mountPath == f.mountPath)))) && !(has(self.scratch) \
    && has(self.persistentVolumeClaims) && self.scratch.exists(s, \
    self.persistentVolumeClaims.exists(c, c.mountPath == s.mountPath)))";

/// A token in a file needs a named service account.
pub(super) const TOKENS_NAMED: &str = "has(self.serviceAccountName) || !has(self.files) || self.files.all(f, \
    !has(f.projected) || f.projected.all(p, !has(p.serviceAccountToken)))";
