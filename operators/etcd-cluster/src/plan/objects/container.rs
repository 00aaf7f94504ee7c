//! Pure: the containers of a member's pod: the init step with the agent, and etcd.

use std::time::Duration;

use agent_protocol::{AgentCommand, EtcdRun, EtcdWait, Expect, MemberArgs, START_VARIABLE, Seconds};
use etcd_sizing::Limits;
use k8s_openapi::api::core::v1::{
    Container, ContainerPort, EnvVar, EnvVarSource, ObjectFieldSelector, ResourceRequirements, VolumeMount,
};
use runtime::pod::{self, command_line, mount, restricted_container};

use super::given::{is_given, largest_request, quota_follows_volume};
use super::initial_state::{InitialState, START};
use super::ports::{CLIENT_PORT, METRICS_PORT, PEER_PORT, VOLUME_PORT};
use super::programs::{AGENT, AGENT_PATH, ETCD, ETCD_PATH, WAIT};
use super::{probes, tls};
use crate::EtcdCluster;
use crate::plan::desired::Desired;
use crate::plan::names::{client_url, peer_url, peers_url};

/// The volume with a member's data.
pub(super) const DATA_VOLUME: &str = "etcd-data";
/// The volume with the agent, which exists as long as the pod.
pub(super) const AGENT_VOLUME: &str = "agent";
pub(super) const AGENT_DIR: &str = "/multi-operator";
/// The path to which the init step copies the agent.
pub(super) const INSTALLED_AGENT: &str = "/multi-operator/agent";
/// How many seconds the init step waits for a DNS name before it restarts.
const DNS_TIMEOUT: u64 = 120;
/// The environment variables that the agent reads.
const AGENT_VARIABLES: [&str; 3] = ["POD_IP", START_VARIABLE, "TERMINATION_LOG"];
const DATA_MOUNT: &str = "/var/etcd";
const DATA_DIR: &str = "/var/etcd/data";

/// The init steps. Before etcd 3.4 a member votes as soon as it is listed, so one of them checks first that the image runs.
pub(super) fn init(
    cluster: &EtcdCluster,
    agent: &str,
    desired: &Desired,
    member: &str,
    state: InitialState,
) -> Vec<Container> {
    let mut steps = Vec::new();
    if state == InitialState::Existing && !desired.version.has_learners() {
        steps.push(trial("try", cluster, desired));
    }
    // It waits forever, unless the spec limits that. But a step that fails and restarts also reports why it waits.
    let timeout = cluster.spec.pod.as_ref().map_or(0, |pod| pod.dns_timeout_in_second);
    let timeout = u64::try_from(timeout).ok().filter(|timeout| *timeout > 0).unwrap_or(DNS_TIMEOUT);
    let wait = EtcdWait {
        install: Some(AGENT_DIR.into()),
        member: joining_args(cluster, desired, member, state),
        dns_timeout: Seconds(Duration::from_secs(timeout)),
    };
    steps.push(Container {
        name: WAIT.to_owned(),
        image: Some(agent.to_owned()),
        command: Some(wait.command(AGENT_PATH)),
        env: Some(agent_variables(state)),
        resources: resources(cluster),
        security_context: Some(restricted_container()),
        volume_mounts: Some(mounts_with_tls(cluster)),
        ..Container::default()
    });
    steps
}

/// Checks that the image can be pulled and has etcd.
pub(super) fn trial(name: &str, cluster: &EtcdCluster, desired: &Desired) -> Container {
    Container {
        name: name.to_owned(),
        image: Some(desired.image()),
        command: Some(command_line(&[ETCD_PATH, "--version"])),
        resources: resources(cluster),
        security_context: Some(restricted_container()),
        ..Container::default()
    }
}

/// Checks that the agent's image can be pulled, and that the agent runs.
pub(super) fn agent_trial(cluster: &EtcdCluster, image: &str) -> Container {
    Container {
        name: AGENT.to_owned(),
        image: Some(image.to_owned()),
        command: Some(command_line(&[AGENT_PATH, agent_protocol::VERSION_FLAG])),
        resources: resources(cluster),
        security_context: Some(restricted_container()),
        ..Container::default()
    }
}

/// The environment variables in the spec; not those of the agent, which objects may have that are older than their rejection by
/// the API.
pub(super) fn spec_variables(cluster: &EtcdCluster) -> impl Iterator<Item = EnvVar> {
    let variables = cluster.spec.pod.iter().flat_map(|pod| &pod.etcd_env);
    variables.filter(|variable| !AGENT_VARIABLES.contains(&variable.name.as_str())).cloned()
}

/// The container of etcd. The agent starts etcd, so that a member that has lost its data does not vote as if it had not.
///
/// `token` goes into the ids of a new cluster, so that no two clusters ever have the same ids, even if they belong to one object.
pub(super) fn etcd(
    cluster: &EtcdCluster,
    desired: &Desired,
    member: &str,
    state: InitialState,
    token: &str,
    volume: Option<u64>,
) -> Container {
    let mut command = arguments(cluster, desired, member);
    command.extend(volume.into_iter().flat_map(|volume| compaction(cluster, desired, volume)));
    command.push(format!("--initial-cluster-token={token}"));
    let run = EtcdRun {
        state: AGENT_DIR.into(),
        member: joining_args(cluster, desired, member, state),
        server_tls: tls::server_dir(cluster).map(Into::into),
        command,
        ..volume.map_or_else(EtcdRun::default, |volume| limits(cluster, volume))
    };
    let mut env = agent_variables(state);
    env.extend(spec_variables(cluster));
    let port = |name: &str, port| ContainerPort {
        name: Some(name.to_owned()),
        container_port: port,
        protocol: Some("TCP".to_owned()),
        ..ContainerPort::default()
    };
    let mut ports = vec![port("server", PEER_PORT), port("client", CLIENT_PORT)];
    if probes::has_metrics_listener(&desired.version) {
        ports.push(port("metrics", METRICS_PORT));
    }
    ports.extend(volume.map(|_| port("volume", VOLUME_PORT.into())));
    Container {
        name: ETCD.to_owned(),
        image: Some(desired.image()),
        command: Some(run.command(INSTALLED_AGENT)),
        env: Some(env),
        ports: Some(ports),
        resources: resources(cluster),
        startup_probe: Some(probes::startup(&desired.version)),
        liveness_probe: Some(probes::liveness(&desired.version)),
        readiness_probe: Some(probes::readiness(&desired.version)),
        security_context: Some(restricted_container()),
        // The termination message tells a corrupt volume from a bad flag.
        termination_message_policy: Some("FallbackToLogsOnError".to_owned()),
        volume_mounts: Some(mounts_with_tls(cluster)),
        ..Container::default()
    }
}

/// The arguments of the agent, which for a joining member have the members of the cluster that is taken over.
fn joining_args(cluster: &EtcdCluster, desired: &Desired, member: &str, state: InitialState) -> MemberArgs {
    let joins = state == InitialState::Existing;
    let earlier_peers = if joins { desired.earlier_peers.clone() } else { Vec::new() };
    MemberArgs { earlier_peers, ..member_args(cluster, member, state) }
}

/// The arguments of the agent. The first member's pod must not bootstrap again once the cluster exists: if its volume and the
/// pod's directory on the node are lost together, nothing else keeps it from bootstrapping an empty cluster.
pub(super) fn member_args(cluster: &EtcdCluster, member: &str, state: InitialState) -> MemberArgs {
    MemberArgs {
        name: member.to_owned(),
        peer_url: peer_url(cluster, member),
        peers_url: Some(peers_url(cluster)),
        data_dir: DATA_DIR.into(),
        expect: match state {
            // By the variable with the annotation of the pod, which kubelets read again at each start.
            InitialState::New => Expect::Variable,
            InitialState::Existing => Expect::Join,
            InitialState::Restart | InitialState::Recover => Expect::Data,
        },
        earlier_peers: Vec::new(),
        peer_tls: tls::peer_dir(cluster).map(Into::into),
    }
}

/// etcd and its arguments. The agent adds the members at the first start.
fn arguments(cluster: &EtcdCluster, desired: &Desired, member: &str) -> Vec<String> {
    let [peers, clients] = tls::listeners(cluster);
    let mut arguments = vec![
        ETCD_PATH.to_owned(),
        format!("--name={member}"),
        format!("--data-dir={DATA_DIR}"),
        format!("--initial-advertise-peer-urls={}", peer_url(cluster, member)),
        peers,
        clients,
        format!("--advertise-client-urls={}", client_url(cluster, member)),
    ];
    if probes::has_metrics_listener(&desired.version) {
        arguments.push(format!("--listen-metrics-urls=http://0.0.0.0:{METRICS_PORT}"));
    }
    if let Some(bytes) = cluster.spec.quota.as_deref().and_then(crate::plan::size::bytes) {
        arguments.push(format!("--quota-backend-bytes={bytes}"));
    }
    arguments.extend(cluster.spec.options.iter().map(|(name, value)| format!("--{name}={value}")));
    arguments
}

/// The limits that make etcd fit its volume, unless the spec sets them (docs/etcd-cluster.md). The agent lowers them if the file
/// system is smaller than the PVC, and reports its usage.
fn limits(cluster: &EtcdCluster, volume: u64) -> EtcdRun {
    let Limits { reserve, quota, snapshot_count } = Limits::of(volume, largest_request(cluster));
    EtcdRun {
        reserve: Some(reserve),
        volume_port: Some(VOLUME_PORT),
        quota: quota_follows_volume(cluster).then_some(quota),
        snapshot_count: (!is_given(cluster, "snapshot-count")).then_some(snapshot_count),
        ..EtcdRun::default()
    }
}

/// The options that compact old revisions of keys in databases on volumes, unless the spec sets them.
fn compaction(cluster: &EtcdCluster, desired: &Desired, volume: u64) -> Vec<String> {
    if is_given(cluster, "auto-compaction-mode") || is_given(cluster, "auto-compaction-retention") {
        return Vec::new();
    }
    // Before 3.3 there is one mode, and it counts in hours. Later versions read the value as hours, too, if the pod is upgraded
    // to them.
    if !desired.version.at_least(3, 3, 0) {
        return command_line(&["--auto-compaction-retention=1"]);
    }
    let minutes = etcd_sizing::compaction_minutes(volume);
    vec!["--auto-compaction-mode=periodic".to_owned(), format!("--auto-compaction-retention={minutes}m")]
}

pub(super) fn mounts() -> Vec<VolumeMount> {
    vec![mount(DATA_VOLUME, DATA_MOUNT), mount(AGENT_VOLUME, AGENT_DIR)]
}

fn mounts_with_tls(cluster: &EtcdCluster) -> Vec<VolumeMount> {
    mounts().into_iter().chain(tls::mounts(cluster)).collect()
}

/// The environment variables of the agent.
pub(super) fn agent_variables(state: InitialState) -> Vec<EnvVar> {
    let annotation = matches!(state, InitialState::New | InitialState::Recover)
        .then(|| pod_field(START_VARIABLE, &format!("metadata.annotations['{START}']")));
    [pod_field("POD_IP", "status.podIP")].into_iter().chain(annotation).collect()
}

/// An environment variable with a field of the pod.
fn pod_field(name: &str, path: &str) -> EnvVar {
    let field = ObjectFieldSelector { field_path: path.to_owned(), api_version: None };
    EnvVar {
        name: name.to_owned(),
        value_from: Some(EnvVarSource { field_ref: Some(field), ..EnvVarSource::default() }),
        value: None,
    }
}

pub(super) fn resources(cluster: &EtcdCluster) -> Option<ResourceRequirements> {
    Some(pod::resources(cluster.spec.pod.as_ref().and_then(|pod| pod.resources.as_ref())))
}
