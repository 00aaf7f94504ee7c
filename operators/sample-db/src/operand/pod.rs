//! Pure: what the server's pod and the pods of Jobs have in common: the agent next to the engine's programs, without a shell.

use std::borrow::Cow;

use agent_protocol::{AgentCommand, Install};
use api::sample_db::Scheduling;
use k8s_openapi::api::core::v1::{Container, EnvVar, EnvVarSource, PodSpec, SecretKeySelector, Volume, VolumeMount};
use runtime::pod::{empty_volume, mount, non_empty, resources, restricted, restricted_container};
use runtime::projections::Pod;

/// Whether a pod has its volume, and so may start again or complete. A pod that was created after its PVC was deleted is bound to
/// no node.
pub(crate) fn has_volume(pod: &Pod) -> bool {
    let Some(running) = pod.details.as_deref().filter(|_| !pod.meta.deleting) else { return false };
    let has_run = running.containers.iter().any(|of| of.running || of.terminated.is_some());
    has_run || running.ready || running.node.is_some()
}

/// The directory that the agent is installed into.
pub(crate) const AGENT_DIR: &str = "/multi-operator";
/// The agent's path in the engine's containers.
pub(crate) const INSTALLED_AGENT: &str = "/multi-operator/agent";
/// The agent's volume, which lives as long as the pod.
const AGENT_VOLUME: &str = "agent";
/// The user of the official images.
const USER: i64 = 999;
/// The mount path of the data volume.
const DATA_MOUNT: &str = "/var/lib/postgresql/data";
/// The data directory: a subdirectory of the volume, whose root directory may have another owner.
pub(crate) const PGDATA: &str = "/var/lib/postgresql/data/pgdata";
/// The mount path of the snapshot volume.
pub(crate) const SNAPSHOTS: &str = "/snapshots";

/// Label of a Job's pods with the name of their database, for network policies.
pub(crate) const DATABASE: &str = "multi-operator.example.com/sampledb";

/// The scheduling, images and user of a pod of a database.
#[derive(Clone, Debug)]
pub(crate) struct PodContext<'a> {
    /// Scheduling and resources of the SampleDB.
    pub(crate) scheduling: Cow<'a, Scheduling>,
    /// The image with the engine's programs.
    pub(crate) engine: &'a str,
    /// The image with the agent.
    pub(crate) agent: &'a str,
    /// Whether the namespace assigns the users that pods run as, so that pods do not set one.
    pub(crate) namespace_assigns_uids: bool,
}

impl PodContext<'_> {
    /// The spec of a pod whose first init container installs the agent.
    pub(crate) fn spec(&self, mut steps: Vec<Container>, containers: Vec<Container>, volumes: Vec<Volume>) -> PodSpec {
        let of = &*self.scheduling;
        let install = Container {
            name: "install".to_owned(),
            image: Some(self.agent.to_owned()),
            command: Some(Install { directory: AGENT_DIR.into(), passwd: Some(PASSWD.into()) }.command("/agent")),
            resources: Some(resources(of.resources.as_ref())),
            security_context: Some(restricted_container()),
            volume_mounts: Some(vec![mount(AGENT_VOLUME, AGENT_DIR)]),
            ..Container::default()
        };
        steps.insert(0, install);
        let mut all = [AGENT_VOLUME, "run", "tmp"].map(empty_volume).to_vec();
        all.extend(volumes);
        PodSpec {
            init_containers: Some(steps),
            containers,
            volumes: Some(all),
            automount_service_account_token: Some(false),
            enable_service_links: Some(false),
            security_context: Some(
                of.pod_security_context.clone().unwrap_or_else(|| restricted(USER, self.namespace_assigns_uids)),
            ),
            affinity: of.affinity.clone(),
            tolerations: non_empty(of.tolerations.clone()),
            node_selector: (!of.node_selector.is_empty()).then(|| of.node_selector.clone()),
            topology_spread_constraints: non_empty(of.topology_spread_constraints.clone()),
            priority_class_name: of.priority_class_name.clone(),
            image_pull_secrets: non_empty(of.image_pull_secrets.clone()),
            ..PodSpec::default()
        }
    }

    /// A container in which the agent runs with the engine's programs.
    pub(crate) fn engine(
        &self,
        name: &str,
        arguments: Vec<String>,
        env: Vec<EnvVar>,
        mounts: Vec<VolumeMount>,
    ) -> Container {
        let mut command = vec![INSTALLED_AGENT.to_owned()];
        command.extend(arguments);
        let mut all = vec![mount(AGENT_VOLUME, AGENT_DIR), mount("run", "/var/run/postgresql"), mount("tmp", "/tmp")];
        // The user may have no name, which PostgreSQL's programs require.
        all.push(VolumeMount { sub_path: Some("passwd".to_owned()), ..mount(AGENT_VOLUME, "/etc/passwd") });
        all.extend(mounts);
        Container {
            name: name.to_owned(),
            image: Some(self.engine.to_owned()),
            command: Some(command),
            env: Some(env),
            resources: Some(resources(self.scheduling.resources.as_ref())),
            security_context: Some(restricted_container()),
            volume_mounts: Some(all),
            ..Container::default()
        }
    }
}

/// The passwd file, in the agent's volume.
const PASSWD: &str = "/multi-operator/passwd";

/// The mount of the data volume.
pub(crate) fn data_mount() -> VolumeMount {
    mount("data", DATA_MOUNT)
}

/// Label of pods that need no network: code of a user may run in most of them. The network policy of instances allows them no
/// traffic in either direction.
pub(crate) const ISOLATED: &str = "multi-operator.example.com/isolated";

/// The mount of the snapshots for pods that only read them: code of a user that gets access to the pod's file system cannot
/// destroy any.
pub(crate) fn read_only_snapshots_mount() -> VolumeMount {
    VolumeMount { read_only: Some(true), ..mount("snapshots", SNAPSHOTS) }
}

/// An environment variable from a Secret.
pub(crate) fn secret_env(name: &str, secret: &str, key: &str) -> EnvVar {
    let key = SecretKeySelector { name: secret.to_owned(), key: key.to_owned(), optional: None };
    EnvVar {
        name: name.to_owned(),
        value_from: Some(EnvVarSource { secret_key_ref: Some(key), ..EnvVarSource::default() }),
        value: None,
    }
}
