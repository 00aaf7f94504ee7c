//! MyApp: a stateless application, run as a Deployment with, when asked for, a Service and a disruption budget.

use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

mod environment;
mod probes;
mod resources;

pub use environment::{EnvFrom, EnvVar, FieldRef, KeyRef, NameRef, ValueFrom};
pub use probes::{Exec, Grpc, HttpGet, HttpScheme, Probe, Probes, TcpSocket};
pub use resources::Resources;

use crate::{Contract, Status};

/// What to run, and how many times.
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
    doc = "A MyApp is a stateless application: an image, run as many times as asked for."
)]
#[serde(rename_all = "camelCase")]
pub struct MyAppSpec {
    /// The image to run, for example `nginx:1.25` or `registry.example.com/team/app@sha256:...`.
    #[schemars(length(min = 1, max = 512))]
    #[x_kube(validation = Rule::new(IMAGE).message(
        "image must be a reference such as nginx:1.25, registry.example.com:5000/team/app:v2 or name@sha256:<64 hex digits>"
    ))]
    pub image: String,

    /// How many pods to run. Unset, the number is left to an autoscaler that aims at the Deployment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 1000))]
    pub replicas: Option<i32>,

    /// The TCP port that the application listens on. Set, it makes a Service of the MyApp's name, and a TCP readiness
    /// probe unless `probes` is given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 65535))]
    pub port: Option<i32>,

    /// Environment variables of the application.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 256))]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["name".into()]))]
    pub env: Vec<EnvVar>,

    /// ConfigMaps and Secrets of the same namespace whose entries become environment variables.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 32))]
    #[x_kube(merge_strategy = ListMerge::Atomic)]
    pub env_from: Vec<EnvFrom>,

    /// What each pod asks for and may use.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resources: Option<Resources>,

    /// How to tell whether a pod has started, serves, and is alive.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub probes: Option<Probes>,

    /// Whether to leave everything as it is: nothing is created, changed or rolled out until this is false again.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub paused: bool,

    /// How many pods may be evicted at a time (node drains); makes a PodDisruptionBudget of the MyApp's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disruption_budget: Option<DisruptionBudget>,

    /// How tightly pods are confined. `Baseline` suits images that start as root; `Restricted` is what a namespace
    /// that enforces the restricted Pod Security Standard needs, with an image that runs as a numeric non-root user.
    #[serde(default, skip_serializing_if = "Security::is_baseline")]
    pub security: Security,
}

/// A reference as the OCI distribution specification writes it: host, path, tag, digest.
pub(crate) const IMAGE: &str = concat!(
    "self.matches('^([a-zA-Z0-9]([-a-zA-Z0-9.]*[a-zA-Z0-9])?(:[0-9]+)?/)?",
    "[a-z0-9]+(([.]|_|__|-+)[a-z0-9]+)*(/[a-z0-9]+(([.]|_|__|-+)[a-z0-9]+)*)*",
    "(:[a-zA-Z0-9_][a-zA-Z0-9_.-]{0,127})?(@(sha256:[a-f0-9]{64}|sha512:[a-f0-9]{128}))?$')"
);

/// Exactly one of the two: a number of pods, or a percentage of them such as `25%`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = Rule::new("has(self.minAvailable) != has(self.maxUnavailable)")
    .message("disruptionBudget takes exactly one of minAvailable and maxUnavailable"))]
pub struct DisruptionBudget {
    /// How many pods must stay.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[x_kube(validation = Rule::new(COUNT_OR_PERCENT).message(COUNT_OR_PERCENT_MESSAGE))]
    pub min_available: Option<IntOrString>,
    /// How many pods may be gone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[x_kube(validation = Rule::new(COUNT_OR_PERCENT).message(COUNT_OR_PERCENT_MESSAGE))]
    pub max_unavailable: Option<IntOrString>,
}

const COUNT_OR_PERCENT: &str = "type(self) == int ? self >= 0 && self <= 2147483647 : (size(self) <= 4 && self.matches('^([0-9]|[1-9][0-9]|100)%$'))";
const COUNT_OR_PERCENT_MESSAGE: &str = "must be a number of pods, 0 or more, or a percentage from 0% to 100%";

/// How tightly pods are confined.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Security {
    /// Default seccomp profile, no privilege escalation, no service-account token.
    #[default]
    Baseline,
    /// Also: not as root, and without any capability.
    Restricted,
}

impl Security {
    fn is_baseline(&self) -> bool {
        *self == Self::Baseline
    }
}

/// Where the application stands, in one word.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Phase {
    /// Nothing runs yet, and nothing can be started now: the Ready condition says why.
    #[default]
    Pending,
    /// Pods are being started, replaced or stopped.
    Progressing,
    /// All pods asked for are ready and run the image asked for.
    Running,
    /// Not all is as asked for (too few pods, or pods of an earlier image), and that will not change by itself.
    Degraded,
    /// No pods are asked for, and none run.
    ScaledToZero,
    /// `spec.paused` is true.
    Paused,
}

/// What is known of a MyApp.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct MyAppStatus {
    /// Where the application stands, in one word.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phase: Option<Phase>,
    /// Ready pods of those asked for, for example `2/3`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ready: Option<String>,
    /// Pods that exist.
    #[serde(default)]
    pub replicas: i32,
    /// Pods that are ready.
    #[serde(default)]
    pub ready_replicas: i32,
    /// Pods that run the present template.
    #[serde(default)]
    pub updated_replicas: i32,
    /// The image that all pods run; until a rollout has ended, the one before it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image: Option<String>,
    /// The pods' label selector, as autoscalers read it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub selector: Option<String>,
    /// The part that every kind shares.
    #[serde(flatten)]
    pub contract: Contract,
}

impl Status for MyAppStatus {
    fn contract(&self) -> &Contract {
        &self.contract
    }
    fn contract_mut(&mut self) -> &mut Contract {
        &mut self.contract
    }
    fn fall_short(&mut self) {
        self.phase = Some(if self.replicas == 0 { Phase::Pending } else { Phase::Degraded });
    }
}
