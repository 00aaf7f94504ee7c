//! The scheduler, the kubelets and the PVC protection of a world.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use runtime::cache::Projection;
use runtime::plan::Key;
use runtime::projections::{Pod, Pvc};
use runtime::testing::FakeCluster;
use serde_json::{Value, json};

use crate::agent;
use crate::bench::is_held;
use crate::life::{Life, Stage, ends, start};
use crate::pods::{ContainerState, PodSeen, Report};
use crate::raft::Etcds;

/// How many nodes there are.
pub const NODES: u8 = 4;

/// The scheduler and all kubelets.
#[derive(Clone, Debug, Default)]
pub struct Kubelet {
    /// Pods that have a node, by uid.
    lives: BTreeMap<String, Life>,
    /// Nodes that are down.
    pub down: BTreeSet<u8>,
    /// Tags of images that cannot be pulled.
    pub missing: BTreeSet<String>,
    /// Whether etcd ends in all fragile pods.
    pub worn: bool,
    addresses: u32,
    now: Timestamp,
}

impl Kubelet {
    /// Advances each pod by one stage.
    pub fn tick(&mut self, world: &mut FakeCluster, etcds: &mut Etcds, now: Timestamp) {
        self.now = now;
        let pods = seen(world);
        self.lives.retain(|uid, life| {
            let stays = pods.iter().any(|pod| pod.uid == *uid);
            if !stays {
                etcds.processes.remove(&life.name);
            }
            stays
        });
        for pod in &pods {
            self.tick_pod(world, etcds, pod);
        }
        self.tick_pulls(world);
        keep_claims(world);
        let claims: BTreeSet<String> = world.all(Pvc::KIND).map(|(_, claim)| text(&claim["metadata"]["uid"])).collect();
        let kept = |volume: &String| match volume.strip_prefix("empty-") {
            Some(pod) => self.lives.contains_key(pod),
            None => claims.contains(volume),
        };
        etcds.volumes.retain(|volume, _| kept(volume));
        etcds.processes.retain(|_, process| kept(&process.volume) && etcds.volumes.contains_key(&process.volume));
    }

    /// Ends pods that only check something; they have neither data nor an address.
    fn tick_pulls(&self, world: &mut FakeCluster) {
        let pulls = world.all(Pod::KIND).filter(|(key, _)| is_pull(key)).map(|(key, pod)| (key.clone(), pod.clone()));
        for (key, pod) in pulls.collect::<Vec<_>>() {
            if !pod["metadata"]["deletionTimestamp"].is_null() {
                world.remove(Pod::KIND, &key);
                continue;
            }
            let image = text(&pod["spec"]["containers"][0]["image"]);
            let mut reported = ContainerState::default();
            if self.missing.iter().any(|tag| image.ends_with(tag.as_str())) {
                reported.waiting = Some("ImagePullBackOff");
            } else {
                reported.finish("");
            }
            let unscheduled = pod["spec"]["nodeSelector"].is_object().then_some("no node is of that kind");
            let status = Report { etcd: Some(&reported), image: &image, unscheduled, ..Report::default() }.status();
            if pod["status"] != status {
                world.edit(Pod::KIND, &key, |live| live["status"] = status);
            }
        }
    }

    /// Reports the status of all pods.
    pub fn report(&mut self, world: &mut FakeCluster, etcds: &Etcds) {
        for pod in seen(world) {
            if pod.rejected {
                reject(world, &pod, self.now);
                continue;
            }
            let ready = self.lives.get(&pod.uid).is_some_and(|life| self.is_ready(etcds, life));
            let now = self.now;
            let life = self.lives.get_mut(&pod.uid).map(|life| {
                let since = if life.ready.0 == ready { life.ready.1 } else { now };
                life.ready = (ready, since);
                &*life
            });
            let status = match life {
                Some(life) => life.status(),
                None => Report { unscheduled: Some("no node for it, or no volume"), ..Report::default() }.status(),
            };
            if world.get(Pod::KIND, &pod.key).is_some_and(|live| live["status"] != status) {
                world.edit(Pod::KIND, &pod.key, |live| live["status"] = status);
            }
        }
    }

    /// Pods that are about to lose their readiness, or have lost it, and the restarts of their etcd.
    pub fn unstable(&self, now: Timestamp) -> BTreeMap<&str, i32> {
        let unsettled = self.lives.values().filter(|life| life.is_unstable(now));
        unsettled.map(|life| (life.name.as_str(), life.etcd.restarts)).collect()
    }

    fn is_ready(&self, etcds: &Etcds, life: &Life) -> bool {
        let up = !self.down.contains(&life.node);
        let serves = || {
            let data = etcds.data(&life.name).filter(|_| etcds.processes[&life.name].reachable)?;
            let cluster = etcds.clusters.get(&data.cluster)?;
            Some(cluster.leader != 0 && cluster.voters().any(|member| member.id == data.member))
        };
        up && life.etcd.running && serves().unwrap_or(false) && !life.is_reprobed(self.now)
    }

    /// The addresses that cluster DNS publishes.
    pub fn published(&self) -> Vec<Box<str>> {
        self.lives.values().map(|life| life.ip.as_str().into()).collect()
    }

    /// Kills the container of etcd in a pod.
    pub fn kill(&mut self, pod: &str, etcds: &mut Etcds) {
        let running = self.lives.values_mut().find(|life| life.name == pod && life.etcd.running);
        if let Some(life) = running.filter(|life| !self.down.contains(&life.node)) {
            etcds.processes.remove(pod);
            life.etcd.end((137, String::new()));
        }
    }

    fn tick_pod(&mut self, world: &mut FakeCluster, etcds: &mut Etcds, pod: &PodSeen) {
        let Some(mut life) = self.lives.remove(&pod.uid).or_else(|| self.schedule(world, pod)) else {
            if pod.deleting {
                world.remove(Pod::KIND, &pod.key);
            }
            return;
        };
        let up = !self.down.contains(&life.node);
        if let Some(process) = etcds.processes.get_mut(&pod.name) {
            process.reachable = up && !pod.isolated;
        }
        if up && pod.deleting {
            etcds.processes.remove(&pod.name);
            world.remove(Pod::KIND, &pod.key);
            return;
        }
        if up {
            self.advance(etcds, pod, &mut life);
        }
        self.lives.insert(pod.uid.clone(), life);
    }

    /// The node of a pod.
    pub fn node_of(&self, uid: &str) -> Option<u8> {
        self.lives.get(uid).map(|life| life.node)
    }

    /// The node of that pod is reinstalled and has lost everything.
    pub fn reinstall(&mut self, uid: &str) {
        self.lives.remove(uid);
    }

    fn schedule(&mut self, world: &mut FakeCluster, pod: &PodSeen) -> Option<Life> {
        if pod.deleting || pod.rejected || pod.homeless {
            return None;
        }
        if let Some(claim) = &pod.claim {
            let key = pod.key.sibling(claim);
            let live = world.get(Pvc::KIND, &key)?;
            if !live["metadata"]["deletionTimestamp"].is_null() || live["status"]["phase"] == "Lost" {
                return None;
            }
            let bound = json!({ "phase": "Bound", "capacity": { "storage": "1Gi" } });
            if live["status"] != bound {
                world.edit(Pvc::KIND, &key, |claim| claim["status"] = bound);
            }
        }
        let pods_on = |node: &u8| self.lives.values().filter(|life| life.node == *node).count();
        let node = (0..NODES).filter(|node| !self.down.contains(node)).min_by_key(pods_on)?;
        world.edit(Pod::KIND, &pod.key, |pod| pod["spec"]["nodeName"] = json!(format!("node-{node}")));
        self.addresses += 1;
        let (trial, stage) =
            if pod.tries { (Some(ContainerState::default()), Stage::Try) } else { (None, Stage::Wait) };
        Some(Life {
            name: pod.name.clone(),
            node,
            ip: format!("10.0.{}.{}", self.addresses / 250, self.addresses % 250),
            stage,
            trial,
            wait: ContainerState::default(),
            etcd: ContainerState::default(),
            image: pod.image.clone(),
            had_data: false,
            recovered: false,
            ready: (false, self.now),
        })
    }

    fn worn_out(&self, pod: &PodSeen) -> Option<agent::Ended> {
        (self.worn && pod.fragile).then(|| (137, String::new()))
    }

    fn advance(&self, etcds: &mut Etcds, pod: &PodSeen, life: &mut Life) {
        let pullable = |image: &str| !self.missing.iter().any(|tag| image.ends_with(tag.as_str()));
        match life.stage {
            Stage::Try if !pullable(&pod.image) => {
                if let Some(trial) = &mut life.trial {
                    trial.waiting = Some("ImagePullBackOff");
                }
            }
            Stage::Try => {
                life.trial.iter_mut().for_each(|trial| trial.finish(""));
                life.stage = Stage::Wait;
            }
            Stage::Wait if !life.wait.running => life.wait.start(self.now),
            Stage::Wait => match agent::wait(etcds, pod) {
                Ok(false) => {}
                Ok(true) => {
                    life.wait.finish(agent::MEASURED);
                    life.stage = Stage::Etcd;
                }
                Err(ended) => life.wait.end(ended),
            },
            Stage::Etcd if life.etcd.running => {
                let ended = ends(etcds, pod, life).or_else(|| self.worn_out(pod));
                if let Some(ended) = ended {
                    etcds.processes.remove(&pod.name);
                    life.etcd.end(ended);
                    life.etcd.waiting = None;
                }
            }
            Stage::Etcd if !pullable(&pod.image) => life.etcd.waiting = Some("ImagePullBackOff"),
            Stage::Etcd => match self.worn_out(pod).map_or_else(|| start(etcds, pod, life), Err) {
                Ok(()) => life.etcd.start(self.now),
                Err(ended) => life.etcd.end(ended),
            },
        }
    }
}

/// The kubelet rejects a pod. Only such pods have a creation time in the world.
fn reject(world: &mut FakeCluster, pod: &PodSeen, now: Timestamp) {
    let rejected = json!({ "phase": "Failed", "reason": "SysctlForbidden", "message": "forbidden sysctl: \"net.x\" not allowlisted" });
    if world.get(Pod::KIND, &pod.key).is_some_and(|live| live["status"] != rejected) {
        world.edit(Pod::KIND, &pod.key, |live| {
            live["status"] = rejected;
            live["metadata"]["creationTimestamp"] = json!(now);
        });
    }
}

/// Removes terminating PVCs that no pod uses and that have no finalizer.
fn keep_claims(world: &mut FakeCluster) {
    let used: BTreeSet<String> = seen(world).into_iter().filter_map(|pod| pod.claim).collect();
    let terminating = world
        .all(Pvc::KIND)
        .filter(|(key, claim)| !claim["metadata"]["deletionTimestamp"].is_null() && !used.contains(&*key.name))
        .filter(|(_, claim)| !is_held(claim));
    for key in terminating.map(|(key, _)| key.clone()).collect::<Vec<_>>() {
        world.remove(Pvc::KIND, &key);
    }
}

/// Whether a pod only checks an image, or whether pods of the current spec start.
pub fn is_pull(key: &Key) -> bool {
    ["-pull", "-placement", "-placement-whole"].iter().any(|end| key.name.ends_with(end))
}

/// All other pods of the world.
pub fn seen(world: &FakeCluster) -> Vec<PodSeen> {
    let uid =
        |key: &Key, claim: &str| world.get(Pvc::KIND, &key.sibling(claim)).map(|claim| text(&claim["metadata"]["uid"]));
    let members = world.all(Pod::KIND).filter(|(key, _)| !is_pull(key));
    members.map(|(key, pod)| PodSeen::of(key, pod, |claim| uid(key, claim))).collect()
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}
