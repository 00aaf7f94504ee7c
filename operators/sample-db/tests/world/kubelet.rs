//! Kubelets: what happens to pods.

use std::collections::BTreeMap;

use jiff::Timestamp;
use runtime::cache::Projection as _;
use runtime::plan::Key;
use runtime::projections::{ConfigMap, Pod, Pvc};
use runtime::testing::FakeCluster;
use serde_json::{Value, json};

use crate::data::Data;
use crate::infrastructure::{Infrastructure, claim_uid, is_terminating};
use crate::pods::{ContainerState, KubeletPod, kubelet_pods};

/// For so many ticks programs retry what is not possible yet.
pub const RETRY_TICKS: u32 = 15;

/// The state of a pod.
#[derive(Clone, Debug, Default)]
pub struct PodState {
    /// The state of its init container, or of a Job's container.
    pub first: ContainerState,
    /// The state of the server's container.
    pub second: ContainerState,
    /// For how many ticks the present stage has been running.
    pub age: u32,
    pub ready: bool,
    pub server: Option<Server>,
    /// Since when it is stopped by a signal.
    pub stopped: Option<Timestamp>,
    /// The passwords that it was started with: the superuser's and the application's.
    pub passwords: (String, String),
    /// For how many ticks it has been terminating.
    pub terminating_ticks: u32,
    /// What was read and has not been written yet.
    pub scratch: Option<Data>,
    pub container: &'static str,
}

/// A server that accepts connections.
#[derive(Clone, Debug)]
pub struct Server {
    pub claim: String,
    pub release: String,
    /// The parameters that it started with.
    pub started: BTreeMap<String, String>,
}

impl Infrastructure {
    /// Advances each pod by a step.
    pub fn run_kubelets(&mut self, cluster: &mut FakeCluster) {
        let pods = kubelet_pods(cluster);
        let deleted: Vec<String> =
            self.pod_states.keys().filter(|uid| !pods.iter().any(|pod| pod.uid == **uid)).cloned().collect();
        for uid in deleted {
            self.pod_states.remove(&uid);
            self.disks.release(&uid);
        }
        for pod in &pods {
            let mut state = self.pod_states.remove(&pod.uid).unwrap_or_default();
            if pod.deleting {
                state.terminating_ticks += 1;
                (state.server, state.ready) = (None, false);
                self.disks.release(&pod.uid);
                if state.terminating_ticks > 1 {
                    cluster.remove(Pod::KIND, &pod.key);
                    continue;
                }
            } else {
                self.live(cluster, pod, &mut state);
            }
            self.pod_states.insert(pod.uid.clone(), state);
            self.report(cluster, pod);
        }
    }

    fn live(&mut self, cluster: &mut FakeCluster, pod: &KubeletPod, state: &mut PodState) {
        let has_ended = pod.of_job && state.first.ended.is_some();
        if has_ended || state.server.is_some() {
            state.ready = state.server.is_some() && state.stopped.is_none();
            return;
        }
        let has_started =
            state.first.running || (!pod.of_job && state.first.ended.as_ref().is_some_and(|of| of.0 == 0));
        if !has_started && !self.may_start(cluster, pod, state) {
            return;
        }
        state.age += 1;
        if pod.of_job {
            state.container = "work";
            state.first = ContainerState { running: true, ..ContainerState::default() };
            if let Some(end) = self.work(cluster, pod, state) {
                state.first = ContainerState { ended: Some((end.0, end.1.to_string())), ..ContainerState::default() };
                self.disks.release(&pod.uid);
            }
            return;
        }
        if state.first.ended.as_ref().is_none_or(|of| of.0 != 0) {
            self.init_step(cluster, pod, state);
        } else {
            self.start(cluster, pod, state);
        }
    }

    /// Whether everything exists that its containers need.
    fn may_start(&self, cluster: &FakeCluster, pod: &KubeletPod, state: &mut PodState) -> bool {
        state.container = if pod.of_job { "work" } else { "prepare" };
        let wait = |state: &mut PodState, reason: &str, message: String| {
            state.first.waiting = Some((reason.to_owned(), message));
            false
        };
        let bound = |key: &Key| cluster.get(Pvc::KIND, key).is_some_and(|claim| !is_terminating(claim));
        if !pod.claims().iter().all(bound) {
            return wait(state, "Pending", String::new());
        }
        if self.faults.nowhere.is_some_and(|nowhere| pod.needs(nowhere)) {
            return wait(state, "ErrImageNeverPull", "no node has such a label".to_owned());
        }
        if let Some(missing) = pod.config_maps().iter().find(|key| cluster.get(ConfigMap::KIND, key).is_none()) {
            return wait(state, "PodInitializing", format!("configmap {missing} not found"));
        }
        if self.faults.missing.contains(&pod.release()) {
            return wait(state, "ImagePullBackOff", "Back-off pulling image".to_owned());
        }
        let password = |name: Option<String>| match name {
            None => Some(String::new()),
            Some(name) => self.secrets.get(&name).map(|secret| secret.password.clone()),
        };
        match (password(pod.system()), password(pod.app())) {
            (Some(system), Some(app)) => state.passwords = (system, app),
            _ => return wait(state, "CreateContainerConfigError", "secret not found".to_owned()),
        }
        state.first.waiting = None;
        true
    }

    /// `pg-prepare`, which is restarted until it succeeds.
    fn init_step(&mut self, cluster: &FakeCluster, pod: &KubeletPod, state: &mut PodState) {
        self.find_snapshots(cluster, pod);
        let done =
            pod.claim("data").and_then(|key| claim_uid(cluster, &key)).map(|claim| self.prepare(pod, state, &claim));
        match done {
            None => {}
            Some(None) => state.first = ContainerState { running: true, ..state.first.clone() },
            Some(Some((0, result))) => {
                state.first = ContainerState { ended: Some((0, result.to_string())), ..ContainerState::default() };
                (state.age, state.container) = (0, "postgres");
            }
            Some(Some((code, result))) => {
                let restarts = state.first.restarts + 1;
                let waiting = Some(("CrashLoopBackOff".to_owned(), "back-off".to_owned()));
                state.first =
                    ContainerState { ended: Some((code, result.to_string())), waiting, restarts, running: false };
            }
        }
    }

    /// The server itself.
    fn start(&mut self, cluster: &FakeCluster, pod: &KubeletPod, state: &mut PodState) {
        let Some(claim) = pod.claim("data").and_then(|key| claim_uid(cluster, &key)) else { return };
        let crash = |state: &mut PodState, why: &str| {
            let waiting = Some(("CrashLoopBackOff".to_owned(), "back-off".to_owned()));
            let restarts = state.second.restarts + 1;
            state.second = ContainerState { ended: Some((1, why.to_owned())), waiting, restarts, running: false };
        };
        let release = pod.release();
        let parameters = self.effective(cluster, pod, &claim);
        if self.faults.crashing.contains(&release) {
            return crash(state, "FATAL: it does not start");
        }
        if parameters.values().any(|value| value == "bad") {
            return crash(state, "FATAL: configuration file contains errors");
        }
        if !self.disks.lock(&claim, &pod.uid) {
            if state.age > RETRY_TICKS {
                (state.age, state.server) = (0, None);
                crash(state, "DataInUse");
            }
            return;
        }
        if self.disks.data(&claim).is_none() {
            return crash(state, "DataMissing");
        }
        state.second.running = true;
        state.second.waiting = None;
        if state.age > 1 {
            state.server = Some(Server { claim, release, started: parameters });
        }
    }

    /// The parameters at a start: those of the operator's file, then those that were set over a connection.
    pub fn effective(&self, cluster: &FakeCluster, pod: &KubeletPod, claim: &str) -> BTreeMap<String, String> {
        let mut all = mounted(cluster, pod);
        all.extend(self.disks.data(claim).map(|data| data.settings.clone()).unwrap_or_default());
        all
    }

    fn report(&self, cluster: &mut FakeCluster, pod: &KubeletPod) {
        let Some(state) = self.pod_states.get(&pod.uid) else { return };
        let ready = if state.ready { "True" } else { "False" };
        let turned = state.stopped.unwrap_or_default().to_string();
        let first = state.first.status(if pod.of_job { "work" } else { "prepare" }, &pod.image(), state.ready);
        let prepared = state.first.ended.as_ref().is_some_and(|ended| ended.0 == 0);
        let status = match pod.of_job {
            true => json!({ "podIP": pod.uid, "containerStatuses": [first] }),
            false => json!({
                "podIP": pod.uid,
                "conditions": [{ "type": "Ready", "status": ready, "lastTransitionTime": turned }],
                "initContainerStatuses": [state.first.status("prepare", &pod.image(), prepared)],
                "containerStatuses": [state.second.status("postgres", &pod.image(), state.ready)],
            }),
        };
        if cluster.get(Pod::KIND, &pod.key).is_some_and(|live| live["status"] != status) {
            cluster.edit(Pod::KIND, &pod.key, |live| live["status"] = status);
        }
    }

    /// Kills the containers of a pod: a server is restarted, and a Job's container fails.
    pub fn kill(&mut self, uid: &str) {
        let Some(state) = self.pod_states.get_mut(uid) else { return };
        let killed = Some((137, "killed".to_owned()));
        if state.second.running {
            state.second =
                ContainerState { ended: killed, restarts: state.second.restarts + 1, ..ContainerState::default() };
            (state.server, state.ready, state.age, state.stopped) = (None, false, 0, None);
        } else if state.first.running {
            state.first =
                ContainerState { ended: killed, restarts: state.first.restarts + 1, ..ContainerState::default() };
            state.age = 0;
        }
        self.disks.release(uid);
    }
}

/// The settings of the operator's file, as the pod has it.
pub fn mounted(cluster: &FakeCluster, pod: &KubeletPod) -> BTreeMap<String, String> {
    let maps = pod.config_maps();
    let file = maps.iter().find_map(|key| cluster.get(ConfigMap::KIND, key)?["data"]["operator.conf"].as_str());
    let pairs = file.unwrap_or_default().lines().filter_map(|line| line.split_once(" = '"));
    pairs.map(|(name, value)| (name.to_owned(), value.trim_end_matches('\'').to_owned())).collect()
}

/// Whether a pod waits for a PVC, and so for a node.
pub fn waits_for_pvc(waiting: &(String, String)) -> bool {
    waiting.0 == "Pending"
}

/// How a command ends.
pub type End = (i32, Value);

/// A failure, as the agent reports it.
#[allow(clippy::unnecessary_wraps, reason = "how commands end")]
pub fn failure(reason: &str, message: &str) -> Option<End> {
    Some((1, json!({ "reason": reason, "message": message })))
}
