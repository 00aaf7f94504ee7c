//! Pure: the container of the server, and the volumes of its pod.

use std::time::Duration;

use agent_protocol::{AgentCommand, PgReady, PgRun, Seconds};
use k8s_openapi::api::core::v1::{
    ConfigMapVolumeSource, Container, ContainerPort, EmptyDirVolumeSource, ExecAction, Probe, Volume, VolumeMount,
};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use runtime::pod::{claim_volume, mount};

use crate::database::pinned::Pinned;
use crate::database::tuning;
use crate::operand::kinds::{SampleDB, Snapshot};
use crate::operand::names::{self, PORT, SERVER};
use crate::operand::pod::{self, INSTALLED_AGENT, PGDATA, PodContext};

/// Where the server's parameters are mounted.
pub(crate) const CONFIGURATION: &str = "/etc/sampledb";

/// The container with PostgreSQL.
pub(super) fn postgres(db: &SampleDB, context: &PodContext<'_>) -> Container {
    let reserve = u64::try_from(tuning::reserve(db)).ok();
    let run = PgRun { data: PGDATA.into(), reserve, configuration: Some(CONFIGURATION.into()), ..PgRun::default() };
    let mounts = vec![pod::data_mount(), configuration_mount(), mount("shm", "/dev/shm")];
    let check = |wait: u64| {
        let ready = PgReady { data: Some(PGDATA.into()), reserve, wait: Seconds(Duration::from_secs(wait)) };
        Some(ExecAction { command: Some(ready.command(INSTALLED_AGENT)) })
    };
    let probe = Probe {
        exec: check(0),
        // Each costs the node about 90 ms of CPU time, most of it for starting a process in the container.
        period_seconds: Some(5),
        timeout_seconds: Some(5),
        failure_threshold: Some(3),
        ..Probe::default()
    };
    Container {
        ports: Some(vec![ContainerPort {
            name: Some("postgresql".to_owned()),
            container_port: PORT,
            protocol: Some("TCP".to_owned()),
            ..ContainerPort::default()
        }]),
        // Recovery after a crash has no limit.
        startup_probe: Some(Probe {
            // The first probe waits for the server, so the kubelet need not run a second one.
            exec: check(3),
            period_seconds: Some(1),
            failure_threshold: Some(3600),
            ..probe.clone()
        }),
        readiness_probe: Some(probe),
        termination_message_policy: Some("FallbackToLogsOnError".to_owned()),
        ..context.engine(SERVER, run.argv(), Vec::new(), mounts)
    }
}

/// The argument with which the agent falls back to the last settings that the server ran with.
pub(super) fn fallback_argument() -> Option<String> {
    PgRun { configuration: Some(CONFIGURATION.into()), ..PgRun::default() }.argv().pop()
}

pub(super) fn configuration_mount() -> VolumeMount {
    mount("configuration", CONFIGURATION)
}

/// The volumes of the pod.
pub(super) fn volumes(db: &SampleDB, pinned: &Pinned, source: Option<&Snapshot>) -> Vec<Volume> {
    let memory = EmptyDirVolumeSource {
        medium: Some("Memory".to_owned()),
        // Parallel queries share memory there; a container has only 64 MiB by default.
        size_limit: Some(Quantity("512Mi".to_owned())),
    };
    let map = ConfigMapVolumeSource { name: names::server_config_map(db), ..ConfigMapVolumeSource::default() };
    let mut volumes = vec![
        claim_volume("data", &pinned.claim),
        Volume { name: "configuration".to_owned(), config_map: Some(map), ..Volume::default() },
        Volume { name: "shm".to_owned(), empty_dir: Some(memory), ..Volume::default() },
    ];
    let claim = source.and_then(|source| source.status.location.claim.as_deref());
    volumes.extend(claim.map(|claim| claim_volume("snapshots", claim)));
    volumes
}
