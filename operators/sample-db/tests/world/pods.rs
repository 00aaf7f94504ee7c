//! Pods as kubelets observe them, and what kubelets report.

use runtime::cache::Projection as _;
use runtime::plan::Key;
use runtime::projections::Pod;
use runtime::testing::FakeCluster;
use serde_json::{Value, json};

use crate::infrastructure::{is_terminating, text};

/// A pod as a kubelet observes it.
#[derive(Clone, Debug)]
pub struct KubeletPod {
    pub key: Key,
    pub uid: String,
    pub deleting: bool,
    /// Whether it belongs to a Job.
    pub of_job: bool,
    spec: Value,
}

/// All pods of the operators, each of which has an init container. Other pods do nothing here.
pub fn kubelet_pods(cluster: &FakeCluster) -> Vec<KubeletPod> {
    let own = cluster.all(Pod::KIND).filter(|(_, pod)| pod["spec"]["initContainers"].is_array());
    let all = own.map(|(key, pod)| KubeletPod {
        key: key.clone(),
        uid: text(&pod["metadata"]["uid"]),
        deleting: is_terminating(pod),
        of_job: pod["metadata"]["ownerReferences"][0]["kind"] == "Job",
        spec: pod["spec"].clone(),
    });
    all.collect()
}

impl KubeletPod {
    /// The container with the pod's purpose, after the agent was installed.
    fn container(&self) -> &Value {
        if self.of_job { &self.spec["containers"][0] } else { &self.spec["initContainers"][1] }
    }

    fn argv(&self) -> Vec<String> {
        self.container()["command"].as_array().into_iter().flatten().map(text).collect()
    }

    /// The agent's command.
    pub fn command(&self) -> String {
        self.argv().get(1).cloned().unwrap_or_default()
    }

    /// The value of a flag: `--flag=value`.
    pub fn flag(&self, flag: &str) -> Option<String> {
        self.argv().iter().find_map(|argument| Some(argument.strip_prefix(flag)?.strip_prefix('=')?.to_owned()))
    }

    /// Whether a flag is set.
    pub fn has(&self, flag: &str) -> bool {
        self.argv().iter().any(|argument| argument == flag || argument.starts_with(&format!("{flag}=")))
    }

    /// The release in the image's tag.
    pub fn release(&self) -> String {
        let image = text(&self.container()["image"]);
        image.rsplit(':').next().unwrap_or_default().to_owned()
    }

    /// The PVC behind a volume.
    pub fn claim(&self, volume: &str) -> Option<Key> {
        let volume = self.spec["volumes"].as_array()?.iter().find(|of| of["name"] == volume)?;
        Some(self.key.sibling(volume["persistentVolumeClaim"]["claimName"].as_str()?))
    }

    /// Whether it selects nodes with that label.
    pub fn needs(&self, node: &str) -> bool {
        self.spec["nodeSelector"]["disk"] == node
    }

    /// All PVCs that it mounts.
    pub fn claims(&self) -> Vec<Key> {
        let volumes = self.spec["volumes"].as_array().into_iter().flatten();
        let names = volumes.filter_map(|volume| volume["persistentVolumeClaim"]["claimName"].as_str());
        names.map(|name| self.key.sibling(name)).collect()
    }

    /// The ConfigMaps that it needs.
    pub fn config_maps(&self) -> Vec<Key> {
        let volumes = self.spec["volumes"].as_array().into_iter().flatten();
        let mounted = volumes.filter_map(|volume| volume["configMap"]["name"].as_str());
        let from = self.container()["envFrom"].as_array().into_iter().flatten();
        let from = from.filter_map(|from| from["configMapRef"]["name"].as_str());
        mounted.chain(from).filter(|name| !name.starts_with("sql")).map(|name| self.key.sibling(name)).collect()
    }

    /// The Secret with the superuser's password.
    pub fn system(&self) -> Option<String> {
        let from = self.container()["envFrom"].as_array().into_iter().flatten();
        let from = from.filter_map(|from| from["secretRef"]["name"].as_str()).next();
        from.map(str::to_owned).or_else(|| self.variable("PGPASSWORD"))
    }

    /// The Secret with the application's password.
    pub fn app(&self) -> Option<String> {
        self.variable("OWNER_PASSWORD")
    }

    fn variable(&self, name: &str) -> Option<String> {
        let of = self.container()["env"].as_array()?.iter().find(|of| of["name"] == name)?;
        of["valueFrom"]["secretKeyRef"]["name"].as_str().map(str::to_owned)
    }

    /// The image of the server, or of the work.
    pub fn image(&self) -> Value {
        self.container()["image"].clone()
    }
}

/// What a kubelet reports of a container.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ContainerState {
    pub running: bool,
    /// How it last ended.
    pub ended: Option<(i32, String)>,
    /// Why it does not start: reason and message.
    pub waiting: Option<(String, String)>,
    pub restarts: i32,
}

impl ContainerState {
    /// The container status.
    pub fn status(&self, name: &str, image: &Value, ready: bool) -> Value {
        let ended = self.ended.as_ref().map(|(code, message)| {
            json!({ "terminated": { "exitCode": code, "reason": if *code == 0 { "Completed" } else { "Error" }, "message": message } })
        });
        let now = match (&self.waiting, self.running) {
            (_, true) => json!({ "running": { "startedAt": "1970-01-01T00:00:00Z" } }),
            (Some((reason, message)), _) => json!({ "waiting": { "reason": reason, "message": message } }),
            (None, false) => ended.clone().unwrap_or_else(|| json!({ "waiting": { "reason": "PodInitializing" } })),
        };
        let last = if self.running || self.waiting.is_some() { ended } else { None };
        json!({ "name": name, "image": image, "ready": ready, "restartCount": self.restarts, "state": now,
            "lastState": last.unwrap_or_else(|| json!({})) })
    }
}
