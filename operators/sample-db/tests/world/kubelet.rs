//! Kubelets: what becomes of the pods.

use std::collections::BTreeMap;

use jiff::Timestamp;
use runtime::cache::Projection as _;
use runtime::plan::Key;
use runtime::projections::{Claim, ConfigMap, Pod};
use runtime::testing::World;
use serde_json::{Value, json};

use crate::data::Data;
use crate::pods::{PodSeen, Told, seen};
use crate::site::{Site, claim_uid, is_going};

/// For so many ticks programs try what cannot be done yet.
pub const PATIENCE: u32 = 15;

/// The life of a pod.
#[derive(Clone, Debug, Default)]
pub struct Life {
    /// Of its init step, or of its work.
    pub first: Told,
    /// Of the server.
    pub second: Told,
    /// For how many ticks it has been at what it does.
    pub age: u32,
    pub ready: bool,
    pub server: Option<Server>,
    /// Since when it stands still, if somebody has stopped it by a signal.
    pub stopped: Option<Timestamp>,
    /// The passwords that it was started with: the superuser's, and the application's.
    pub passwords: (String, String),
    /// For how many ticks it has been going.
    pub going: u32,
    /// What was read and is not written yet.
    pub scratch: Option<Data>,
    pub container: &'static str,
}

/// A server that takes connections.
#[derive(Clone, Debug)]
pub struct Server {
    pub claim: String,
    pub release: String,
    /// The parameters that it started with.
    pub started: BTreeMap<String, String>,
}

impl Site {
    /// Lets each pod get a step further.
    pub fn keep_pods(&mut self, world: &mut World) {
        let pods = seen(world);
        let gone: Vec<String> =
            self.lives.keys().filter(|uid| !pods.iter().any(|pod| pod.uid == **uid)).cloned().collect();
        for uid in gone {
            self.lives.remove(&uid);
            self.disks.release(&uid);
        }
        for pod in &pods {
            let mut life = self.lives.remove(&pod.uid).unwrap_or_default();
            if pod.deleting {
                life.going += 1;
                (life.server, life.ready) = (None, false);
                self.disks.release(&pod.uid);
                if life.going > 1 {
                    world.remove(Pod::KIND, &pod.key);
                    continue;
                }
            } else {
                self.live(world, pod, &mut life);
            }
            self.lives.insert(pod.uid.clone(), life);
            self.report(world, pod);
        }
    }

    fn live(&mut self, world: &mut World, pod: &PodSeen, life: &mut Life) {
        let over = pod.of_job && life.first.ended.is_some();
        if over || life.server.is_some() {
            life.ready = life.server.is_some() && life.stopped.is_none();
            return;
        }
        let begun = life.first.running || (!pod.of_job && life.first.ended.as_ref().is_some_and(|of| of.0 == 0));
        if !begun && !self.may_start(world, pod, life) {
            return;
        }
        life.age += 1;
        if pod.of_job {
            life.container = "work";
            life.first = Told { running: true, ..Told::default() };
            if let Some(end) = self.work(world, pod, life) {
                life.first = Told { ended: Some((end.0, end.1.to_string())), ..Told::default() };
                self.disks.release(&pod.uid);
            }
            return;
        }
        if life.first.ended.as_ref().is_none_or(|of| of.0 != 0) {
            self.init_step(world, pod, life);
        } else {
            self.start(world, pod, life);
        }
    }

    /// Whether all is there that its containers need.
    fn may_start(&self, world: &World, pod: &PodSeen, life: &mut Life) -> bool {
        life.container = if pod.of_job { "work" } else { "prepare" };
        let wait = |life: &mut Life, reason: &str, message: String| {
            life.first.waiting = Some((reason.to_owned(), message));
            false
        };
        let bound = |key: &Key| world.get(Claim::KIND, key).is_some_and(|claim| !is_going(claim));
        if !pod.claims().iter().all(bound) {
            return wait(life, "Pending", String::new());
        }
        if self.faults.nowhere.is_some_and(|nowhere| pod.needs(nowhere)) {
            return wait(life, "ErrImageNeverPull", "no node has such a label".to_owned());
        }
        if let Some(missing) = pod.config_maps().iter().find(|key| world.get(ConfigMap::KIND, key).is_none()) {
            return wait(life, "PodInitializing", format!("configmap {missing} not found"));
        }
        if self.faults.missing.contains(&pod.release()) {
            return wait(life, "ImagePullBackOff", "Back-off pulling image".to_owned());
        }
        let password = |name: Option<String>| match name {
            None => Some(String::new()),
            Some(name) => self.secrets.get(&name).map(|secret| secret.password.clone()),
        };
        match (password(pod.system()), password(pod.app())) {
            (Some(system), Some(app)) => life.passwords = (system, app),
            _ => return wait(life, "CreateContainerConfigError", "secret not found".to_owned()),
        }
        life.first.waiting = None;
        true
    }

    /// `pg-prepare`, which is started again until it succeeds.
    fn init_step(&mut self, world: &World, pod: &PodSeen, life: &mut Life) {
        self.find_snapshots(world, pod);
        let done =
            pod.claim("data").and_then(|key| claim_uid(world, &key)).map(|claim| self.prepare(pod, life, &claim));
        match done {
            None => {}
            Some(None) => life.first = Told { running: true, ..life.first.clone() },
            Some(Some((0, said))) => {
                life.first = Told { ended: Some((0, said.to_string())), ..Told::default() };
                (life.age, life.container) = (0, "postgres");
            }
            Some(Some((code, said))) => {
                let restarts = life.first.restarts + 1;
                let waiting = Some(("CrashLoopBackOff".to_owned(), "back-off".to_owned()));
                life.first = Told { ended: Some((code, said.to_string())), waiting, restarts, running: false };
            }
        }
    }

    /// The server itself.
    fn start(&mut self, world: &World, pod: &PodSeen, life: &mut Life) {
        let Some(claim) = pod.claim("data").and_then(|key| claim_uid(world, &key)) else { return };
        let crash = |life: &mut Life, why: &str| {
            let waiting = Some(("CrashLoopBackOff".to_owned(), "back-off".to_owned()));
            let restarts = life.second.restarts + 1;
            life.second = Told { ended: Some((1, why.to_owned())), waiting, restarts, running: false };
        };
        let release = pod.release();
        let parameters = self.effective(world, pod, &claim);
        if self.faults.crashing.contains(&release) {
            return crash(life, "FATAL: it does not start");
        }
        if parameters.values().any(|value| value == "bad") {
            return crash(life, "FATAL: configuration file contains errors");
        }
        if !self.disks.lock(&claim, &pod.uid) {
            if life.age > PATIENCE {
                (life.age, life.server) = (0, None);
                crash(life, "DataInUse");
            }
            return;
        }
        if self.disks.data(&claim).is_none() {
            return crash(life, "DataMissing");
        }
        life.second.running = true;
        life.second.waiting = None;
        if life.age > 1 {
            life.server = Some(Server { claim, release, started: parameters });
        }
    }

    /// The parameters that hold at a start: the operator's file, then what was set over a connection.
    pub fn effective(&self, world: &World, pod: &PodSeen, claim: &str) -> BTreeMap<String, String> {
        let mut all = mounted(world, pod);
        all.extend(self.disks.data(claim).map(|data| data.settings.clone()).unwrap_or_default());
        all
    }

    fn report(&self, world: &mut World, pod: &PodSeen) {
        let Some(life) = self.lives.get(&pod.uid) else { return };
        let ready = if life.ready { "True" } else { "False" };
        let turned = life.stopped.unwrap_or_default().to_string();
        let first = life.first.status(if pod.of_job { "work" } else { "prepare" }, &pod.image(), life.ready);
        let prepared = life.first.ended.as_ref().is_some_and(|ended| ended.0 == 0);
        let status = match pod.of_job {
            true => json!({ "podIP": pod.uid, "containerStatuses": [first] }),
            false => json!({
                "podIP": pod.uid,
                "conditions": [{ "type": "Ready", "status": ready, "lastTransitionTime": turned }],
                "initContainerStatuses": [life.first.status("prepare", &pod.image(), prepared)],
                "containerStatuses": [life.second.status("postgres", &pod.image(), life.ready)],
            }),
        };
        if world.get(Pod::KIND, &pod.key).is_some_and(|live| live["status"] != status) {
            world.edit(Pod::KIND, &pod.key, |live| live["status"] = status);
        }
    }

    /// Kills the containers of a pod: a server is started again, and work fails.
    pub fn kill(&mut self, uid: &str) {
        let Some(life) = self.lives.get_mut(uid) else { return };
        let killed = Some((137, "killed".to_owned()));
        if life.second.running {
            life.second = Told { ended: killed, restarts: life.second.restarts + 1, ..Told::default() };
            (life.server, life.ready, life.age, life.stopped) = (None, false, 0, None);
        } else if life.first.running {
            life.first = Told { ended: killed, restarts: life.first.restarts + 1, ..Told::default() };
            life.age = 0;
        }
        self.disks.release(uid);
    }
}

/// The lines of the operator's file, as the pod has it.
pub fn mounted(world: &World, pod: &PodSeen) -> BTreeMap<String, String> {
    let maps = pod.config_maps();
    let file = maps.iter().find_map(|key| world.get(ConfigMap::KIND, key)?["data"]["operator.conf"].as_str());
    let pairs = file.unwrap_or_default().lines().filter_map(|line| line.split_once(" = '"));
    pairs.map(|(name, value)| (name.to_owned(), value.trim_end_matches('\'').to_owned())).collect()
}

/// Whether that is what a pod waits for that cannot be given to a node.
pub fn waits_for_claim(waiting: &(String, String)) -> bool {
    waiting.0 == "Pending"
}

/// What a verb leaves at its end.
pub type End = (i32, Value);

/// A failure, as the agent tells it.
#[allow(clippy::unnecessary_wraps, reason = "what verbs end with")]
pub fn fails(reason: &str, message: &str) -> Option<End> {
    Some((1, json!({ "reason": reason, "message": message })))
}
