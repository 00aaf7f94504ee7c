//! EtcdCluster: a cluster of etcd members, as the archived coreos/etcd-operator knew it (`v1beta2`), and more.
//!
//! The fields of that operator keep their exact JSON keys, so that its manifests apply unchanged.

use std::collections::BTreeMap;

use kube::{CustomResource, KubeSchema};
use serde::{Deserialize, Serialize};

mod options;
mod pod;
mod status;
mod storage;
mod tls;

pub use options::ALLOWED_OPTIONS;
pub use pod::PodPolicy;
pub use status::{EtcdClusterStatus, MemberRole, MemberStatus, Members, Phase, StorageStatus};
pub use storage::{OnDelete, Storage};
pub use tls::{MemberSecret, StaticTls, TlsPolicy};

/// The annotation that says which kind of install looks after a cluster.
pub const SCOPE: &str = "etcd.database.coreos.com/scope";
/// Its one value.
pub const CLUSTERWIDE: &str = "clusterwide";
/// Where images come from unless the spec says so.
pub const DEFAULT_REPOSITORY: &str = "quay.io/coreos/etcd";
/// The version of a cluster that asks for none. Latched in its status at creation.
pub const DEFAULT_VERSION: &str = "3.6.16";

/// What etcd cluster to run.
#[derive(CustomResource, KubeSchema, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[kube(
    group = "etcd.database.coreos.com",
    version = "v1beta2",
    kind = "EtcdCluster",
    plural = "etcdclusters",
    shortname = "etcd",
    namespaced,
    status = "EtcdClusterStatus",
    scale(
        spec_replicas_path = ".spec.size",
        status_replicas_path = ".status.size",
        label_selector_path = ".status.selector"
    ),
    printcolumn(name = "Size", type_ = "integer", json_path = ".spec.size"),
    printcolumn(name = "Ready", type_ = "string", json_path = ".status.ready"),
    printcolumn(name = "Version", type_ = "string", json_path = ".status.currentVersion"),
    printcolumn(name = "Phase", type_ = "string", json_path = ".status.phase"),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp"),
    printcolumn(name = "Leader", type_ = "string", json_path = ".status.leader", priority = 1),
    printcolumn(name = "DB size", type_ = "string", json_path = ".status.dbSize", priority = 1),
    validation = Rule::new("self.metadata.name.matches('^[a-z]([-a-z0-9]{0,50}[a-z0-9])?$')").message(
        "metadata.name must be 1 to 52 lower-case letters, digits or '-', start with a letter and end with a letter or \
         digit: services and members are named after it"
    ),
    doc = "An EtcdCluster is a cluster of etcd members, each a pod with a volume of its own."
)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = Rule::new(
    "!has(self.storage) || !has(self.pod) || !has(self.pod.persistentVolumeClaimSpec)"
).message("spec.storage and spec.pod.persistentVolumeClaimSpec both say what volumes to make: give one of them"))]
#[x_kube(validation = Rule::new(
    "(has(self.storage) && has(self.storage.ephemeral) && self.storage.ephemeral) == \
     (has(oldSelf.storage) && has(oldSelf.storage.ephemeral) && oldSelf.storage.ephemeral)"
).message("spec.storage.ephemeral cannot be changed: members would lose their data; make a new cluster"))]
#[x_kube(validation = Rule::new(
    "!has(oldSelf.pod) || !has(oldSelf.pod.persistentVolumeClaimSpec) || \
     (has(self.pod) && has(self.pod.persistentVolumeClaimSpec)) || has(self.storage)"
).message("spec.pod.persistentVolumeClaimSpec cannot be taken away: members keep their volumes"))]
pub struct EtcdClusterSpec {
    /// How many members to run, 1 to 7. Even numbers tolerate no more failures than the odd number below them.
    #[schemars(range(min = 1, max = 7))]
    pub size: i32,

    /// The version of etcd, such as `3.6.16` (a leading `v` is allowed). A change rolls one member at a time, along
    /// etcd's own rules: one minor version up at a time, never down. Unset, a current version is chosen at creation
    /// and kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 64))]
    #[x_kube(validation = Rule::new("self.matches('^v?(0|[1-9][0-9]*)[.](0|[1-9][0-9]*)[.](0|[1-9][0-9]*)(-[0-9A-Za-z.-]+)?$')")
        .message("version must be a version of etcd such as 3.6.16 or v3.6.16"))]
    pub version: Option<String>,

    /// The image without its tag, which is `v<version>`. Default: quay.io/coreos/etcd.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 384))]
    #[x_kube(validation = Rule::new(REPOSITORY)
        .message("repository must be an image's name without tag or digest, such as quay.io/coreos/etcd"))]
    pub repository: Option<String>,

    /// Whether to leave everything as it is: nothing is created, changed, healed or upgraded until this is false again.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub paused: bool,

    /// How the members' pods look. A change rolls the members one at a time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pod: Option<PodPolicy>,

    /// TLS between members and towards clients. Not built yet: a cluster that asks for it is refused with a condition.
    #[serde(default, rename = "TLS", skip_serializing_if = "Option::is_none")]
    pub tls: Option<TlsPolicy>,

    /// Where members keep their data. Unset: a volume of the default StorageClass each, or, where there is none, the
    /// pod's own disk, which is lost with the pod (condition Durable=False).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub storage: Option<Storage>,

    /// Options of etcd by their names without dashes, for example `auto-compaction-retention: 1h`. A change rolls the
    /// members one at a time.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(extend("maxProperties" = 32))]
    #[x_kube(validation = Rule::new(options::KNOWN).message(options::KNOWN_MESSAGE))]
    #[x_kube(validation = Rule::new("self.all(k, size(self[k]) <= 256 && !self[k].matches('[ \\t\\n\\r]'))")
        .message("an option's value must be at most 256 characters without blanks"))]
    pub options: BTreeMap<String, String>,

    /// How large a member's database may grow, for example `8Gi`; writes are refused beyond it (alarm NOSPACE). Unset:
    /// etcd's default, 2 GiB.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 32))]
    #[x_kube(validation = Rule::new("isQuantity(self) && quantity(self).isGreaterThan(quantity('0'))")
        .message("quota must be a quantity of bytes above 0, such as 8Gi"))]
    pub quota: Option<String>,
}

const REPOSITORY: &str = concat!(
    "self.matches('^([a-zA-Z0-9]([-a-zA-Z0-9.]*[a-zA-Z0-9])?(:[0-9]+)?/)?",
    "[a-z0-9]+(([.]|_|__|-+)[a-z0-9]+)*(/[a-z0-9]+(([.]|_|__|-+)[a-z0-9]+)*)*$')"
);
