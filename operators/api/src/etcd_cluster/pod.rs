//! Settings of the members' pods.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{
    Affinity, EnvVar, LocalObjectReference, PersistentVolumeClaimSpec, PodSecurityContext, Toleration,
    TopologySpreadConstraint,
};
use kube::KubeSchema;
use serde::{Deserialize, Serialize};

use crate::my_app::Resources;
use crate::quantity;

/// Settings of the members' pods.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct PodPolicy {
    /// Labels of the pods, in addition to the operator's.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(extend("maxProperties" = 64, "additionalProperties" = { "type": "string", "maxLength": 63 }))]
    #[x_kube(validation = Rule::new(
        "self.all(k, k != 'app' && !k.startsWith('etcd_') && !k.startsWith('multi-operator.example.com/') && \
         !(k in ['app.kubernetes.io/name', 'app.kubernetes.io/instance', 'app.kubernetes.io/managed-by']))"
    ).message(
        "pod.labels: app, etcd_*, multi-operator.example.com/* and app.kubernetes.io/name, instance and managed-by \
         are reserved for the operator: use other keys"
    ))]
    #[x_kube(validation = Rule::new(LABELS).message(
        "pod.labels must be valid Kubernetes labels: keys such as team or example.com/team, and values of at most 63 \
         letters, digits, '-', '_' and '.' that start and end with a letter or digit"
    ))]
    #[x_kube(merge_strategy = MapMerge::Atomic)]
    pub labels: BTreeMap<String, String>,

    /// Annotations of the pods, in addition to the operator's.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(extend("maxProperties" = 64))]
    #[x_kube(validation = Rule::new(
        "self.all(k, k != 'etcd.version' && !k.startsWith('multi-operator.example.com/'))"
    ).message(
        "pod.annotations: etcd.version and multi-operator.example.com/* are reserved for the operator: use other \
         keys"
    ))]
    #[x_kube(validation = Rule::new("self.all(k, !format.qualifiedName().validate(k.lowerAscii()).hasValue())").message(
        "pod.annotations must have valid Kubernetes annotation keys, such as team or example.com/team"
    ))]
    #[x_kube(merge_strategy = MapMerge::Atomic)]
    pub annotations: BTreeMap<String, String>,

    /// Labels that a node must have.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(extend("maxProperties" = 64, "additionalProperties" = { "type": "string", "maxLength": 63 }))]
    #[x_kube(validation = Rule::new(LABELS).message(
        "pod.nodeSelector must be valid Kubernetes labels: keys such as disktype or example.com/zone, and values of \
         at most 63 letters, digits, '-', '_' and '.' that start and end with a letter or digit"
    ))]
    #[x_kube(merge_strategy = MapMerge::Atomic)]
    pub node_selector: BTreeMap<String, String>,

    /// Tolerations of the pods, as in a Pod.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 64))]
    pub tolerations: Vec<Toleration>,

    /// Affinity of the pods, as in a Pod.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub affinity: Option<Affinity>,

    /// Deprecated: requires members on different nodes, unless `affinity` is set.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub anti_affinity: bool,

    /// How pods spread over nodes and zones, as in a Pod. Default: as evenly over nodes as possible.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 16))]
    pub topology_spread_constraints: Option<Vec<TopologySpreadConstraint>>,

    /// Security context of the pods, as in a Pod. Default: as the Restricted Pod Security Standard requires.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub security_context: Option<PodSecurityContext>,

    /// Requests and limits of each container. Default: requests of 50m CPU and 128Mi of memory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resources: Option<Resources>,

    /// Environment variables of etcd, which may set its options (`ETCD_AUTO_COMPACTION_RETENTION`). Reserved for the
    /// operator are POD_IP, MULTI_OPERATOR_START, TERMINATION_LOG, ETCD_NAME, ETCD_DATA_DIR, ETCD_WAL_DIR,
    /// ETCD_CONFIG_FILE, ETCD_FORCE_NEW_CLUSTER, ETCD_STRICT_RECONFIG_CHECK, ETCD_UNSAFE_NO_FSYNC, ETCD_MAX_LEARNERS,
    /// ETCD_INITIAL_*, ETCD_LISTEN_*, ETCD_ADVERTISE_*, ETCD_DISCOVERY*, ETCD_PROXY*, ETCD_HOST_WHITELIST and those of
    /// TLS. HTTP_PROXY, HTTPS_PROXY and FORWARD_PROXY are rejected, because etcd would reach its peers through that
    /// proxy.
    #[serde(default, skip_serializing_if = "Vec::is_empty", deserialize_with = "quantity::environment")]
    #[schemars(length(max = 64))]
    pub etcd_env: Vec<EnvVar>,

    /// PVC spec of each member's volume; `spec.storage` is the shorter form. Only its storage size may change; volumes
    /// that have grown stay as they are.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "quantity::claim")]
    #[x_kube(validation = Rule::new(CLAIM_ASKS).field_path(".resources").message(
        "pod.persistentVolumeClaimSpec must request storage: set resources.requests.storage to a quantity of bytes \
         above 0, such as 2Gi"
    ))]
    #[x_kube(validation = Rule::new(
        "!has(self.accessModes) || \
         self.accessModes.exists(mode, mode in ['ReadWriteOnce', 'ReadWriteOncePod', 'ReadWriteMany'])"
    ).field_path(".accessModes").message(
        "pod.persistentVolumeClaimSpec must be writable: set accessModes to [ReadWriteOnce], or omit accessModes"
    ))]
    #[x_kube(validation = Rule::new("!has(self.volumeMode) || self.volumeMode == 'Filesystem'").field_path(".volumeMode")
        .message("pod.persistentVolumeClaimSpec must request a file system: omit volumeMode"))]
    #[x_kube(validation = Rule::new("!has(self.dataSource) && !has(self.dataSourceRef)").message(
        "pod.persistentVolumeClaimSpec must omit dataSource and dataSourceRef: every member would start with the \
         same data instead of its own"
    ))]
    #[x_kube(validation = Rule::new(
        "(has(self.accessModes) ? self.accessModes : ['ReadWriteOnce']) == \
         (has(oldSelf.accessModes) ? oldSelf.accessModes : ['ReadWriteOnce']) && \
         (has(self.volumeName) ? self.volumeName : '') == (has(oldSelf.volumeName) ? oldSelf.volumeName : '') && \
         has(self.selector) == has(oldSelf.selector) && (!has(self.selector) || self.selector == oldSelf.selector)"
    ).message(
        "accessModes, volumeName and selector of pod.persistentVolumeClaimSpec cannot be changed: members keep their \
         volumes; create a new cluster"
    ))]
    pub persistent_volume_claim_spec: Option<PersistentVolumeClaimSpec>,

    /// Accepted for old manifests and ignored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 512))]
    pub busybox_image: Option<String>,

    /// Seconds that a member's init step waits for its DNS name before it fails. The kubelet restarts it for as long as
    /// it takes. 0 (default) means 120.
    #[serde(default, rename = "DNSTimeoutInSecond", skip_serializing_if = "is_zero")]
    #[schemars(range(min = 0))]
    pub dns_timeout_in_second: i64,

    /// Suffix of DNS names, with its dot, such as `.cluster.local`. Default: empty; names end in `.svc`. Cannot be
    /// changed: members are known by their names.
    #[serde(default, rename = "ClusterDomain", skip_serializing_if = "String::is_empty")]
    #[schemars(length(max = 128))]
    #[x_kube(validation = Rule::new("self == '' || self.matches('^([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)+$')")
        .message("pod.ClusterDomain must be empty or a domain with a leading dot, such as .cluster.local"))]
    pub cluster_domain: String,

    /// PriorityClass of the pods.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 253))]
    pub priority_class_name: Option<String>,

    /// Secrets in the same namespace with registry credentials.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 16))]
    pub image_pull_secrets: Vec<LocalObjectReference>,
}

pub(crate) const LABELS: &str = "self.all(k, !format.qualifiedName().validate(k).hasValue() && \
    !format.labelValue().validate(self[k]).hasValue())";

/// Names that no variable may have. (The rule is on each name, so the error's path shows the entry.)
pub(crate) const DENIED_ENV: &str = concat!(
    "!self.matches('^(POD_IP|MULTI_OPERATOR_START|TERMINATION_LOG|(HTTPS?|FORWARD)_PROXY|https?_proxy)$|",
    "^ETCD_(NAME|DATA_DIR|WAL_DIR|CONFIG_FILE|FORCE_NEW_CLUSTER|STRICT_RECONFIG_CHECK|UNSAFE_NO_FSYNC|HOST_WHITELIST|",
    "(EXPERIMENTAL_)?MAX_LEARNERS|INITIAL_.*|LISTEN_.*|ADVERTISE_.*|DISCOVERY.*|PROXY.*|CA_FILE|CERT_FILE|KEY_FILE|",
    "TRUSTED_CA_FILE|CLIENT_.*|PEER_.*|AUTO_TLS)$')"
);
/// The message for those.
pub(crate) const DENIED_ENV_MESSAGE: &str = "omit this variable from pod.etcdEnv: it would break membership or data; \
    POD_IP, MULTI_OPERATOR_START, TERMINATION_LOG, ETCD_NAME, ETCD_DATA_DIR, ETCD_WAL_DIR, ETCD_CONFIG_FILE, \
    ETCD_FORCE_NEW_CLUSTER, ETCD_STRICT_RECONFIG_CHECK, ETCD_UNSAFE_NO_FSYNC, ETCD_MAX_LEARNERS, ETCD_INITIAL_*, \
    ETCD_LISTEN_*, ETCD_ADVERTISE_*, ETCD_DISCOVERY*, ETCD_PROXY*, ETCD_HOST_WHITELIST and those of TLS are reserved \
    for the operator, and HTTP_PROXY, HTTPS_PROXY (also in lower case) and FORWARD_PROXY would make members reach \
    each other through that proxy";

const CLAIM_ASKS: &str = concat!(
    "has(self.resources) && has(self.resources.requests) && 'storage' in self.resources.requests && ",
    "isQuantity(string(self.resources.requests['storage'])) && ",
    "!string(self.resources.requests['storage']).matches('[num]$') && ",
    "quantity(string(self.resources.requests['storage'])).compareTo(quantity('1')) >= 0"
);

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde hands out references")]
fn is_zero(number: &i64) -> bool {
    *number == 0
}
