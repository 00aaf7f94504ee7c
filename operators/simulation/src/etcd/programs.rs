//! What runs in the pods of EtcdClusters: the agent that waits, etcd behind the agent, and programs that only print their version.

use agent_protocol::Command;
use etcd_cluster::plan::version::Version;
use serde_json::Value;

use super::agent::{self, Start};
use super::model::EtcdModel;
use super::store::{Data, Etcds, Process};
use crate::actors::pods::program::{ContainerRun, ProgramState, Programs};

/// The model of these programs.
pub(super) struct EtcdPrograms(EtcdModel);

impl EtcdPrograms {
    pub(super) fn new(model: EtcdModel) -> Self {
        Self(model)
    }
}

impl Programs for EtcdPrograms {
    fn knows(&self, pod: &Value) -> bool {
        let owners = pod["metadata"]["ownerReferences"].as_array().map(Vec::as_slice).unwrap_or_default();
        owners.iter().any(|owner| owner["controller"] == true && owner["kind"] == "EtcdCluster")
    }

    fn start(&mut self, run: &ContainerRun<'_>) -> ProgramState {
        let command = run.command();
        if command.get(1).is_some_and(|flag| flag == agent_protocol::VERSION_FLAG) {
            return ProgramState::succeeded("");
        }
        self.0.edit(|etcds| match Command::parse(&command) {
            Ok(Command::EtcdWait(wait)) => agent::wait(etcds, uid(run.pod), &run.volume(), &wait.member),
            Ok(Command::EtcdRun(of)) => {
                let token = of.command.iter().find_map(|word| word.strip_prefix("--initial-cluster-token="));
                let (pod, volume) = (uid(run.pod), run.volume());
                let token = token.unwrap_or_default();
                start(etcds, run, &Start { pod, volume: &volume, member: &of.member, token })
            }
            Ok(other) => ProgramState::Unmodelled(format!("the command {other:?}")),
            Err(error) => ProgramState::Unmodelled(format!("the command {command:?}: {error}")),
        })
    }

    fn state(&mut self, run: &ContainerRun<'_>) -> ProgramState {
        match Command::parse(run.command()) {
            Ok(Command::EtcdRun(_)) => self.0.edit(|etcds| running(etcds, uid(run.pod), run.image)),
            // It looks again every second.
            _ => self.start(run),
        }
    }

    fn stop(&mut self, run: &ContainerRun<'_>, user: &str) {
        self.0.edit(|etcds| etcds.stop(uid(run.pod), user));
    }

    fn forget(&mut self, pod_uid: &str) {
        self.0.edit(|etcds| {
            etcds.processes.remove(pod_uid);
            etcds.started.remove(pod_uid);
            etcds.killed.remove(pod_uid);
            etcds.volumes.remove(&format!("pod-{pod_uid}"));
        });
    }

    fn is_steady(&self) -> bool {
        self.0.edit(|etcds| {
            let is_quiet = |id: &u64| {
                let cluster = etcds.clusters.get(id);
                cluster
                    .is_some_and(|cluster| cluster.leader != 0 && cluster.members.iter().all(|member| !member.learner))
            };
            let of_pod = |pod: &String| etcds.data(pod).map(|data| data.cluster);
            let mut pods = etcds.processes.keys();
            etcds.killed.is_empty() && pods.all(|pod| of_pod(pod).is_some_and(|cluster| is_quiet(&cluster)))
        })
    }
}

fn uid(pod: &Value) -> &str {
    pod["metadata"]["uid"].as_str().unwrap_or_default()
}

/// Starts etcd.
fn start(etcds: &mut Etcds, run: &ContainerRun<'_>, with: &Start<'_>) -> ProgramState {
    let Some(version) = version(run.image) else {
        return ProgramState::Unmodelled(format!("the image {}", run.image));
    };
    let data = match agent::run(etcds, with) {
        Ok(data) => data,
        Err(ended) => return ended,
    };
    if let Some(ended) = refusal(etcds, &data, &version) {
        return ended;
    }
    let is_same = |other: &Data| (other.cluster, other.member) == (data.cluster, data.member);
    if !etcds.volumes.contains_key(with.volume) && etcds.volumes.values().any(is_same) {
        let what = format!("{} starts the member {:x} without its own data", with.member.name, data.member);
        etcds.violations.push(what);
    }
    let agreed = etcds.clusters.get(&data.cluster).map_or(0, |cluster| cluster.minor);
    if agreed > 0 && version.minor > agreed + 1 {
        let what = format!("{} starts version {version}, and the cluster is of 3.{agreed}", with.member.name);
        etcds.violations.push(what);
    }
    let domain = with.member.peers_url.clone().unwrap_or_default();
    etcds.volumes.entry(with.volume.to_owned()).or_insert(data);
    etcds.started.insert(with.pod.to_owned());
    let process = Process {
        pod: with.member.name.clone(),
        volume: with.volume.to_owned(),
        version,
        address: run.address.to_owned(),
        domain,
    };
    if etcds.processes.values().any(|other| other.volume == process.volume) {
        etcds.violations.push(format!("{} runs on a volume that another pod uses", process.pod));
    }
    etcds.processes.insert(with.pod.to_owned(), process);
    running(etcds, with.pod, run.image)
}

/// The state of etcd in a pod.
fn running(etcds: &mut Etcds, pod: &str, image: &str) -> ProgramState {
    let (Some(data), Some(version)) = (etcds.data(pod).cloned(), version(image)) else {
        etcds.processes.remove(pod);
        return ProgramState::failed(2, "panic: open /var/etcd/data/member/wal: no such file or directory");
    };
    let ended = match etcds.killed.remove(pod) {
        true => Some(ProgramState::failed(137, "")),
        false => refusal(etcds, &data, &version),
    };
    if let Some(ended) = ended {
        etcds.processes.remove(pod);
        return ended;
    }
    let cluster = etcds.clusters.get(&data.cluster);
    let ready = cluster.is_some_and(|cluster| {
        cluster.leader != 0 && cluster.voters().any(|voter| voter.id == data.member && !voter.name.is_empty())
    });
    ProgramState::Running { ready }
}

/// Why etcd of that version does not run on that data, if it does not.
fn refusal(etcds: &Etcds, data: &Data, version: &Version) -> Option<ProgramState> {
    let cluster = etcds.clusters.get(&data.cluster)?;
    if cluster.leader != 0 && cluster.removed.contains(&data.member) {
        return Some(ProgramState::succeeded(""));
    }
    let why = "cluster cannot be downgraded (current version is lower than determined cluster version)";
    (version.minor < cluster.minor).then(|| ProgramState::failed(1, why))
}

/// The version in an image's tag.
fn version(image: &str) -> Option<Version> {
    Version::parse(image.rsplit(':').next()?)
}
