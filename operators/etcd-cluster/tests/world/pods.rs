//! Pods as the kubelet of the world reads and reports them.

use jiff::Timestamp;
use runtime::plan::Key;
use serde_json::{Value, json};

use crate::agent::Ended;

/// What a kubelet reads of a pod.
#[derive(Clone, Debug)]
pub struct PodSeen {
    /// Its name.
    pub name: String,
    /// Its key.
    pub key: Key,
    /// Its uid.
    pub uid: String,
    /// Whether it is terminating.
    pub deleting: bool,
    /// The image of etcd.
    pub image: String,
    /// Whether an init step checks etcd's image first.
    pub tries: bool,
    /// `--expect` of the agent.
    pub expect: String,
    /// Whether its member becomes the only one of its cluster when it starts.
    pub recovers: bool,
    /// Whether an init step restores a snapshot.
    pub restores: bool,
    /// `--peer-url` of the agent.
    pub url: String,
    /// `--initial-cluster-token` of etcd.
    pub token: String,
    /// Whether etcd ends at once, because it rejects an option.
    pub bad_option: bool,
    /// Whether nothing outside the pod reaches its etcd, and it reaches nothing: a network policy selects its labels.
    pub isolated: bool,
    /// Whether the other members and the kubelet reach its etcd, but the operator does not: by its labels, whatever policies
    /// there are.
    pub hidden: bool,
    /// Whether a network policy that restricts the operator allows it to reach this pod.
    pub allowed: bool,
    /// Whether no node matches its node selector.
    pub homeless: bool,
    /// Whether the kubelet rejects it.
    pub rejected: bool,
    /// Whether etcd runs only for a while, once [`Kubelet::worn`](crate::kubelet::Kubelet::worn).
    pub fragile: bool,
    /// The PVC, if its data is not in the pod.
    pub claim: Option<String>,
    /// The volume of its data.
    pub volume: String,
}

impl PodSeen {
    /// Reads a pod; `claim_uid` finds the uid of a PVC.
    pub fn of(key: &Key, pod: &Value, claim_uid: impl Fn(&str) -> Option<String>) -> Self {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let (meta, spec) = (&pod["metadata"], &pod["spec"]);
        let inits = spec["initContainers"].as_array().cloned().unwrap_or_default();
        let wait = inits.iter().find(|container| container["name"] == "wait");
        let arguments = wait.and_then(|wait| wait["command"].as_array()).cloned().unwrap_or_default();
        let argument = |name: &str| {
            arguments
                .iter()
                .find_map(|a| a.as_str()?.strip_prefix(name)?.strip_prefix('='))
                .unwrap_or_default()
                .to_owned()
        };
        let etcd = spec["containers"][0]["command"].as_array();
        let etcd_argument = |name: &str| {
            let mut arguments = etcd.into_iter().flatten().filter_map(Value::as_str);
            arguments.find_map(|argument| argument.strip_prefix(name)).unwrap_or_default().to_owned()
        };
        let claims = spec["volumes"].as_array().into_iter().flatten();
        let claim = claims.map(|volume| &volume["persistentVolumeClaim"]["claimName"]).find_map(Value::as_str);
        let uid = text(&meta["uid"]);
        let volume = match claim {
            Some(claim) => claim_uid(claim).unwrap_or_default(),
            None => format!("empty-{uid}"),
        };
        Self {
            name: key.name.to_string(),
            key: key.clone(),
            deleting: !meta["deletionTimestamp"].is_null(),
            image: text(&spec["containers"][0]["image"]),
            tries: inits.iter().any(|container| container["name"] == "try"),
            expect: match argument("--expect").as_str() {
                // Kubelets read the annotation when they start a container.
                "$(MULTI_OPERATOR_START)" => text(&meta["annotations"]["multi-operator.example.com/start"]),
                word => word.to_owned(),
            },
            recovers: inits.iter().any(|container| container["name"] == "recover")
                && meta["annotations"]["multi-operator.example.com/start"] == "recover",
            restores: inits.iter().any(|container| container["name"] == "restore"),
            url: argument("--peer-url"),
            homeless: spec["nodeSelector"].is_object(),
            rejected: meta["labels"]["rejected"].is_string(),
            fragile: meta["labels"]["fragile"].is_string(),
            isolated: meta["labels"]["isolated"].is_string(),
            hidden: meta["labels"]["hidden"].is_string(),
            allowed: meta["labels"]["allowed"].is_string(),
            bad_option: etcd_argument("--max-wals=") == "many",
            token: etcd_argument("--initial-cluster-token="),
            claim: claim.map(str::to_owned),
            volume,
            uid,
        }
    }
}

/// The state of a container.
#[derive(Clone, Debug, Default)]
pub struct ContainerState {
    /// Whether it runs.
    pub running: bool,
    /// Since when.
    pub since: Option<Timestamp>,
    /// How often it restarted.
    pub restarts: i32,
    /// Why it waits.
    pub waiting: Option<&'static str>,
    /// How it ended last.
    pub ended: Option<Ended>,
}

impl ContainerState {
    /// It has ended, and restarts. The count is bounded, as the kubelet's backoff is.
    pub fn end(&mut self, ended: Ended) {
        let restarts = (self.restarts + 1).min(7);
        let waiting = if restarts > 1 { "CrashLoopBackOff" } else { "ContainerCreating" };
        *self = Self { restarts, waiting: Some(waiting), ended: Some(ended), ..Self::default() };
    }

    /// It runs.
    pub fn start(&mut self, now: Timestamp) {
        (self.running, self.since, self.waiting) = (true, Some(now), None);
    }

    /// It has succeeded, with this termination message.
    pub fn finish(&mut self, message: &str) {
        *self = Self { restarts: self.restarts, ended: Some((0, message.to_owned())), ..Self::default() };
    }

    fn status(&self, name: &str, image: &str, ready: bool) -> Value {
        let ended = self.ended.as_ref().map(|(code, message)| {
            let reason = if *code == 0 { "Completed" } else { "Error" };
            json!({ "terminated": { "exitCode": code, "reason": reason, "message": message } })
        });
        let done = self.waiting.is_none() && !self.running && ended.is_some();
        let (state, last) = match (self.running, self.waiting) {
            (true, _) => (json!({ "running": { "startedAt": self.since } }), ended),
            _ if done => (ended.unwrap_or_default(), None),
            (_, waiting) => (json!({ "waiting": { "reason": waiting.unwrap_or("PodInitializing") } }), ended),
        };
        let last = last.unwrap_or_else(|| json!({}));
        json!({
            "name": name, "image": image, "ready": ready || done, "restartCount": self.restarts,
            "state": state, "lastState": last,
        })
    }
}

/// What a kubelet reports.
#[derive(Clone, Debug, Default)]
pub struct Report<'a> {
    /// The pod's address.
    pub ip: &'a str,
    /// Why it has no node.
    pub unscheduled: Option<&'a str>,
    /// Whether it is ready.
    pub ready: bool,
    /// Since when it is, or is not.
    pub ready_since: Option<Timestamp>,
    /// The init step that tries the image, if there is one.
    pub trial: Option<&'a ContainerState>,
    /// The init step.
    pub wait: Option<&'a ContainerState>,
    /// etcd.
    pub etcd: Option<&'a ContainerState>,
    /// etcd's image.
    pub image: &'a str,
}

impl Report<'_> {
    /// As the pod's status has it.
    pub fn status(&self) -> Value {
        if let Some(why) = self.unscheduled {
            let condition =
                json!({ "type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": why });
            return json!({ "phase": "Pending", "conditions": [condition] });
        }
        let ready = if self.ready { "True" } else { "False" };
        let inits = [("try", self.image, self.trial), ("wait", "agent:1", self.wait)];
        let inits = inits.into_iter().filter_map(|(name, image, reported)| Some(reported?.status(name, image, false)));
        let inits: Vec<Value> = inits.collect();
        let etcd: Vec<Value> =
            self.etcd.iter().map(|reported| reported.status("etcd", self.image, self.ready)).collect();
        json!({
            "phase": "Running", "podIP": self.ip, "conditions": [{ "type": "Ready", "status": ready, "lastTransitionTime": self.ready_since }],
            "initContainerStatuses": inits, "containerStatuses": etcd,
        })
    }
}
