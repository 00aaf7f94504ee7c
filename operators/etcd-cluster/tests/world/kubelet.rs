//! Scheduler, kubelets and the keeper of claims: what they make of the pods and claims of the world.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use runtime::cache::Projection;
use runtime::plan::Key;
use runtime::projections::{Claim, Pod};
use runtime::testing::World;
use serde_json::{Value, json};

use crate::agent;
use crate::bench::is_held;
use crate::life::{Life, Stage, ends, start};
use crate::pods::{PodSeen, Report, Told};
use crate::raft::Etcds;

/// How many nodes there are.
pub const NODES: u8 = 4;

/// All of them.
#[derive(Clone, Debug, Default)]
pub struct Kubelet {
    /// Pods that have a node, by uid.
    lives: BTreeMap<String, Life>,
    /// Nodes that are not there.
    pub down: BTreeSet<u8>,
    /// Tags of images that cannot be pulled.
    pub missing: BTreeSet<String>,
    /// Whether etcd ends in all pods in which it runs for a while only.
    pub worn: bool,
    addresses: u32,
    now: Timestamp,
}

impl Kubelet {
    /// Lets each pod get one stage further.
    pub fn tick(&mut self, world: &mut World, etcds: &mut Etcds, now: Timestamp) {
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
        let claims: BTreeSet<String> =
            world.all(Claim::KIND).map(|(_, claim)| text(&claim["metadata"]["uid"])).collect();
        let kept = |volume: &String| match volume.strip_prefix("empty-") {
            Some(pod) => self.lives.contains_key(pod),
            None => claims.contains(volume),
        };
        etcds.volumes.retain(|volume, _| kept(volume));
        etcds.processes.retain(|_, process| kept(&process.volume) && etcds.volumes.contains_key(&process.volume));
    }

    /// Pods that only try something, without data or an address, come to their end at once.
    fn tick_pulls(&self, world: &mut World) {
        let pulls = world.all(Pod::KIND).filter(|(key, _)| is_pull(key)).map(|(key, pod)| (key.clone(), pod.clone()));
        for (key, pod) in pulls.collect::<Vec<_>>() {
            if !pod["metadata"]["deletionTimestamp"].is_null() {
                world.remove(Pod::KIND, &key);
                continue;
            }
            let image = text(&pod["spec"]["containers"][0]["image"]);
            let mut told = Told::default();
            if self.missing.iter().any(|tag| image.ends_with(tag.as_str())) {
                told.waiting = Some("ImagePullBackOff");
            } else {
                told.finish("");
            }
            let unscheduled = pod["spec"]["nodeSelector"].is_object().then_some("no node is of that kind");
            let status = Report { etcd: Some(&told), image: &image, unscheduled, ..Report::default() }.status();
            if pod["status"] != status {
                world.edit(Pod::KIND, &key, |live| live["status"] = status);
            }
        }
    }

    /// Tells of all pods how they fare now.
    pub fn report(&mut self, world: &mut World, etcds: &Etcds) {
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
                Some(life) => status(life),
                None => Report { unscheduled: Some("no node for it, or no volume"), ..Report::default() }.status(),
            };
            if world.get(Pod::KIND, &pod.key).is_some_and(|live| live["status"] != status) {
                world.edit(Pod::KIND, &pod.key, |live| live["status"] = status);
            }
        }
    }

    /// Pods whose readiness will be taken back, or has been; and how often their etcd has been started again.
    pub fn unsettled(&self, now: Timestamp) -> BTreeMap<&str, i32> {
        let unsettled = self.lives.values().filter(|life| life.is_unsettled(now));
        unsettled.map(|life| (life.name.as_str(), life.etcd.restarts)).collect()
    }

    fn is_ready(&self, etcds: &Etcds, life: &Life) -> bool {
        let up = !self.down.contains(&life.node);
        let serves = || {
            let data = etcds.data(&life.name).filter(|_| etcds.processes[&life.name].reachable)?;
            let cluster = etcds.clusters.get(&data.cluster)?;
            Some(cluster.leader != 0 && cluster.voters().any(|member| member.id == data.member))
        };
        up && life.etcd.running && serves().unwrap_or(false) && !life.is_probed_anew(self.now)
    }

    /// Addresses that cluster DNS tells of.
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

    fn tick_pod(&mut self, world: &mut World, etcds: &mut Etcds, pod: &PodSeen) {
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

    /// All that the node of that pod kept of it is gone.
    pub fn set_up_anew(&mut self, uid: &str) {
        self.lives.remove(uid);
    }

    fn schedule(&mut self, world: &mut World, pod: &PodSeen) -> Option<Life> {
        if pod.deleting || pod.rejected || pod.homeless {
            return None;
        }
        if let Some(claim) = &pod.claim {
            let key = pod.key.sibling(claim);
            let live = world.get(Claim::KIND, &key)?;
            if !live["metadata"]["deletionTimestamp"].is_null() || live["status"]["phase"] == "Lost" {
                return None;
            }
            let bound = json!({ "phase": "Bound", "capacity": { "storage": "1Gi" } });
            if live["status"] != bound {
                world.edit(Claim::KIND, &key, |claim| claim["status"] = bound);
            }
        }
        let pods_on = |node: &u8| self.lives.values().filter(|life| life.node == *node).count();
        let node = (0..NODES).filter(|node| !self.down.contains(node)).min_by_key(pods_on)?;
        self.addresses += 1;
        let (trial, stage) = if pod.tries { (Some(Told::default()), Stage::Try) } else { (None, Stage::Wait) };
        Some(Life {
            name: pod.name.clone(),
            node,
            ip: format!("10.0.{}.{}", self.addresses / 250, self.addresses % 250),
            stage,
            trial,
            wait: Told::default(),
            etcd: Told::default(),
            image: pod.image.clone(),
            had_data: false,
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

/// The kubelet's word that it will not run a pod. Of these alone the world tells when they were created.
fn reject(world: &mut World, pod: &PodSeen, now: Timestamp) {
    let rejected = json!({ "phase": "Failed", "reason": "SysctlForbidden", "message": "forbidden sysctl: \"net.x\" not allowlisted" });
    if world.get(Pod::KIND, &pod.key).is_some_and(|live| live["status"] != rejected) {
        world.edit(Pod::KIND, &pod.key, |live| {
            live["status"] = rejected;
            live["metadata"]["creationTimestamp"] = json!(now);
        });
    }
}

fn status(life: &Life) -> Value {
    Report {
        ip: &life.ip,
        unscheduled: None,
        ready: life.ready.0,
        ready_since: Some(life.ready.1),
        trial: life.trial.as_ref(),
        wait: Some(&life.wait),
        etcd: Some(&life.etcd),
        image: &life.image,
    }
    .status()
}

/// A claim that is being deleted goes when no pod uses it, and no finalizer holds it.
fn keep_claims(world: &mut World) {
    let used: BTreeSet<String> = seen(world).into_iter().filter_map(|pod| pod.claim).collect();
    let going = world
        .all(Claim::KIND)
        .filter(|(key, claim)| !claim["metadata"]["deletionTimestamp"].is_null() && !used.contains(&*key.name))
        .filter(|(_, claim)| !is_held(claim));
    for key in going.map(|(key, _)| key.clone()).collect::<Vec<_>>() {
        world.remove(Claim::KIND, &key);
    }
}

/// Whether a pod only tries an image, or whether one as the spec asks starts.
pub fn is_pull(key: &Key) -> bool {
    ["-pull", "-placement", "-placement-whole"].iter().any(|end| key.name.ends_with(end))
}

/// All pods of the world, but for those.
pub fn seen(world: &World) -> Vec<PodSeen> {
    let uid = |key: &Key, claim: &str| {
        world.get(Claim::KIND, &key.sibling(claim)).map(|claim| text(&claim["metadata"]["uid"]))
    };
    let members = world.all(Pod::KIND).filter(|(key, _)| !is_pull(key));
    members.map(|(key, pod)| PodSeen::of(key, pod, |claim| uid(key, claim))).collect()
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}
