//! What the server's pod and the pods of Jobs have in common: the agent beside the engine's programs, without a shell.

use std::borrow::Cow;

use api::sample_db::Scheduling;
use k8s_openapi::api::core::v1::{
    Capabilities, Container, EmptyDirVolumeSource, EnvVar, EnvVarSource, PersistentVolumeClaimVolumeSource,
    PodSecurityContext, PodSpec, ResourceRequirements, SeccompProfile, SecretKeySelector, SecurityContext, Volume,
    VolumeMount,
};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;

/// Where the agent is put.
pub(crate) const AGENT_DIR: &str = "/multi-operator";
/// The volume of it, which lives as long as the pod.
const AGENT_VOLUME: &str = "agent";
/// The user of the official images.
const USER: i64 = 999;
/// Where each volume stands.
const DATA_MOUNT: &str = "/var/lib/postgresql/data";
/// The data folder: within the volume, whose own folder is not ours.
pub(crate) const PGDATA: &str = "/var/lib/postgresql/data/pgdata";
/// Where snapshots are.
pub(crate) const SNAPSHOTS: &str = "/snapshots";

/// Label of pods of Jobs with the name of the database that they are for: by it a policy of the network tells them apart.
pub(crate) const DATABASE: &str = "multi-operator.example.com/sampledb";

/// Where a pod of ours runs, and as whom.
#[derive(Clone, Debug)]
pub(crate) struct Place<'a> {
    /// What the SampleDB says of it.
    pub(crate) scheduling: Cow<'a, Scheduling>,
    /// The image with the engine's programs.
    pub(crate) engine: &'a str,
    /// The image with the agent.
    pub(crate) agent: &'a str,
    /// Whether the namespace dictates whom pods run as: then they ask for nobody.
    pub(crate) dictated_users: bool,
}

impl Place<'_> {
    /// The spec of a pod whose init steps begin with putting the agent in its place.
    pub(crate) fn spec(&self, mut steps: Vec<Container>, containers: Vec<Container>, volumes: Vec<Volume>) -> PodSpec {
        let of = &*self.scheduling;
        let install = Container {
            name: "install".to_owned(),
            image: Some(self.agent.to_owned()),
            command: Some(words(&["/agent", "install", AGENT_DIR, "--passwd", PASSWD])),
            resources: Some(resources(of)),
            security_context: Some(confined()),
            volume_mounts: Some(vec![mount(AGENT_VOLUME, AGENT_DIR)]),
            ..Container::default()
        };
        steps.insert(0, install);
        let mut all = vec![empty(AGENT_VOLUME), empty("run"), empty("tmp")];
        all.extend(volumes);
        PodSpec {
            init_containers: Some(steps),
            containers,
            volumes: Some(all),
            automount_service_account_token: Some(false),
            enable_service_links: Some(false),
            security_context: Some(of.pod_security_context.clone().unwrap_or_else(|| restricted(self.dictated_users))),
            affinity: of.affinity.clone(),
            tolerations: some(&of.tolerations),
            node_selector: (!of.node_selector.is_empty()).then(|| of.node_selector.clone()),
            topology_spread_constraints: some(&of.topology_spread_constraints),
            priority_class_name: of.priority_class_name.clone(),
            image_pull_secrets: some(&of.image_pull_secrets),
            ..PodSpec::default()
        }
    }

    /// A container in which the agent works with the engine's programs.
    pub(crate) fn engine(
        &self,
        name: &str,
        arguments: Vec<String>,
        env: Vec<EnvVar>,
        mounts: Vec<VolumeMount>,
    ) -> Container {
        let mut command = vec![format!("{AGENT_DIR}/agent")];
        command.extend(arguments);
        let mut all = vec![mount(AGENT_VOLUME, AGENT_DIR), mount("run", "/var/run/postgresql"), mount("tmp", "/tmp")];
        // The user may be one without a name, and PostgreSQL's programs ask for it.
        all.push(VolumeMount { sub_path: Some("passwd".to_owned()), ..mount(AGENT_VOLUME, "/etc/passwd") });
        all.extend(mounts);
        Container {
            name: name.to_owned(),
            image: Some(self.engine.to_owned()),
            command: Some(command),
            env: Some(env),
            resources: Some(resources(&self.scheduling)),
            security_context: Some(confined()),
            volume_mounts: Some(all),
            ..Container::default()
        }
    }
}

/// The passwd file, in the agent's volume.
const PASSWD: &str = "/multi-operator/passwd";

/// The volume of a claim.
pub(crate) fn of_claim(name: &str, claim: &str) -> Volume {
    let claim = PersistentVolumeClaimVolumeSource { claim_name: claim.to_owned(), read_only: None };
    Volume { name: name.to_owned(), persistent_volume_claim: Some(claim), ..Volume::default() }
}

/// An empty volume, which lives as long as the pod.
pub(crate) fn empty(name: &str) -> Volume {
    Volume { name: name.to_owned(), empty_dir: Some(EmptyDirVolumeSource::default()), ..Volume::default() }
}

/// Where the data volume stands.
pub(crate) fn data_mount() -> VolumeMount {
    mount("data", DATA_MOUNT)
}

/// Where a volume stands.
pub(crate) fn mount(name: &str, path: &str) -> VolumeMount {
    VolumeMount { name: name.to_owned(), mount_path: path.to_owned(), ..VolumeMount::default() }
}

/// Label of pods that have business with no other: what a user wrote may run in most of them. The policy of instances lets them neither
/// out nor anybody in.
pub(crate) const ISOLATED: &str = "multi-operator.example.com/isolated";

/// The snapshots, for who only reads them: code of a user's that gets as far as the pod's file system destroys none.
pub(crate) fn snapshots_to_read() -> VolumeMount {
    VolumeMount { read_only: Some(true), ..mount("snapshots", SNAPSHOTS) }
}

/// A variable out of a Secret.
pub(crate) fn secret_env(name: &str, secret: &str, key: &str) -> EnvVar {
    let key = SecretKeySelector { name: secret.to_owned(), key: key.to_owned(), optional: None };
    EnvVar {
        name: name.to_owned(),
        value_from: Some(EnvVarSource { secret_key_ref: Some(key), ..EnvVarSource::default() }),
        value: None,
    }
}

pub(crate) fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

fn some<T: Clone>(list: &[T]) -> Option<Vec<T>> {
    (!list.is_empty()).then(|| list.to_vec())
}

/// As the restricted Pod Security Standard asks, under the images' own user.
fn restricted(dictated: bool) -> PodSecurityContext {
    let user = Some(USER).filter(|_| !dictated);
    PodSecurityContext {
        run_as_non_root: Some(true),
        run_as_user: user,
        run_as_group: user,
        fs_group: user,
        fs_group_change_policy: Some("OnRootMismatch".to_owned()),
        seccomp_profile: Some(SeccompProfile { type_: "RuntimeDefault".to_owned(), localhost_profile: None }),
        ..PodSecurityContext::default()
    }
}

fn confined() -> SecurityContext {
    SecurityContext {
        allow_privilege_escalation: Some(false),
        read_only_root_filesystem: Some(true),
        capabilities: Some(Capabilities { add: None, drop: Some(vec!["ALL".to_owned()]) }),
        ..SecurityContext::default()
    }
}

/// What a container asks for, unless the spec says so: one that asks for nothing is the first to be evicted.
const REQUESTS: [(&str, &str); 2] = [("cpu", "50m"), ("memory", "128Mi")];

pub(super) fn resources(of: &Scheduling) -> ResourceRequirements {
    let requests = || REQUESTS.map(|(name, amount)| (name.to_owned(), Quantity(amount.to_owned()))).into();
    match &of.resources {
        Some(given) => ResourceRequirements::from(given),
        None => ResourceRequirements { requests: Some(requests()), ..ResourceRequirements::default() },
    }
}
