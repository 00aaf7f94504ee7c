//! How the members' pods look.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{
    Affinity, EnvVar, LocalObjectReference, PersistentVolumeClaimSpec, PodSecurityContext, Toleration,
    TopologySpreadConstraint,
};
use kube::KubeSchema;
use serde::{Deserialize, Serialize};

use crate::my_app::Resources;

/// How the members' pods look.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct PodPolicy {
    /// Labels of the pods, beside the operator's own.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(extend("maxProperties" = 64))]
    #[x_kube(validation = Rule::new(
        "self.all(k, k != 'app' && !k.startsWith('etcd_') && !k.startsWith('multi-operator.example.com/') && \
         !(k in ['app.kubernetes.io/name', 'app.kubernetes.io/instance', 'app.kubernetes.io/managed-by']))"
    ).message(
        "pod.labels: app, etcd_*, multi-operator.example.com/* and app.kubernetes.io/name, instance and managed-by are \
         the operator's own"
    ))]
    pub labels: BTreeMap<String, String>,

    /// Annotations of the pods, beside the operator's own.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(extend("maxProperties" = 64))]
    #[x_kube(validation = Rule::new(
        "self.all(k, k != 'etcd.version' && !k.startsWith('multi-operator.example.com/'))"
    ).message("pod.annotations: etcd.version and multi-operator.example.com/* are the operator's own"))]
    pub annotations: BTreeMap<String, String>,

    /// Labels that a node must have.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(extend("maxProperties" = 64))]
    pub node_selector: BTreeMap<String, String>,

    /// Taints of nodes that the pods put up with.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 64))]
    pub tolerations: Vec<Toleration>,

    /// Which nodes the pods prefer or need.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub affinity: Option<Affinity>,

    /// Deprecated: whether members must run on different nodes; `affinity` goes before it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub anti_affinity: bool,

    /// How pods spread over nodes and zones. Unset: evenly over nodes, as far as that can be had.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 16))]
    pub topology_spread_constraints: Option<Vec<TopologySpreadConstraint>>,

    /// The pods' security context. Unset: as restricted as Kubernetes knows, not as root.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub security_context: Option<PodSecurityContext>,

    /// What each member asks for and may use.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resources: Option<Resources>,

    /// Environment variables of etcd, also a way to set its options (`ETCD_AUTO_COMPACTION_RETENTION`).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 64))]
    #[x_kube(validation = Rule::new(DENIED_ENV).message(
        "pod.etcdEnv: ETCD_NAME, ETCD_DATA_DIR, ETCD_WAL_DIR, ETCD_CONFIG_FILE, ETCD_FORCE_NEW_CLUSTER, \
         ETCD_STRICT_RECONFIG_CHECK, ETCD_UNSAFE_NO_FSYNC, ETCD_INITIAL_*, ETCD_LISTEN_*, ETCD_ADVERTISE_*, \
         ETCD_DISCOVERY*, ETCD_PROXY*, TLS files and the number of learners are the operator's own: they would break \
         membership or data"
    ))]
    pub etcd_env: Vec<EnvVar>,

    /// The volume of each member, in full. `spec.storage` is the shorter way.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[x_kube(validation = Rule::new(
        "(has(self.storageClassName) ? self.storageClassName : '') == \
         (has(oldSelf.storageClassName) ? oldSelf.storageClassName : '')"
    ).message("pod.persistentVolumeClaimSpec.storageClassName cannot be changed: members keep their volumes"))]
    pub persistent_volume_claim_spec: Option<PersistentVolumeClaimSpec>,

    /// Accepted for old manifests and not used: no busybox runs any more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 512))]
    pub busybox_image: Option<String>,

    /// How many seconds a member waits for its name in cluster DNS before it fails and is started again; 0: for ever.
    #[serde(default, rename = "DNSTimeoutInSecond", skip_serializing_if = "is_zero")]
    #[schemars(range(min = 0))]
    pub dns_timeout_in_second: i64,

    /// The suffix of names in cluster DNS, with its dot, for example `.cluster.local`. Empty: names end in `.svc`.
    /// Cannot be changed: members are known by their names.
    #[serde(default, rename = "ClusterDomain", skip_serializing_if = "String::is_empty")]
    #[schemars(length(max = 128))]
    #[x_kube(validation = Rule::new("self == '' || self.matches('^([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)+$')")
        .message("pod.ClusterDomain must be empty or a domain with its leading dot, such as .cluster.local"))]
    #[x_kube(validation = Rule::new("self == oldSelf")
        .message("pod.ClusterDomain cannot be changed: members are known by their names"))]
    pub cluster_domain: String,

    /// The pods' PriorityClass.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 253))]
    pub priority_class_name: Option<String>,

    /// Secrets of the same namespace with which images are pulled.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 16))]
    pub image_pull_secrets: Vec<LocalObjectReference>,
}

const DENIED_ENV: &str = concat!(
    "self.all(e, !e.name.matches('^ETCD_(NAME|DATA_DIR|WAL_DIR|CONFIG_FILE|FORCE_NEW_CLUSTER|STRICT_RECONFIG_CHECK|",
    "UNSAFE_NO_FSYNC|INITIAL_.*|LISTEN_.*|ADVERTISE_.*|DISCOVERY.*|PROXY.*|CERT_FILE|KEY_FILE|TRUSTED_CA_FILE|",
    "CLIENT_.*|PEER_.*|AUTO_TLS|(EXPERIMENTAL_)?MAX_LEARNERS)$'))"
);

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde hands out references")]
fn is_zero(number: &i64) -> bool {
    *number == 0
}
