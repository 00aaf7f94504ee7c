//! Pure: the pods of Jobs in which the agent works with etcd's programs, and what a Job without a pod is reported as.

use std::collections::BTreeMap;
use std::sync::Arc;

use agent_protocol::{AgentCommand, AgentExit, Install};
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::{Container, PodSpec, Volume, VolumeMount};
use runtime::job::WORK;
use runtime::job::template::JobTemplate;
use runtime::plan::meta::{self, OWNER_KIND, child_meta};
use runtime::plan::{Key, Meta, ResourceKind};
use runtime::pod::{empty_volume, mount, resources, restricted, restricted_container};
use runtime::projections::{Job, Pod};

use crate::plan::objects::USER;

/// The volume with the agent, and its directory.
const AGENT_VOLUME: &str = "agent";
const AGENT_DIR: &str = "/multi-operator";
const INSTALLED_AGENT: &str = "/multi-operator/agent";
/// The volume that a snapshot is restored into, and its directory.
const SCRATCH_VOLUME: &str = "scratch";
pub(crate) const SCRATCH_DIR: &str = "/scratch";

/// After how long a condition reports that a Job has no pod. The Job controller takes less than a second.
const WITHOUT_POD: SignedDuration = SignedDuration::from_mins(1);

/// What such a pod is made of.
pub(crate) struct AgentPod<'a> {
    pub(crate) agent_image: &'a str,
    /// The image with etcd's programs.
    pub(crate) image: &'a str,
    pub(crate) volumes: Vec<Volume>,
    pub(crate) mounts: Vec<VolumeMount>,
    pub(crate) resources: Option<&'a api::my_app::Resources>,
    pub(crate) namespace_assigns_uids: bool,
}

impl AgentPod<'_> {
    /// The pod that runs `command`, with a scratch volume in addition.
    pub(crate) fn running(self, command: &impl AgentCommand) -> PodSpec {
        let container = |name: &str, image: &str, command: Vec<String>| Container {
            name: name.to_owned(),
            image: Some(image.to_owned()),
            command: Some(command),
            resources: Some(resources(self.resources)),
            security_context: Some(restricted_container()),
            ..Container::default()
        };
        let install = Install { directory: AGENT_DIR.into(), passwd: None }.command("/agent");
        let install = Container {
            volume_mounts: Some(vec![mount(AGENT_VOLUME, AGENT_DIR)]),
            ..container("install", self.agent_image, install)
        };
        let own = [mount(AGENT_VOLUME, AGENT_DIR), mount(SCRATCH_VOLUME, SCRATCH_DIR)];
        let work = Container {
            volume_mounts: Some(own.into_iter().chain(self.mounts).collect()),
            ..container(WORK, self.image, command.command(INSTALLED_AGENT))
        };
        let own = [empty_volume(AGENT_VOLUME), empty_volume(SCRATCH_VOLUME)];
        PodSpec {
            init_containers: Some(vec![install]),
            containers: vec![work],
            volumes: Some(own.into_iter().chain(self.volumes).collect()),
            automount_service_account_token: Some(false),
            enable_service_links: Some(false),
            security_context: Some(restricted(USER, self.namespace_assigns_uids)),
            ..PodSpec::default()
        }
    }
}

/// The Job of an object, with that pod. The operator tries again, with a status that says why, so the Job does not.
pub(crate) fn job(kind: &ResourceKind, owner: &Meta, key: Key, pod: PodSpec, deadline_seconds: i64) -> JobTemplate {
    let mut labels: BTreeMap<String, String> = meta::labels(kind, owner);
    labels.insert(OWNER_KIND.to_owned(), kind.qualified());
    JobTemplate {
        key,
        labels,
        owners: child_meta(kind, owner).owner_references,
        pod,
        pod_annotations: None,
        deadline_seconds,
        retries: 0,
        ttl_seconds: None,
        final_exit_codes: vec![AgentExit::Failed as i32, AgentExit::Lasting as i32],
    }
}

/// Since when a Job has had no pod, if that is long.
pub(crate) fn without_pod_since(jobs: &[Arc<Job>], pods: &[Arc<Pod>], name: &str, now: Timestamp) -> Option<Timestamp> {
    let created = runtime::job::find(jobs, name).filter(|job| job.end.is_none())?.created?;
    let long = now.duration_since(created) >= WITHOUT_POD;
    (long && !runtime::job::has_pod(pods, name)).then_some(created)
}

/// That, as messages say it.
pub(crate) fn no_pod(job: &str, since: Timestamp) -> String {
    format!(
        "Kubernetes' Job controller has created no pod for its Job since {since:.0}: kubectl describe job {job} says why, for example a \
         quota"
    )
}
