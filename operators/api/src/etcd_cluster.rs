//! EtcdCluster: a cluster of etcd members, compatible with the archived coreos/etcd-operator (`v1beta2`), and more.
//!
//! The fields of that operator keep their exact JSON keys, so its manifests apply unchanged.

use std::collections::BTreeMap;

use kube::{CustomResource, KubeSchema};
use serde::{Deserialize, Serialize};

use crate::time::LASTING_SPAN;

mod authentication;
pub mod condition_type;
mod defragmentation;
mod deletion;
mod options;
mod pod;
mod reason;
mod recovery;
mod restore;
mod service;
mod status;
mod storage;
mod takeover;
mod tls;

pub use authentication::EtcdAuthentication;
pub use defragmentation::{DEFRAGMENT, EtcdDefragmentation, EtcdDefragmentationStatus, MaintenanceWindow};
pub use deletion::BeforeDeletion;
pub use options::ALLOWED_OPTIONS;
pub use pod::PodPolicy;
pub(crate) use pod::{DENIED_ENV, DENIED_ENV_MESSAGE, LABELS};
pub use reason::{EtcdClusterEvent, EtcdClusterReason};
pub use recovery::{EtcdRecovery, EtcdRecoveryStatus, RECOVER_WITHOUT, RecoveryOutcome, RecoveryPolicy};
pub use restore::{EtcdRestoreProgress, EtcdRestoreSource, RestoreOutcome, RestoreStage};
pub use service::ClientService;
pub use status::{EtcdClusterPhase, EtcdClusterStatus, EtcdStorageStatus, MemberRole, MemberStatus, Members};
pub use storage::{EtcdStorage, OnDelete};
pub use takeover::{EarlierMembers, EtcdTakeover};
pub use tls::{IssuedTls, MemberSecret, ROTATE_AUTHORITIES, StaticTls, TlsPolicy};

/// The annotation that assigns a cluster to a kind of install.
pub const SCOPE: &str = "etcd.database.coreos.com/scope";
/// The annotation that moves leadership, once for each new value.
pub const MOVE_LEADER: &str = "etcd.database.coreos.com/move-leader";
/// The finalizer that keeps an EtcdCluster until the volumes of its members are released.
pub const ETCD_VOLUMES: &str = "example.com/etcd-volumes";
/// The annotation that adopts the volumes of an earlier cluster of the same name; its value is the UID of that object.
pub const ADOPT: &str = "example.com/adopt";
/// The only value of [`SCOPE`].
pub const CLUSTERWIDE: &str = "clusterwide";
/// The default of `spec.repository`.
pub const DEFAULT_REPOSITORY: &str = "quay.io/coreos/etcd";
/// The default version. Latched in status at creation.
pub const DEFAULT_VERSION: &str = "3.6.16";

/// Desired state of an etcd cluster.
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
    printcolumn(name = "Reason", type_ = "string", json_path = ".status.conditions[?(@.type==\"Ready\")].reason"),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp"),
    printcolumn(name = "Leader", type_ = "string", json_path = ".status.leader", priority = 1),
    printcolumn(name = "DB size", type_ = "string", json_path = ".status.dbSize", priority = 1),
    validation = Rule::new("self.metadata.name.matches('^[a-z]([-a-z0-9]{0,50}[a-z0-9])?$')").message(
        "metadata.name must be 1 to 52 lower-case letters, digits or '-', start with a letter and end with a letter or \
         digit: services and members are named after it"
    ),
    doc = "An EtcdCluster is a cluster of etcd members, each a pod with its own volume."
)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = Rule::new(
    "!has(self.storage) || !has(self.pod) || !has(self.pod.persistentVolumeClaimSpec) || \
     !(has(self.storage.size) || has(self.storage.storageClassName) || self.storage.?ephemeral.orValue(false))"
).message(
    "spec.storage and spec.pod.persistentVolumeClaimSpec both define the volumes: set one of them (storage.onDelete \
     is allowed with either)"
))]
#[x_kube(validation = Rule::new(
    "self.?storage.?ephemeral.orValue(false) == oldSelf.?storage.?ephemeral.orValue(false)"
).message("spec.storage.ephemeral cannot be changed: members would lose their data; create a new cluster"))]
#[x_kube(validation = Rule::new(unchanged(class_of)).message(
    "the StorageClass of the members' volumes (storage.storageClassName, or storageClassName of \
     pod.persistentVolumeClaimSpec) cannot be changed, added or removed: members keep their volumes; create a new \
     cluster"
))]
#[x_kube(validation = Rule::new(CLAIM_STAYS).message(
    "spec.pod.persistentVolumeClaimSpec cannot be removed, unless spec.storage.size replaces it with at least its \
     storage request, and it has the access mode ReadWriteOnce and neither volumeName nor selector: members keep \
     their volumes"
))]
#[x_kube(validation = Rule::new(CLAIM_COMES).message(
    "spec.pod.persistentVolumeClaimSpec cannot be added later, unless it replaces spec.storage.size with the access \
     mode ReadWriteOnce and without volumeName and selector: members keep their volumes; expand those with \
     spec.storage.size, or create a new cluster"
))]
#[x_kube(validation = Rule::new(unchanged(domain_of))
    .message("spec.pod.ClusterDomain cannot be changed: members are identified by their DNS names; create a new \
        cluster"))]
#[x_kube(validation = Rule::new(
    "!has(self.restore) || (has(oldSelf.restore) && self.restore == oldSelf.restore)"
).message(
    "spec.restore cannot be added or changed later: a cluster begins with a snapshot, or does not; create a new one"
))]
#[x_kube(validation = Rule::new("!has(self.restore) || !self.?storage.?ephemeral.orValue(false)").message(
    "spec.restore needs volumes for its members: remove spec.storage.ephemeral"
))]
#[x_kube(validation = Rule::new("!has(self.takeover) || has(oldSelf.takeover)").message(
    "spec.takeover cannot be added later: this cluster has members and data of its own; create a new EtcdCluster"
))]
#[x_kube(validation = Rule::new("!has(self.takeover) || !has(self.restore)").message(
    "spec.takeover and spec.restore both say what the cluster begins with: set one of them"
))]
#[x_kube(validation = Rule::new("!self.?hibernate.orValue(false) || !self.?storage.?ephemeral.orValue(false)").message(
    "spec.hibernate needs volumes: with spec.storage.ephemeral, members keep their data in their pods, and would lose it"
))]
#[x_kube(validation = Rule::new(options::ONCE).message(
    "an etcd option is set twice, in spec.options or spec.quota and as a variable in spec.pod.etcdEnv: etcd would \
     not start; set it once"
))]
pub struct EtcdClusterSpec {
    /// Number of members, 1 to 7. An even number tolerates no more failures than the odd number below it.
    #[schemars(range(min = 1, max = 7))]
    pub size: i32,

    /// Version of etcd, such as `3.6.16` (a leading `v` is allowed). Default: a current one, chosen at creation and
    /// kept. A change rolls one member at a time, within etcd's rules: up by one minor version at a time, never down.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 64))]
    #[x_kube(validation = Rule::new(VERSION).message(
        "version must be a full etcd version, such as 3.6.16, v3.6.16 or 3.7.0-rc.0"
    ))]
    pub version: Option<String>,

    /// Image without its tag, which is `v<version>`. Default: quay.io/coreos/etcd.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 384))]
    #[x_kube(validation = Rule::new(REPOSITORY).message(
        "repository must be an image's name without tag or digest, such as quay.io/coreos/etcd: the tag is v<version>"
    ))]
    pub repository: Option<String>,

    /// Whether the operator leaves everything unchanged: it creates, repairs and upgrades nothing. Default: false.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub paused: bool,

    /// Whether all members are stopped and keep their volumes; the operator starts them again once this is false. Needs volumes.
    /// Default: false.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub hibernate: bool,

    /// Settings of the members' pods. A change rolls the members one at a time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pod: Option<PodPolicy>,

    /// TLS between members and for clients, who then need certificates, too.
    #[serde(default, rename = "TLS", skip_serializing_if = "Option::is_none")]
    pub tls: Option<TlsPolicy>,

    /// Users and passwords of etcd. Default: the operator turns authentication neither on nor off, and has no user.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub authentication: Option<EtcdAuthentication>,

    /// Storage of each member's data. Default: a volume of the default StorageClass; without such a class, the pod's
    /// own disk, which is lost with the pod (condition Durable=False).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub storage: Option<EtcdStorage>,

    /// Settings of the Service for clients. Default: one of type ClusterIP.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub service: Option<ClientService>,

    /// Options of etcd by name without dashes, such as `auto-compaction-retention: 1h`. A change rolls the members one
    /// at a time.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(extend("maxProperties" = 32, "additionalProperties" = { "type": "string", "maxLength": 256 }))]
    #[x_kube(validation = Rule::new(options::KNOWN).message(options::KNOWN_MESSAGE))]
    #[x_kube(validation = Rule::new("self.all(k, self[k].matches('^[!-~]+$'))").message(
        "an option's value must be 1 to 256 characters without spaces; omit an option to use etcd's default"
    ))]
    #[x_kube(merge_strategy = MapMerge::Atomic)]
    pub options: BTreeMap<String, String>,

    /// Maximum size of a member's database, such as `8Gi`; beyond it etcd rejects writes (alarm NOSPACE). Default: what
    /// fits the volume, at most 8 GiB (272 MiB of 1Gi); 2 GiB where data is in pods.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 32))]
    #[x_kube(validation = Rule::new(storage::BYTES).message("quota must be a quantity of bytes from 1 to 1Pi, such as 8Gi"))]
    pub quota: Option<String>,

    /// Snapshot that the cluster begins with. Default: none, so the cluster begins empty. Can only be set when the
    /// EtcdCluster is created; may be removed later, which changes nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub restore: Option<EtcdRestoreSource>,

    /// An etcd cluster that runs already, which the members of this one join, and whose data they have from then on. Default: none.
    /// Can only be set when the EtcdCluster is created; may be removed once the earlier members have left.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub takeover: Option<EtcdTakeover>,

    /// Recovery from a lost quorum that cannot return, because the volumes of a majority are gone. Default: a user decides.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recovery: Option<EtcdRecovery>,

    /// What the operator does before it deletes the members. Default: nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_delete: Option<BeforeDeletion>,

    /// How long a member may be lost with its node, such as `10m`, before another one replaces it elsewhere; the others must have
    /// quorum without it. Its volume stays, whatever `storage.onDelete` says. Default: none, so it waits for its node.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 6))]
    #[x_kube(validation = Rule::new(LASTING_SPAN).message(
        "replaceAfter must be a whole number above 0 and a unit: s, m, h, d or w, such as 10m"
    ))]
    pub replace_after: Option<String>,

    /// Automatic defragmentation of databases. Default: none, so only the annotation `example.com/defragment` begins one, and a
    /// database that has reached its quota.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub defragmentation: Option<EtcdDefragmentation>,
}

/// A semantic version without build metadata, which an image tag cannot contain.
pub(crate) const VERSION: &str = concat!(
    "self.matches('^v?(0|[1-9][0-9]{0,5})[.](0|[1-9][0-9]{0,5})[.](0|[1-9][0-9]{0,5})",
    "(-[0-9A-Za-z-]+([.][0-9A-Za-z-]+)*)?$')"
);

/// An image's name without tag and digest.
pub(crate) const REPOSITORY: &str = concat!(
    "self.matches('^([a-zA-Z0-9]([-a-zA-Z0-9.]*[a-zA-Z0-9])?(:[0-9]+)?/)?",
    "[a-z0-9]+(([.]|_|__|-+)[a-z0-9]+)*(/[a-z0-9]+(([.]|_|__|-+)[a-z0-9]+)*)*$')"
);

/// The rule that a part of the spec does not change.
fn unchanged(of: fn(&str) -> String) -> String {
    format!("{} == {}", of("self"), of("oldSelf"))
}

/// The StorageClass of a spec, in CEL; `*` if none, because an empty name has a meaning.
fn class_of(spec: &str) -> String {
    let claim = format!("{spec}.pod.persistentVolumeClaimSpec");
    format!(
        "(has({spec}.storage) && has({spec}.storage.storageClassName) ? {spec}.storage.storageClassName : \
         has({spec}.pod) && has({claim}) && has({claim}.storageClassName) ? {claim}.storageClassName : '*')"
    )
}

/// The cluster domain of a spec, in CEL.
fn domain_of(spec: &str) -> String {
    format!("(has({spec}.pod) && has({spec}.pod.ClusterDomain) ? {spec}.pod.ClusterDomain : '')")
}

const CLAIM_STAYS: &str = "!has(oldSelf.pod) || !has(oldSelf.pod.persistentVolumeClaimSpec) || \
    (has(self.pod) && has(self.pod.persistentVolumeClaimSpec)) || \
    ((!has(oldSelf.pod.persistentVolumeClaimSpec.accessModes) || \
    oldSelf.pod.persistentVolumeClaimSpec.accessModes == ['ReadWriteOnce']) && \
    !has(oldSelf.pod.persistentVolumeClaimSpec.volumeName) && !has(oldSelf.pod.persistentVolumeClaimSpec.selector) && \
    has(self.storage) && has(self.storage.size) && isQuantity(self.storage.size) && quantity(self.storage.size) \
    .compareTo(quantity(string(oldSelf.pod.persistentVolumeClaimSpec.resources.requests['storage']))) >= 0)";

/// A user can revert an edit that replaced the PVC spec with `storage.size`.
const CLAIM_COMES: &str = "!has(self.pod) || !has(self.pod.persistentVolumeClaimSpec) || \
    (has(oldSelf.pod) && has(oldSelf.pod.persistentVolumeClaimSpec)) || \
    (has(oldSelf.storage) && has(oldSelf.storage.size) && \
    (!has(self.pod.persistentVolumeClaimSpec.accessModes) || \
    self.pod.persistentVolumeClaimSpec.accessModes == ['ReadWriteOnce']) && \
    !has(self.pod.persistentVolumeClaimSpec.volumeName) && !has(self.pod.persistentVolumeClaimSpec.selector))";
