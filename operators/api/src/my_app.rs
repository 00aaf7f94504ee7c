//! MyApp: a stateless application, run as a Deployment, with a Service, an autoscaler, a route and a disruption budget
//! on request.

use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

mod autoscaling;
mod container;
mod environment;
mod files;
mod overrides;
mod ports;
mod probes;
mod reason;
mod resources;
mod rollout;
mod route;
mod service;
mod status;

pub use autoscaling::{Autoscaling, Metric};
pub use container::{PreStop, PullPolicy, PullSecret, Sleep};
pub use environment::{EnvFrom, EnvKeyRef, EnvVar, FieldRef, NameRef, ResourceFieldRef, ValueFrom};
pub use files::{
    DownwardApi, DownwardFile, FileItem, FileSource, Medium, MountedClaim, MountedFiles, ProjectedSource,
    ScratchVolume, TokenFile,
};
pub use overrides::{FreeObject, PodMetadata, PodOverrides, RestartOn, SourceRef};
pub use ports::{AppPort, Protocol};
pub use probes::{ContainerProbe, Exec, Grpc, HttpGet, HttpScheme, Probes, TcpSocket};
pub use reason::MyAppReason;
pub use resources::Resources;
pub use rollout::{DisruptionBudget, Rollback, RollingUpdate, RolloutStrategy, StrategyType};
pub use route::{AppRoute, GatewayRef};
pub use service::ServiceOptions;
pub use status::{MyAppPhase, MyAppStatus, ROUTE_ACCEPTED, RolledBack, SCALING_ACTIVE};

/// Desired state: what to run, in how many pods.
#[derive(CustomResource, KubeSchema, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[kube(
    group = "example.com",
    version = "v1",
    kind = "MyApp",
    plural = "myapps",
    namespaced,
    status = "MyAppStatus",
    scale(
        spec_replicas_path = ".spec.replicas",
        status_replicas_path = ".status.replicas",
        label_selector_path = ".status.selector"
    ),
    printcolumn(name = "Ready", type_ = "string", json_path = ".status.ready"),
    printcolumn(name = "Phase", type_ = "string", json_path = ".status.phase"),
    printcolumn(name = "Image", type_ = "string", json_path = ".spec.image"),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp"),
    validation = Rule::new("self.metadata.name.matches('^[a-z]([-a-z0-9]{0,61}[a-z0-9])?$')").message(
        "metadata.name must be 1 to 63 lower-case letters, digits or '-', start with a letter and end with a letter or \
         digit: the Service, the labels and the pods are named after it"
    ),
    doc = "A MyApp is a stateless application: an image, run in the requested number of pods."
)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = Rule::new("!has(self.replicas) || !has(self.autoscaling)")
    .message("replicas and autoscaling are mutually exclusive: with autoscaling, omit replicas"))]
#[x_kube(validation = Rule::new("!has(self.port) || !has(self.ports) || size(self.ports) == 0")
    .message("port is the short form of ports: set one of the two"))]
#[x_kube(validation = Rule::new("!has(self.service) || has(self.port) || (has(self.ports) && size(self.ports) > 0)")
    .message("service requires port or ports: without a port there is no Service"))]
#[x_kube(validation = Rule::new(
    "!has(self.route) || has(self.port) || (has(self.ports) && self.ports.exists(p, !has(p.protocol) || p.protocol != 'UDP'))"
).message("route requires port, or a TCP port in ports: requests go to the first one"))]
#[x_kube(validation = Rule::new("!has(self.automountToken) || !self.automountToken || has(self.serviceAccountName)").message(
    "automountToken requires serviceAccountName: name the service account (it may be default) whose token the pods \
     mount"
))]
#[x_kube(validation = Rule::new(
    "!has(self.preStop) || !has(self.preStop.sleep) \
     || self.preStop.sleep.seconds <= self.?terminationGracePeriodSeconds.orValue(30)"
).message("preStop.sleep.seconds must not exceed terminationGracePeriodSeconds (30 by default)"))]
#[x_kube(validation = Rule::new(files::DISTINCT)
    .message("files, scratch and persistentVolumeClaims must not share a mountPath"))]
#[x_kube(validation = Rule::new(files::TOKENS_NAMED).message(
    "files with a serviceAccountToken require serviceAccountName: name the service account (it may be default)"
))]
#[x_kube(validation = Rule::new(
    "self.?progressDeadlineSeconds.orValue(600) > self.?minReadySeconds.orValue(0)"
).message("progressDeadlineSeconds (600 by default) must be greater than minReadySeconds"))]
pub struct MyAppSpec {
    /// Image to run, such as `nginx:1.25` or `name@sha256:<64 hex digits>`.
    #[schemars(length(min = 1, max = 512))]
    #[x_kube(validation = Rule::new(IMAGE).message(
        "image must be a reference such as nginx:1.25, registry.example.com:5000/team/app:v2 or name@sha256:<64 hex digits>"
    ))]
    pub image: String,

    /// Program to run instead of the image's entry point, without a shell.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 64))]
    #[x_kube(merge_strategy = ListMerge::Atomic)]
    pub command: Vec<String>,

    /// Arguments of the program, instead of those of the image.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 256))]
    #[x_kube(merge_strategy = ListMerge::Atomic)]
    pub args: Vec<String>,

    /// Directory that the program starts in. Default: that of the image.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 1024))]
    pub working_dir: Option<String>,

    /// When the kubelet pulls the image. Default: Always for the tag latest or none, else IfNotPresent; Kubernetes sets
    /// it when the Deployment is created, and it stays when the image changes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image_pull_policy: Option<PullPolicy>,

    /// Secrets in the same namespace with registry credentials; at most 16.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 16))]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["name".into()]))]
    pub image_pull_secrets: Vec<PullSecret>,

    /// Number of pods, 0 to 1000. Unset, other clients (an autoscaler) set it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 1000))]
    pub replicas: Option<i32>,

    /// Bounds and targets of an autoscaler. Excludes `replicas`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub autoscaling: Option<Autoscaling>,

    /// TCP port; creates a Service, and a readiness probe unless `probes` is set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 65535))]
    pub port: Option<i32>,

    /// Ports of the application, with names; `port` is the short form.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 16))]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["name".into()]))]
    #[x_kube(validation = Rule::new(ports::DISTINCT).message("two ports must not have the same port and protocol"))]
    pub ports: Vec<AppPort>,

    /// Type and annotations of the Service that `port` or `ports` creates.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub service: Option<ServiceOptions>,

    /// Host and path of requests from outside; creates an HTTPRoute or Ingress.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub route: Option<AppRoute>,

    /// Environment variables of the application.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 256))]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["name".into()]))]
    pub env: Vec<EnvVar>,

    /// ConfigMaps and Secrets whose entries become environment variables.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 32))]
    #[x_kube(merge_strategy = ListMerge::Atomic)]
    pub env_from: Vec<EnvFrom>,

    /// Read-only files from ConfigMaps, Secrets and the pod itself.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 16))]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["mountPath".into()]))]
    pub files: Vec<MountedFiles>,

    /// Directories that start empty in each pod, of a limited size; at most 8.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 8))]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["mountPath".into()]))]
    pub scratch: Vec<ScratchVolume>,

    /// Existing PVCs in the same namespace, shared by all pods; at most 8.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 8))]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["mountPath".into()]))]
    pub persistent_volume_claims: Vec<MountedClaim>,

    /// Resource requests and limits of each pod.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resources: Option<Resources>,

    /// Startup, readiness and liveness probes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub probes: Option<Probes>,

    /// Action in a container before SIGTERM.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pre_stop: Option<PreStop>,

    /// Seconds from the stop request to SIGKILL, 0 to 86400. Default: 30.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 86400))]
    pub termination_grace_period_seconds: Option<i64>,

    /// Service account of the pods. Default: `default`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(
        length(min = 1, max = 253),
        regex(pattern = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$")
    )]
    pub service_account_name: Option<String>,

    /// Whether pods get the token of `serviceAccountName`. Default: false.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub automount_token: bool,

    /// Rollout strategy. Default: RollingUpdate, 25% more and 25% fewer pods.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub strategy: Option<RolloutStrategy>,

    /// Seconds without progress until a rollout fails, at least 1. Default: 600.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub progress_deadline_seconds: Option<i32>,

    /// Seconds that a pod must be ready to count, 0 to 86400. Default: 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 86400))]
    pub min_ready_seconds: Option<i32>,

    /// Whether a failed rollout returns to the last Ready image. Default: None.
    #[serde(default, skip_serializing_if = "Rollback::is_none")]
    pub rollback: Rollback,

    /// Number of earlier ReplicaSets to keep, 0 to 1000. Default: 10.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 1000))]
    pub revision_history_limit: Option<i32>,

    /// Whether the operator leaves everything unchanged. Default: false.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub paused: bool,

    /// Number of pods that node drains may take; creates a PodDisruptionBudget.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disruption_budget: Option<DisruptionBudget>,

    /// Confinement of pods: Baseline (default), or Restricted as in that Pod Security Standard, for images with a
    /// numeric non-root user.
    #[serde(default, skip_serializing_if = "Security::is_baseline")]
    pub security: Security,

    /// ConfigMaps and Secrets whose content restarts the pods when it changes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 16))]
    #[x_kube(merge_strategy = ListMerge::Atomic)]
    pub restart_on: Vec<RestartOn>,

    /// Pod template merged over the operator's, within what the manager allows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pod_overrides: Option<PodOverrides>,
}

/// An image reference as in the OCI distribution specification: host, path, tag, digest.
pub(crate) const IMAGE: &str = concat!(
    "self.matches('^([a-zA-Z0-9]([-a-zA-Z0-9.]*[a-zA-Z0-9])?(:[0-9]+)?/)?",
    "[a-z0-9]+(([.]|_|__|-+)[a-z0-9]+)*(/[a-z0-9]+(([.]|_|__|-+)[a-z0-9]+)*)*",
    "(:[a-zA-Z0-9_][a-zA-Z0-9_.-]{0,127})?(@(sha256:[a-f0-9]{64}|sha512:[a-f0-9]{128}))?$')"
);

/// How strictly pods are confined.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Security {
    /// Default seccomp profile, no privilege escalation, no service-account token by default.
    #[default]
    Baseline,
    /// In addition: no root user, and no capabilities.
    Restricted,
}

impl Security {
    fn is_baseline(&self) -> bool {
        *self == Self::Baseline
    }
}
