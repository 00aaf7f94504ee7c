//! A pod that has a node, and the processes in it.

use etcd_cluster::plan::version::Version;
use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use crate::agent;
use crate::pods::{ContainerState, PodSeen, Report};
use crate::raft::{Data, Etcds, Process};

/// How long after a restart of a container its pod is still reported as ready. Then it is not ready for as long again, because
/// the startup probe starts again that much later.
const STALE: SignedDuration = SignedDuration::from_secs(2);

/// The state of a scheduled pod.
#[derive(Clone, Debug)]
pub struct Life {
    pub name: String,
    pub node: u8,
    pub ip: String,
    pub stage: Stage,
    pub trial: Option<ContainerState>,
    pub wait: ContainerState,
    pub etcd: ContainerState,
    /// The image of etcd's container.
    pub image: String,
    pub had_data: bool,
    /// Whether the member became the only one of its cluster in this pod.
    pub recovered: bool,
    /// Whether the pod was reported as ready, and since when.
    pub ready: (bool, Timestamp),
}

impl Life {
    /// Whether the startup probe has not started again, or not passed again.
    pub fn is_unstable(&self, now: Timestamp) -> bool {
        let since = self.etcd.since.filter(|_| self.etcd.restarts > 0 && self.etcd.running);
        since.is_some_and(|since| now.duration_since(since) <= STALE)
    }

    /// Whether the startup probe keeps the pod from being ready.
    pub fn is_reprobed(&self, now: Timestamp) -> bool {
        self.is_unstable(now) && self.etcd.since.is_some_and(|since| now.duration_since(since) >= STALE)
    }

    /// The status of the pod, as the kubelet reports it.
    pub fn status(&self) -> Value {
        Report {
            ip: &self.ip,
            unscheduled: None,
            ready: self.ready.0,
            ready_since: Some(self.ready.1),
            trial: self.trial.as_ref(),
            wait: Some(&self.wait),
            etcd: Some(&self.etcd),
            image: &self.image,
        }
        .status()
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    Try,
    Wait,
    Etcd,
}

/// The end of a running process, if it ends.
pub fn ends(etcds: &Etcds, pod: &PodSeen, life: &Life) -> Option<agent::Ended> {
    let Some(data) = etcds.data(&pod.name) else {
        return Some((2, "panic: open /var/etcd/data/member/wal: no such file".to_owned()));
    };
    match judge(etcds, data, &life.image) {
        _ if pod.image != life.image => Some((0, String::new())),
        Err(ended) => Some(ended),
        Ok(()) => None,
    }
}

pub fn start(etcds: &mut Etcds, pod: &PodSeen, life: &mut Life) -> Result<(), agent::Ended> {
    if pod.bad_option {
        return Err((2, "invalid value \"many\" for flag -max-wals".to_owned()));
    }
    let had = etcds.volumes.contains_key(&pod.volume);
    if pod.recovers && had && !life.recovered {
        etcds.go_on_alone(&pod.volume);
        life.recovered = true;
    }
    let data = agent::run(etcds, pod, life.had_data)?;
    life.image.clone_from(&pod.image);
    judge(etcds, &data, &pod.image)?;
    let cluster = data.cluster;
    if !had && etcds.volumes.values().any(|other| (other.cluster, other.member) == (data.cluster, data.member)) {
        etcds.violations.push(format!("member {:x} is started by {} without its own data", data.member, pod.name));
    }
    etcds.volumes.entry(pod.volume.clone()).or_insert(data);
    life.had_data = true;
    let version = version(&pod.image);
    if etcds.clusters.get(&cluster).is_some_and(|cluster| cluster.written && version.minor > cluster.minor + 1) {
        etcds.violations.push(format!("{} runs {version}, which skips a minor version", pod.name));
    }
    let process = Process { volume: pod.volume.clone(), version, ip: life.ip.clone(), reachable: !pod.isolated };
    etcds.processes.insert(pod.name.clone(), process);
    Ok(())
}

/// Whether etcd of that image runs on that data.
fn judge(etcds: &Etcds, data: &Data, image: &str) -> Result<(), agent::Ended> {
    if data.broken {
        return Err((
            2,
            "{\"level\":\"panic\",\"msg\":\"failed to read WAL\",\"error\":\"wal: crc mismatch\"}".to_owned(),
        ));
    }
    let Some(cluster) = etcds.clusters.get(&data.cluster) else { return Ok(()) };
    if cluster.leader != 0 && cluster.removed.contains(&data.member) {
        return Err((0, String::new()));
    }
    if version(image).minor < cluster.minor {
        // 3.6 checks the data first.
        if version(image).minor >= 6 {
            let why =
                format!(r#"{{"msg":"discovery failed","error":"version \"3.{}.0\" is not supported"}}"#, cluster.minor);
            return Err((1, why));
        }
        return Err((
            1,
            "cluster cannot be downgraded (current version is lower than determined cluster version)".to_owned(),
        ));
    }
    Ok(())
}

/// The version in an image's tag.
fn version(image: &str) -> Version {
    let tag = image.rsplit(':').next().unwrap_or_default();
    Version::parse(tag).unwrap_or(Version { major: 0, minor: 0, patch: 0, pre: String::new() })
}
