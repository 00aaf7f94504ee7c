//! Pure: the containers of a member's pod: the agent, which lets it start when it may, and etcd.

use std::time::Duration;

use agent_protocol::{Arguments, EtcdRun, EtcdWait, Expect, MemberArgs, START_VARIABLE, Seconds};
use etcd_sizing::Limits;
use k8s_openapi::api::core::v1::{
    Container, ContainerPort, EnvVar, EnvVarSource, ObjectFieldSelector, ResourceRequirements, VolumeMount,
};
use runtime::pod::{self, command_line, mount, restricted_container};

use super::given::{is_given, largest_request, quota_follows_volume};
use super::ports::{CLIENT_PORT, METRICS_PORT, PEER_PORT, VOLUME_PORT};
use super::probes;
use super::programs::{AGENT, AGENT_PATH, ETCD, ETCD_PATH, WAIT};
use super::start::{START, Start};
use crate::EtcdCluster;
use crate::plan::names::{client_url, peer_url, peers_url};
use crate::plan::wish::Wish;

/// The volume with a member's data.
pub(super) const DATA_VOLUME: &str = "etcd-data";
/// The volume that lives as long as the pod, with the agent in it.
pub(super) const AGENT_VOLUME: &str = "agent";
const AGENT_DIR: &str = "/multi-operator";
/// Where the init step copies the agent to.
const INSTALLED_AGENT: &str = "/multi-operator/agent";
/// How many seconds the init step waits for a name before it is started again.
const DNS_TIMEOUT: u64 = 120;
/// The variables that the agent goes by.
const AGENTS_OWN: [&str; 3] = ["POD_IP", START_VARIABLE, "TERMINATION_LOG"];
const DATA_MOUNT: &str = "/var/etcd";
const DATA_DIR: &str = "/var/etcd/data";

/// The init steps. Before etcd 3.4 a member votes as soon as it is listed, so there its image must have proved to run
/// before that.
pub(super) fn init(cluster: &EtcdCluster, agent: &str, wish: &Wish, member: &str, start: Start) -> Vec<Container> {
    let mut steps = Vec::new();
    if start == Start::Join && !wish.version.has_learners() {
        steps.push(trial("try", cluster, wish));
    }
    // For ever, unless the spec says otherwise; but a step that fails and is started again also says why it waits.
    let timeout = cluster.spec.pod.as_ref().map_or(0, |pod| pod.dns_timeout_in_second);
    let timeout = u64::try_from(timeout).ok().filter(|timeout| *timeout > 0).unwrap_or(DNS_TIMEOUT);
    let wait = EtcdWait {
        install: Some(AGENT_DIR.into()),
        member: place(cluster, member, start),
        dns_timeout: Seconds(Duration::from_secs(timeout)),
    };
    steps.push(Container {
        name: WAIT.to_owned(),
        image: Some(agent.to_owned()),
        command: Some(wait.command(AGENT_PATH)),
        env: Some(own(start)),
        resources: resources(cluster),
        security_context: Some(restricted_container()),
        volume_mounts: Some(mounts()),
        ..Container::default()
    });
    steps
}

/// Shows that the image can be pulled, and that etcd is in it.
pub(super) fn trial(name: &str, cluster: &EtcdCluster, wish: &Wish) -> Container {
    Container {
        name: name.to_owned(),
        image: Some(wish.image()),
        command: Some(command_line(&[ETCD_PATH, "--version"])),
        resources: resources(cluster),
        security_context: Some(restricted_container()),
        ..Container::default()
    }
}

/// Shows that the agent's image can be pulled, and that the agent runs here.
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

/// The variables that the spec gives. What the agent goes by is not the spec's, not even in objects from before the API refused it.
pub(super) fn given(cluster: &EtcdCluster) -> impl Iterator<Item = EnvVar> {
    let given = cluster.spec.pod.iter().flat_map(|pod| &pod.etcd_env);
    given.filter(|variable| !AGENTS_OWN.contains(&variable.name.as_str())).cloned()
}

/// etcd itself. The agent stands before it at every start, lest a member that lost its data votes as if it had not.
///
/// `token` goes into the ids of a cluster that is new, so that no two clusters ever have the same, be they of one object.
pub(super) fn etcd(
    cluster: &EtcdCluster,
    wish: &Wish,
    member: &str,
    start: Start,
    token: &str,
    volume: Option<u64>,
) -> Container {
    let mut command = arguments(cluster, wish, member);
    command.extend(volume.into_iter().flat_map(|volume| compaction(cluster, wish, volume)));
    command.push(format!("--initial-cluster-token={token}"));
    let run = EtcdRun {
        state: AGENT_DIR.into(),
        member: place(cluster, member, start),
        command,
        ..volume.map_or_else(EtcdRun::default, |volume| limits(cluster, volume))
    };
    let mut env = own(start);
    env.extend(given(cluster));
    let port = |name: &str, port| ContainerPort {
        name: Some(name.to_owned()),
        container_port: port,
        protocol: Some("TCP".to_owned()),
        ..ContainerPort::default()
    };
    let mut ports = vec![port("server", PEER_PORT), port("client", CLIENT_PORT)];
    if probes::has_metrics_listener(&wish.version) {
        ports.push(port("metrics", METRICS_PORT));
    }
    ports.extend(volume.map(|_| port("volume", VOLUME_PORT.into())));
    Container {
        name: ETCD.to_owned(),
        image: Some(wish.image()),
        command: Some(run.command(INSTALLED_AGENT)),
        env: Some(env),
        ports: Some(ports),
        resources: resources(cluster),
        startup_probe: Some(probes::startup(&wish.version)),
        liveness_probe: Some(probes::liveness(&wish.version)),
        readiness_probe: Some(probes::readiness(&wish.version)),
        security_context: Some(restricted_container()),
        // Its last words tell a corrupt volume from a bad flag.
        termination_message_policy: Some("FallbackToLogsOnError".to_owned()),
        volume_mounts: Some(mounts()),
        ..Container::default()
    }
}

/// What the agent is told of a member. The first one of a new cluster is no first one any more once the cluster is there, in the same
/// pod: where its volume and its node's folder of the pod are lost together, nothing else keeps it from beginning an empty one.
fn place(cluster: &EtcdCluster, member: &str, start: Start) -> MemberArgs {
    MemberArgs {
        name: member.to_owned(),
        peer_url: peer_url(cluster, member),
        peers_url: Some(peers_url(cluster)),
        data_dir: DATA_DIR.into(),
        expect: match start {
            // By the variable with its pod's annotation: kubelets read that again at each start.
            Start::New => Expect::Variable,
            Start::Join => Expect::Join,
            Start::Again => Expect::Data,
        },
    }
}

/// etcd and its arguments. Which members there are, the agent adds at the first start.
fn arguments(cluster: &EtcdCluster, wish: &Wish, member: &str) -> Vec<String> {
    let mut arguments = vec![
        ETCD_PATH.to_owned(),
        format!("--name={member}"),
        format!("--data-dir={DATA_DIR}"),
        format!("--initial-advertise-peer-urls={}", peer_url(cluster, member)),
        format!("--listen-peer-urls=http://0.0.0.0:{PEER_PORT}"),
        format!("--listen-client-urls=http://0.0.0.0:{CLIENT_PORT}"),
        format!("--advertise-client-urls={}", client_url(cluster, member)),
    ];
    if probes::has_metrics_listener(&wish.version) {
        arguments.push(format!("--listen-metrics-urls=http://0.0.0.0:{METRICS_PORT}"));
    }
    if let Some(bytes) = cluster.spec.quota.as_deref().and_then(crate::plan::size::bytes) {
        arguments.push(format!("--quota-backend-bytes={bytes}"));
    }
    arguments.extend(cluster.spec.options.iter().map(|(name, value)| format!("--{name}={value}")));
    arguments
}

/// What makes etcd fit its volume, as far as the spec does not say otherwise, in docs/etcd-cluster.md: for the agent, which
/// lowers it where the file system has less than the claim asks for, and tells how full that is.
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

/// What keeps databases on volumes from growing by what keys were before, as far as the spec does not say otherwise.
fn compaction(cluster: &EtcdCluster, wish: &Wish, volume: u64) -> Vec<String> {
    if is_given(cluster, "auto-compaction-mode") || is_given(cluster, "auto-compaction-retention") {
        return Vec::new();
    }
    // Before 3.3 there is one mode, and it counts in hours. Later versions read that as hours, too, should the pod come to them.
    if !wish.version.at_least(3, 3, 0) {
        return command_line(&["--auto-compaction-retention=1"]);
    }
    let minutes = etcd_sizing::compaction_minutes(volume);
    vec!["--auto-compaction-mode=periodic".to_owned(), format!("--auto-compaction-retention={minutes}m")]
}

fn mounts() -> Vec<VolumeMount> {
    vec![mount(DATA_VOLUME, DATA_MOUNT), mount(AGENT_VOLUME, AGENT_DIR)]
}

/// The agent's variables.
fn own(start: Start) -> Vec<EnvVar> {
    let begins = (start == Start::New).then(|| of_pod(START_VARIABLE, &format!("metadata.annotations['{START}']")));
    [of_pod("POD_IP", "status.podIP")].into_iter().chain(begins).collect()
}

/// A variable with a field of the pod.
fn of_pod(name: &str, path: &str) -> EnvVar {
    let field = ObjectFieldSelector { field_path: path.to_owned(), api_version: None };
    EnvVar {
        name: name.to_owned(),
        value_from: Some(EnvVarSource { field_ref: Some(field), ..EnvVarSource::default() }),
        value: None,
    }
}

fn resources(cluster: &EtcdCluster) -> Option<ResourceRequirements> {
    Some(pod::resources(cluster.spec.pod.as_ref().and_then(|pod| pod.resources.as_ref())))
}
